//go:build !linux || race

package cork

import "net"

// NewSocket returns the connection as it is. The race detector learns from announced calls what has happened before what,
// and other systems have no calls that Go programs may make themselves.
func NewSocket(c net.Conn) net.Conn { return c }
