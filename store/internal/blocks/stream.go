package blocks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
)

// fileBound is the largest file that is read: a server begins another at 8 MiB.
const fileBound = 64 << 20

// Report is what the files of a stream hold.
type Report struct {
	Messages uint64              // that are neither damaged nor deleted
	Last     uint64              // the highest sequence number; 0: none
	Subjects map[string]*Subject // of those messages
	Damaged  []File              // files with parts that cannot be read, by number
}

// Subject is what the files hold of a subject.
type Subject struct {
	Messages uint64
	Last     uint64 // sequence number of the last one
	Header   bool   // of the last one: Inspect's argument has recognized it
}

// File is a file with parts that cannot be read.
type File struct {
	Name   string
	Bytes  int     // that cannot be read
	Gaps   []Range // where sequence numbers are missing
	Torn   bool    // only the end cannot be read, and it is the last file
	number int
	below  uint64 // the lowest sequence number of the files behind it
}

// Range is a range of sequence numbers.
type Range struct{ First, Last uint64 }

// Inspect reads all files in a directory of messages and changes nothing. recognize looks at the header of a
// message. A directory that does not exist is empty.
func Inspect(ctx context.Context, dir string, f Format, recognize func(header []byte) bool) (Report, error) {
	i := inspection{format: f, recognize: recognize, report: Report{Subjects: map[string]*Subject{}}, deleted: map[uint64]bool{}, ends: map[int]uint64{}, next: math.MaxUint64}
	numbers, err := list(dir)
	if err != nil {
		return i.report, err
	}
	for n, number := range slices.Backward(numbers) { // the marks of deleted messages come after the messages
		if ctx.Err() != nil {
			return i.report, context.Cause(ctx)
		}
		if err := i.read(fileName(dir, number), number, n == len(numbers)-1); err != nil {
			return i.report, err
		}
	}
	slices.Reverse(i.report.Damaged)
	i.narrow()
	return i.report, nil
}

// narrow begins the gap at the beginning of a file behind the file before it.
func (i *inspection) narrow() {
	for _, file := range i.report.Damaged {
		for n, last := range i.ends {
			if len(file.Gaps) > 0 && n < file.number {
				file.Gaps[0].First = max(file.Gaps[0].First, last+1)
			}
		}
	}
}

func fileName(dir string, number int) string { return filepath.Join(dir, strconv.Itoa(number)+".blk") }

// list returns the numbers of the files, in their order.
func list(dir string) (numbers []int, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		name, isBlock := strings.CutSuffix(f.Name(), ".blk")
		if n, err := strconv.Atoi(name); isBlock && err == nil && n > 0 && strconv.Itoa(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// inspection is an Inspect in progress. It reads the last file first.
type inspection struct {
	format    Format
	recognize func([]byte) bool
	report    Report
	deleted   map[uint64]bool // that tombstones name
	ends      map[int]uint64  // the last sequence numbers of the files
	next      uint64          // the lowest sequence number of the files read so far
	buffer    []byte
}

// live is a message of a file.
type live struct {
	seq     uint64
	subject string
	header  bool
}

// read reads a file.
func (i *inspection) read(name string, number int, isLast bool) error {
	data, err := readFile(name, &i.buffer)
	if err != nil {
		return err
	}
	p, err := newParser(i.format, number)
	if err != nil {
		return err
	}
	file := File{Name: name, number: number, below: i.next}
	var messages []live
	var before uint64 // the last sequence number read
	gap, badEnd := false, -1
	add := func(r record) {
		n := r.number()
		if r.seq&tombBit != 0 {
			i.deleted[n] = true
			i.report.Last = max(i.report.Last, n)
			return
		}
		if n <= before || n >= i.next {
			file.Bytes += r.size // it is in another file as well
			return
		}
		if gap && n > before+1 {
			file.Gaps = append(file.Gaps, Range{before + 1, n - 1})
		}
		gap, before = false, n
		if r.seq&erasedBit == 0 {
			messages = append(messages, live{n, string(r.subject), i.recognize(r.header)})
		}
	}
	p.split(data, add, func(s span) { file.Bytes += s.to - s.from; gap, badEnd = true, s.to })
	if gap {
		file.Torn = isLast && badEnd == len(data) && len(file.Gaps) == 0
		file.Gaps = append(file.Gaps, Range{before + 1, i.next - 1})
	}
	i.count(messages)
	if before > 0 {
		i.ends[number] = before
	}
	if len(messages) > 0 {
		i.next = messages[0].seq
	}
	if file.Bytes > 0 {
		i.report.Damaged = append(i.report.Damaged, file)
	}
	return nil
}

// count adds the messages of a file that are not deleted.
func (i *inspection) count(messages []live) {
	for _, m := range messages {
		i.report.Last = max(i.report.Last, m.seq)
		if i.deleted[m.seq] {
			continue
		}
		i.report.Messages++
		s := i.report.Subjects[m.subject]
		if s == nil {
			s = &Subject{}
			i.report.Subjects[m.subject] = s
		}
		s.Messages++
		if m.seq > s.Last {
			s.Last, s.Header = m.seq, m.header
		}
	}
}

// readFile reads a file of a bounded size into a buffer, which grows.
func readFile(name string, buffer *[]byte) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > fileBound:
		return nil, fmt.Errorf("%s is no file of a stream: %v, %d bytes", name, info.Mode(), info.Size())
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size := int(info.Size()); cap(*buffer) < size {
		*buffer = make([]byte, size)
	}
	data := (*buffer)[:info.Size()]
	_, err = io.ReadFull(f, data)
	return data, err
}

// Repair moves the damaged files of a report into the directory to, and writes what can be read of them in
// their place.
func Repair(r Report, to string, f Format) error {
	if len(r.Damaged) == 0 {
		return nil
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	var buffer []byte
	for _, file := range r.Damaged {
		data, err := readFile(file.Name, &buffer)
		if err != nil {
			return err
		}
		p, err := newParser(f, file.number)
		if err != nil {
			return err
		}
		whole := p.readable(data, file.below)
		if err := replace(file.Name, filepath.Join(to, filepath.Base(file.Name)), whole); err != nil {
			return err
		}
	}
	return nil
}

// readable returns the records of a file, in ascending order of their numbers and below one.
func (p *parser) readable(data []byte, below uint64) []byte {
	whole, at, before := make([]byte, 0, len(data)), 0, uint64(0)
	p.split(data, func(r record) {
		isMark, n := r.seq&tombBit != 0, r.number()
		if isMark || n > before && n < below {
			whole = append(whole, data[at:at+r.size]...)
		}
		if !isMark {
			before = max(before, n)
		}
		at += r.size
	}, func(s span) { at = s.to })
	return whole
}

// replace moves a file away and writes another in its place, in one step where the disk knows links; with no
// data there is none.
func replace(name, moved string, data []byte) error {
	if len(data) == 0 {
		return os.Rename(name, moved)
	}
	if os.Link(name, moved) != nil {
		if err := os.Rename(name, moved); err != nil {
			return err
		}
	}
	return atomicfile.Write(name, data)
}
