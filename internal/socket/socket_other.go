//go:build !linux || race

package socket

import "net"

// New returns the connection as it is. The race detector learns from announced calls what has happened before what,
// and other systems have no calls that Go programs may make themselves.
func New(c net.Conn) net.Conn { return c }
