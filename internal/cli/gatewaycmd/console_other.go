//go:build !windows

package gatewaycmd

// leaveConsole does nothing: only Windows opens a window for a program without a shell.
func leaveConsole() {}
