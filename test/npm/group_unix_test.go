//go:build unix

package npm_test

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, which is killed as a whole: agents start others.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
