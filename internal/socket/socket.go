// Package socket is a TCP connection whose small reads and writes are not announced to Go's scheduler.
//
// Before a system call the runtime notes that the thread may block, and wakes the thread that watches such calls
// (sysmon). The calls of a socket that does not block end in microseconds, and need no watch. In a process that is
// idle most of the time, as a gateway with streams is, that thread took a third of all processor time: each chunk
// woke it anew.
//
// Packages cork and http1 are its users.
package socket
