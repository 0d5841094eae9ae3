//go:build !unix

package mcp

import "os/exec"

func setProcessGroup(*exec.Cmd) {}

// There is no signal to end a program, and its children cannot be reached.

func terminate(cmd *exec.Cmd) { kill(cmd) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
