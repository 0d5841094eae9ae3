package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/blocks"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// The files of a directory that the check uses.
const (
	cleanName   = "clean"   // exists while the store is closed, if it was closed in order
	damagedName = "damaged" // a directory: files as they were before they were repaired
)

// lossBound is how many losses of one opening are reported one by one.
const lossBound = 10_000

// checked is what the files of a stream hold, before the server reads them.
type checked struct {
	stream    string
	dir       string // of its messages
	report    blocks.Report
	losses    []store.Loss // that the files show
	miscounts bool         // the server's summary does not fit the files
}

// messageDir returns where the server keeps the messages of a stream.
func messageDir(dir, stream string) string {
	return filepath.Join(dir, dataName, "jetstream", "$G", "streams", stream, "msgs")
}

// formatOf describes the messages of a stream.
func formatOf(stream string) blocks.Format {
	prefixes := []string{logPrefix}
	if stream == jobStream {
		prefixes = []string{scheduledPrefix, duePrefix}
	}
	return blocks.Format{
		Stream: stream,
		Subject: func(s []byte) bool {
			return slices.ContainsFunc(prefixes, func(prefix string) bool { return isSubject(string(s), prefix) })
		},
		Bare: func(data []byte) bool { return len(data) == 0 || data[0] == '{' },
	}
}

// isSubject reports whether a subject is that of an id.
func isSubject(s, prefix string) bool {
	id := idOf(s)
	return strings.HasPrefix(s, prefix) && limit.ID("id", id) == nil && subject(prefix, id) == s
}

// idOf returns the id in a subject.
func idOf(subject string) string {
	parts := strings.SplitN(subject, ".", 3)
	return parts[len(parts)-1]
}

// isDeletedLog reports whether a header is that of a deletion mark.
func isDeletedLog(header []byte) bool {
	return bytes.Contains(header, []byte("\r\n"+deletedHeader+":"))
}

// checkFiles reads the files of all streams in a directory and finds out what they have lost.
func checkFiles(ctx context.Context, dir string, acked func(stream string) uint64) (all []checked, err error) {
	expected, _, err := readHeads(dir)
	if err != nil {
		return nil, err
	}
	for _, stream := range watermarked() {
		c := checked{stream: stream, dir: messageDir(dir, stream)}
		if c.report, err = blocks.Inspect(ctx, c.dir, formatOf(stream), isDeletedLog); err != nil {
			return nil, fmt.Errorf("check the files of the store: %w", err)
		}
		c.compare(dir, expected, acked(stream))
		all = append(all, c)
	}
	return all, nil
}

// compare compares the files with what was counted while they were written: by this package for each log, and
// by the server for each subject, but only when it stopped.
func (c *checked) compare(dir string, logs map[string]head, acked uint64) {
	index, err := blocks.ReadIndex(c.dir, formatOf(c.stream))
	counted := err == nil && exists(dir, cleanName)
	c.miscounts = !counted || index.Messages != c.report.Messages || index.Last != c.report.Last
	complete := counted && len(index.Subjects) > 0
	if c.stream == logStream && logs != nil {
		complete = false
		for id, h := range logs {
			c.expect(subject(logPrefix, id), h)
			complete = complete || h.last >= acked
		}
	} else if complete {
		for s, n := range index.Subjects {
			c.expect(s, head{messages: n})
		}
	}
	if !complete && len(c.losses) == 0 {
		c.expectNumbers(acked)
	}
	slices.SortFunc(c.losses, func(a, b store.Loss) int { return strings.Compare(a.Conversation+a.Turn, b.Conversation+b.Turn) })
	c.summarize()
}

// expect notes a loss if a subject has less than was counted.
func (c *checked) expect(subject string, h head) {
	found := c.report.Subjects[subject]
	if found == nil {
		found = &blocks.Subject{}
	}
	if found.Header || found.Messages >= h.messages && found.Last >= h.last {
		return
	}
	l := store.Loss{Noticed: time.Now().UTC(), Jobs: c.stream == jobStream, Messages: 1}
	if found.Messages < h.messages {
		l.Messages = h.messages - found.Messages
	}
	if found.Last < h.last {
		l.First, l.Last = found.Last+1, h.last
	}
	if id := idOf(subject); l.Jobs {
		l.Turn = id
	} else {
		l.Conversation = id
	}
	c.losses = append(c.losses, l)
}

// expectNumbers notes losses where sequence numbers are missing, without knowing whose they are.
func (c *checked) expectNumbers(acked uint64) {
	note := func(first, last uint64) {
		if last == math.MaxUint64-1 {
			last = max(acked, c.report.Last)
		}
		if first <= last {
			l := store.Loss{Noticed: time.Now().UTC(), Jobs: c.stream == jobStream, First: first, Last: last, Messages: last - first + 1}
			c.losses = append(c.losses, l)
		}
	}
	for _, file := range c.report.Damaged {
		for _, gap := range file.Gaps {
			note(gap.First, gap.Last)
		}
	}
	if n := len(c.losses); n == 0 || c.losses[n-1].Last < acked {
		note(c.report.Last+1, acked)
	}
}

// summarize makes one loss of those beyond the bound.
func (c *checked) summarize() {
	if len(c.losses) <= lossBound {
		return
	}
	rest := store.Loss{Noticed: c.losses[0].Noticed, Jobs: c.losses[0].Jobs}
	for _, l := range c.losses[lossBound:] {
		rest.Messages += l.Messages
	}
	c.losses = append(c.losses[:lossBound], rest)
}

// heads returns what the files hold of each log.
func (c *checked) heads() map[string]head {
	all := make(map[string]head, len(c.report.Subjects))
	for s, found := range c.report.Subjects {
		all[idOf(s)] = head{found.Last, found.Messages}
	}
	return all
}

// repair makes the files such that the server finds nothing wrong. It keeps the damaged ones.
func (c *checked) repair(dir string) error {
	to := filepath.Join(dir, damagedName, time.Now().UTC().Format("20060102T150405.000"), c.stream)
	if err := blocks.Repair(c.report, to, formatOf(c.stream)); err != nil {
		return fmt.Errorf("repair the files of the store: %w", err)
	}
	consumers := filepath.Join(filepath.Dir(c.dir), "obs") // made anew: the holders of all leases are dead
	return errors.Join(os.RemoveAll(consumers), blocks.RemoveSummaries(c.dir, !c.miscounts && len(c.report.Damaged) == 0))
}

// Losses returns the losses that opening the store in a directory has found, until an operator deletes the
// file losses. The store may be open.
func Losses(dir string) ([]store.Loss, error) {
	all, _, err := readLosses(dir)
	return all, err
}

// Inspection is what [Inspect] has found.
type Inspection struct {
	Losses  []store.Loss // that nothing has reported yet
	Damaged []string     // names of the files that cannot be read completely
}

// Inspect checks the files of a closed store in a directory and changes nothing. [Open] repairs
// what it reports, as far as that is possible.
func Inspect(ctx context.Context, dir string) (i Inspection, err error) {
	if !Exists(dir) {
		return i, fmt.Errorf("inspect store: %w: there is none in %s", os.ErrNotExist, dir)
	}
	d, err := openDirectory(dir)
	if err != nil {
		return i, fmt.Errorf("inspect store: %w", err)
	}
	defer func() { err = errors.Join(err, d.unlock()) }()
	w, err := openWatermarks(dir)
	if err != nil {
		return i, err
	}
	all, err := checkFiles(ctx, dir, w.of)
	for _, c := range all {
		i.Losses = append(i.Losses, c.losses...)
		for _, file := range c.report.Damaged {
			i.Damaged = append(i.Damaged, file.Name)
		}
	}
	return i, errors.Join(err, w.close())
}

// checkAndRepair prepares the files of a directory for the server.
func (s *embeddedServer) checkAndRepair(ctx context.Context, c Config) (err error) {
	if s.checked, err = checkFiles(ctx, c.Dir, s.watermarks.of); err != nil {
		return err
	}
	for _, f := range s.checked {
		if err := f.repair(c.Dir); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(c.Dir, cleanName))
}

// noteLosses notes what the check has found, now that the records can be read.
func (b *backend) noteLosses(ctx context.Context) error {
	s := b.server
	var all []store.Loss
	for _, c := range s.checked {
		for _, l := range c.losses {
			if l.Conversation != "" {
				l.N = b.firstLost(ctx, l.Conversation)
			}
			all = append(all, l)
			s.log.Warnf("the store has lost something: %v", l)
		}
	}
	if err := addLosses(s.capacity.dir, all); err != nil {
		return err
	}
	for i, c := range s.checked {
		if len(c.losses) > 0 {
			s.watermarks.lower(i, c.report.Last)
		}
	}
	var err error
	s.heads, err = openHeads(s.capacity.dir, s.checked[slices.Index(watermarked(), logStream)].heads())
	s.checked = nil
	return err
}

// firstLost returns the number of the first record that a log lacks; 0: not known.
func (b *backend) firstLost(ctx context.Context, conversation string) (n int64) {
	n = 1
	for r, err := range b.Read(ctx, conversation, 0) {
		if d, ok := errors.AsType[*store.Damage](err); ok {
			return d.N
		}
		if err != nil {
			return 0
		}
		n = r.N + 1
	}
	return n
}
