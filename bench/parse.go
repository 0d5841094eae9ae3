// What processes cost is asked of the kernel: processor time from the process's clock, memory as the
// proportional set size. What a process says about itself is not asked.

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// ParseSize reads a size, in bytes, of /proc/PID/smaps_rollup or /proc/PID/status by its name.
func ParseSize(text []byte, name string) (int64, error) {
	for line := range bytes.Lines(text) {
		value, ok := bytes.CutPrefix(line, []byte(name+":"))
		if !ok {
			continue
		}
		kb, ok := bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		n, err := strconv.ParseUint(string(kb), 10, 50)
		if !ok || err != nil {
			return 0, fmt.Errorf("no size in %q", line)
		}
		return int64(n) << 10, nil
	}
	return 0, fmt.Errorf("no %s", name)
}

const established = "01"

// Sockets sums up the established connections of one local port.
type Sockets struct {
	Open   int
	Unread int64 // bytes that have arrived and that the process has not read yet
}

// ParseSockets reads /proc/net/tcp.
func ParseSockets(r io.Reader, port int) (Sockets, error) {
	var sum Sockets
	suffix := fmt.Appendf(nil, ":%04X", port)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		// sl local_address rem_address st tx_queue:rx_queue …
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 5 || !bytes.HasSuffix(fields[1], suffix) || string(fields[3]) != established {
			continue
		}
		_, queue, _ := bytes.Cut(fields[4], []byte(":"))
		n, err := strconv.ParseUint(string(queue), 16, 32)
		if err != nil {
			return sum, fmt.Errorf("no queue in %q", lines.Bytes())
		}
		sum.Open++
		sum.Unread += int64(n)
	}
	return sum, lines.Err()
}
