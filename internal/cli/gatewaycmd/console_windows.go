package gatewaycmd

import (
	"syscall"
	"unsafe"
)

// leaveConsole closes the window that Windows opens for a console program which no shell has started, such as a
// scheduled task.
func leaveConsole() {
	kernel := syscall.NewLazyDLL("kernel32.dll")
	var processes [2]uint32
	n, _, _ := kernel.NewProc("GetConsoleProcessList").Call(uintptr(unsafe.Pointer(&processes[0])), uintptr(len(processes)))
	if n == 1 { // this one alone
		_, _, _ = kernel.NewProc("FreeConsole").Call()
	}
}
