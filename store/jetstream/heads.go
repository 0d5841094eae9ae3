package jetstream

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
)

// heads stores, beside the streams, how many messages each log has and which is the last, so that a loss is
// noticed and has a name. A line is written with every acknowledgement and never synced: a crash of this process
// loses none, a power failure those of the last half minute.
type heads struct {
	name string

	mu    sync.Mutex
	file  *os.File // nil: nothing is stored
	lines int
	limit int   // of lines, before the file is written anew
	err   error // of the last write
}

// head is what was stored of a log.
type head struct {
	last     uint64 // sequence number of its last message
	messages uint64
}

const headsName = "heads"

// readHeads returns the heads in a directory; nil: none were stored.
func readHeads(dir string) (all map[string]head, lines int, err error) {
	f, err := os.Open(filepath.Join(dir, headsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	all = map[string]head{}
	scanner := bufio.NewScanner(f)
	for ; scanner.Scan(); lines++ {
		log, h, ok := parseHead(scanner.Text())
		switch {
		case !ok, h.last <= all[log].last: // torn by a crash; a repetition that was stored once
			continue
		case h.messages == 0:
			h.messages = 1 // the log was deleted, and this is the mark
		default:
			h.messages += all[log].messages
		}
		all[log] = h
	}
	if err := scanner.Err(); !errors.Is(err, bufio.ErrTooLong) { // the rest is no line that was written
		return all, lines, err
	}
	return all, lines, nil
}

// formatHead returns a line: sequence number, added messages or 0 for the mark of a deletion, id, checksum.
func formatHead(log string, h head) string {
	text := fmt.Sprintf("%d %d %s", h.last, h.messages, log)
	return fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

func parseHead(line string) (log string, h head, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return "", h, false
	}
	var err, err2 error
	h.last, err = strconv.ParseUint(fields[0], 10, 64)
	h.messages, err2 = strconv.ParseUint(fields[1], 10, 64)
	return fields[2], h, err == nil && err2 == nil && formatHead(fields[2], h) == line+"\n"
}

// openHeads stores heads in a directory, from these on.
func openHeads(dir string, all map[string]head) (*heads, error) {
	h := &heads{name: filepath.Join(dir, headsName)}
	return h, h.replace(all)
}

// replace writes the file anew, in one step.
func (h *heads) replace(all map[string]head) error {
	err := atomicfile.Replace(h.name, func(to io.Writer) error {
		w := bufio.NewWriter(to)
		for _, log := range slices.Sorted(maps.Keys(all)) {
			_, _ = w.WriteString(formatHead(log, all[log])) // Flush returns the error
		}
		return w.Flush()
	})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_ = h.close()
	h.file, h.lines, h.limit = f, len(all), max(100_000, 4*len(all))
	return nil
}

// noteHead notes messages that were added to a log; none: it was deleted, with this mark.
func (b *backend) noteHead(log string, last uint64, messages int) {
	if b.server != nil && b.server.heads != nil {
		b.server.heads.note(log, last, messages)
	}
}

func (h *heads) note(log string, last uint64, messages int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines++; h.lines > h.limit {
		h.compact()
	}
	_, h.err = h.file.WriteString(formatHead(log, head{last, uint64(messages)}))
}

// compact writes one line for each log.
func (h *heads) compact() {
	all, _, err := readHeads(filepath.Dir(h.name))
	if err == nil {
		err = h.replace(all)
	}
	if err != nil {
		h.limit += h.lines // try again later
	}
}

func (h *heads) close() error {
	if h == nil || h.file == nil {
		return nil
	}
	return h.file.Close()
}

// failure returns the error of the last write.
func (h *heads) failure() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}
