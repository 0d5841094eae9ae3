package command

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// Listen opens an address. Its errors name the flag that chooses another one.
func Listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; stop the program that listens there or choose another address with %s", addr, flag)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", addr, err, flag)
}

// IsLoopback reports whether a host is this machine's name or address for itself.
func IsLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
