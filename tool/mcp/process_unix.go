//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// setProcessGroup puts the program into a process group of its own: it ends with all that
// it has started, and no Ctrl+C on our terminal reaches it before we say so.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The group's signals are sent before the program is waited for to the end, so
// its number is not somebody else's yet. That it may just have ended is fine.

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
