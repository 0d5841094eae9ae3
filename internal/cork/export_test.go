package cork

import "net"

// NewSmall returns a Conn that keeps small writes, and NewFull one that keeps pieces of which another one follows.
func NewSmall(c net.Conn) *Conn { return newConn(c, small) }
func NewFull(c net.Conn) *Conn  { return newConn(c, fills) }
