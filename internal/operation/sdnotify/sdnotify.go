// Package sdnotify tells systemd how a service is, as sd_notify(3) says: datagrams to the socket that NOTIFY_SOCKET
// names.
package sdnotify

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Notifier tells a service manager. A nil one tells nothing. Its methods may be called concurrently.
type Notifier struct {
	conn    net.Conn
	watched bool
}

// writeTime is how long a datagram may wait for room: systemd reads them at once.
const writeTime = time.Second

// New returns a notifier for what the environment says; nil: no service manager waits for news.
func New(env func(string) string) (*Notifier, error) {
	name := env("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") { // @: in the abstract name space, as package net has it
		return nil, fmt.Errorf("NOTIFY_SOCKET %q: want a path or an abstract name", name)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return &Notifier{conn, watched(env)}, nil
}

// watched reports whether systemd wants signs of life from this process.
func watched(env func(string) string) bool {
	us, err := strconv.ParseInt(env("WATCHDOG_USEC"), 10, 64)
	pid := env("WATCHDOG_PID")
	return err == nil && us > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid()))
}

// Watched reports whether systemd takes a silent process for frozen.
func (n *Notifier) Watched() bool { return n != nil && n.watched }

// Ready tells that the start is over, and what the service does.
func (n *Notifier) Ready(status string) { n.send("READY=1", "STATUS="+status) }

// Status tells what the service does.
func (n *Notifier) Status(status string) { n.send("STATUS=" + status) }

// Stopping tells that the service ends.
func (n *Notifier) Stopping(status string) { n.send("STOPPING=1", "STATUS="+status) }

// Alive tells that the process is not frozen.
func (n *Notifier) Alive() { n.send("WATCHDOG=1") }

// Close closes the socket.
func (n *Notifier) Close() {
	if n != nil {
		_ = n.conn.Close()
	}
}

// send sends assignments in one datagram. A manager that does not take them does not matter to the service.
func (n *Notifier) send(assignments ...string) {
	if n == nil {
		return
	}
	for i, a := range assignments {
		assignments[i] = strings.ReplaceAll(a, "\n", " ")
	}
	_ = n.conn.SetWriteDeadline(time.Now().Add(writeTime))
	_, _ = n.conn.Write([]byte(strings.Join(assignments, "\n")))
}
