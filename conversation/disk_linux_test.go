package conversation_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification and response are the kernel's seccomp_notif and seccomp_notif_resp.
type (
	notification struct {
		ID         uint64
		PID, Flags uint32
		Call       [64]byte
	}
	response struct {
		ID, Value    uint64
		Error, Flags int32
	}
)

// number returns the number of the system call, argument one of its arguments.
func (n *notification) number() uint32 { return binary.NativeEndian.Uint32(n.Call[:]) }

func (n *notification) argument(i int) int64 {
	return int64(binary.NativeEndian.Uint64(n.Call[16+8*i:]))
}

// listener is the descriptor on which the kernel asks before system calls.
type listener int

// listen has the kernel ask before some system calls of this process, for as long as it lives. No privilege is needed.
func listen(calls ...uint32) (listener, error) {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the system call
	for i, call := range calls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(calls) - i), K: call})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("ask before system calls: %w", err)
	}
	const allThreads = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		allThreads|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, fmt.Errorf("ask before system calls: %w", errno)
	}
	return listener(fd), nil
}

// serve calls handle for each call, until the process ends.
func (l listener) serve(handle func(notification)) {
	for {
		var n notification
		switch err := l.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err {
		case 0:
			handle(n)
		case unix.EINTR, unix.ENOENT: // the call was interrupted, and comes again
		default:
			return
		}
	}
}

// proceed lets a call proceed. One that was interrupted meanwhile comes again.
func (l listener) proceed(call uint64) {
	const goOn = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	_ = l.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&response{ID: call, Flags: goOn}))
}

// succeed has a call return without having done anything.
func (l listener) succeed(call uint64) {
	_ = l.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&response{ID: call}))
}

func (l listener) control(request uint, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), uintptr(request), uintptr(argument))
	return errno
}

// disk is the disk as this process sees it: one that can stall.
type disk struct {
	stalled sync.RWMutex
	calls   listener
}

// newDisk has the kernel ask before each fsync of this process.
func newDisk() (*disk, error) {
	calls, err := listen(unix.SYS_FSYNC, unix.SYS_FDATASYNC)
	if err != nil {
		return nil, err
	}
	d := &disk{calls: calls}
	go calls.serve(func(n notification) { go d.proceed(n.ID) })
	return d, nil
}

// stall has every fsync take until resume.
func (d *disk) stall() { d.stalled.Lock() }

// resume ends a stall.
func (d *disk) resume() { d.stalled.Unlock() }

// proceed lets a call proceed once the disk does not stall.
func (d *disk) proceed(call uint64) {
	d.stalled.RLock()
	defer d.stalled.RUnlock()
	d.calls.proceed(call)
}
