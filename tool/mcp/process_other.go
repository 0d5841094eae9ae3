//go:build !unix

package mcp

import "os/exec"

func setProcessGroup(*exec.Cmd) {}

// There is no way to ask, and what the program has started is out of reach.

func terminate(cmd *exec.Cmd) { kill(cmd) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
