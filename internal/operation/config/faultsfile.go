package config

import (
	"fmt"
	"os"
	"sync"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/operation/reload"
)

// FaultsFile is the user's own readings of faults in a file. It is read again whenever a fault is judged and the
// file has changed, so that a change counts at once. A file with a mistake changes nothing: the rows before stay.
// Its methods may be called concurrently.
type FaultsFile struct {
	report func(rows int, problem string)

	mu      sync.Mutex
	path    string
	named   bool
	seen    os.FileInfo // the file when it was last read
	read    bool
	judge   classify.Judge
	problem string
}

// OpenFaults follows a file; "" for the path: none. A file that the configuration names should exist. report gets the
// number of rows each time they change, and what is wrong with the file.
func OpenFaults(path string, named bool, report func(rows int, problem string)) *FaultsFile {
	f := &FaultsFile{report: report, judge: classify.Rows(nil)}
	f.Follow(path, named)
	return f
}

// Follow follows another file from now on.
func (f *FaultsFile) Follow(path string, named bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path != f.path || named != f.named {
		f.path, f.named, f.read = path, named, false
	}
	f.refresh()
}

// Judge decides by the rows of the file as it is now, or as it was when it was last valid.
func (f *FaultsFile) Judge(e classify.Evidence) (classify.Ruling, bool) {
	f.mu.Lock()
	f.refresh()
	judge := f.judge
	f.mu.Unlock()
	return judge(e)
}

// Warnings returns what is wrong with the file, in a sentence.
func (f *FaultsFile) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	if f.problem == "" {
		return nil
	}
	return []string{f.problem}
}

// refresh reads the file if it has changed. f.mu is held.
func (f *FaultsFile) refresh() {
	now := reload.Stat(f.path)
	if f.path == "" || f.read && reload.Same(now, f.seen) {
		return
	}
	f.seen, f.read = now, true
	rows, err := f.load(now)
	before := f.problem
	f.problem = ""
	if err != nil {
		f.problem = fmt.Sprintf("The readings of faults are not those of the file: %v", err)
	} else {
		f.judge = classify.Rows(rows)
	}
	if len(rows) > 0 || f.problem != before || now != nil {
		f.report(len(rows), f.problem)
	}
}

// load reads the file in this state; nil: it does not exist.
func (f *FaultsFile) load(now os.FileInfo) ([]classify.Row, error) {
	if now == nil {
		if f.named {
			return nil, fmt.Errorf("%s does not exist", f.path)
		}
		return nil, nil
	}
	data, err := reload.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, reload.Pathless(err))
	}
	return ParseFaults(f.path, data)
}
