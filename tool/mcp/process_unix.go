//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// setProcessGroup puts the program into a process group of its own: it ends with all its children, and
// Ctrl+C on the terminal does not reach it.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The group is signaled before the program has been waited for, so its id is not reused yet.

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
