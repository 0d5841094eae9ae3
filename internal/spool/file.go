package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// defaultDisk is the bound of Configure that asks for none.
const defaultDisk = 2 << 30

// fileName begins the names of the files. They have one for a moment only.
const fileName = "ridethrough-spool-"

var errDiskBound = errors.New("the spool's bound on the disk is reached")

// file keeps bytes on disk. It has no name and ends with the process.
type file struct {
	mu    sync.Mutex
	dir   string
	limit int64
	file  *os.File // nil: nothing has been written
	end   int64
	gaps  []extent // free places before end, in order
}

// extent is a place in the file.
type extent struct{ at, size int64 }

// configure sets the bound and, for a file that is yet to be made, its folder.
func (f *file) configure(limit int64, dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit, f.dir = limit, dir
}

// write writes bytes. After an error it leaves nothing behind.
func (f *file) write(p []byte) (extent, error) {
	to, e, err := f.allocate(int64(len(p)))
	if err != nil {
		return extent{}, err
	}
	if _, err := to.WriteAt(p, e.at); err != nil {
		f.free(e)
		return extent{}, err
	}
	return e, nil
}

// read reads what has been written.
func (f *file) read(p []byte, e extent) error {
	f.mu.Lock()
	from := f.file
	f.mu.Unlock()
	_, err := from.ReadAt(p, e.at)
	return err
}

// allocate returns a place: in the first gap that is large enough, or at the end.
func (f *file) allocate(n int64) (to *os.File, e extent, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		if f.file, err = os.CreateTemp(f.dir, fileName+"*"); err != nil {
			return nil, extent{}, err
		}
		_ = os.Remove(f.file.Name()) // it lives as long as it is open
	}
	i := slices.IndexFunc(f.gaps, func(g extent) bool { return g.size >= n })
	switch {
	case i < 0 && f.end+n > f.limit:
		return nil, extent{}, errDiskBound
	case i < 0:
		e = extent{f.end, n}
		f.end += n
		return f.file, e, nil
	}
	e = extent{f.gaps[i].at, n}
	if f.gaps[i].at, f.gaps[i].size = e.at+n, f.gaps[i].size-n; f.gaps[i].size == 0 {
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	return f.file, e, nil
}

// free frees a place and joins it with the gaps beside it. An empty end is cut off.
func (f *file) free(e extent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.gaps, e, func(a, b extent) int { return int(a.at - b.at) })
	if i < len(f.gaps) && e.at+e.size == f.gaps[i].at {
		e.size += f.gaps[i].size
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	if i > 0 && f.gaps[i-1].at+f.gaps[i-1].size == e.at {
		i--
		e = extent{f.gaps[i].at, f.gaps[i].size + e.size}
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	if e.at+e.size == f.end {
		f.end = e.at
		_ = f.file.Truncate(f.end) // it only frees space
		return
	}
	f.gaps = slices.Insert(f.gaps, i, e)
}

// leftoverAge is the age from which a file that has a name still belongs to no process: one was killed between
// making it and removing its name.
const leftoverAge = time.Minute

// removeLeftovers removes the files that killed processes have left in a folder.
func removeLeftovers(dir string) {
	if dir == "" {
		dir = os.TempDir()
	}
	names, _ := filepath.Glob(filepath.Join(dir, fileName+"*")) // its only error is one of the pattern
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftoverAge {
			_ = os.Remove(name) // another user's stays
		}
	}
}
