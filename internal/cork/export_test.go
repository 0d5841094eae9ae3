package cork

import "net"

// BelowTLS returns a Conn as Dial's are, and BelowServer one as a Listener's.
func BelowTLS(c net.Conn) *Conn    { return newConn(c, belowTLS) }
func BelowServer(c net.Conn) *Conn { return newConn(c, belowServer) }
