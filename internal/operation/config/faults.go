package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// FaultsName is the name of the file with the user's own readings of faults, beside the configuration.
const FaultsName = "faults.yaml"

// Faults returns the path of the file with the user's own readings of faults, and whether the configuration names
// it. The default is beside the configuration, which need not exist either.
func (c *Config) Faults(env func(string) string, beside string) (path string, named bool) {
	switch {
	case c.faults != "":
		return c.path(env)(c.faults), true
	case beside == "":
		return "", false
	}
	return filepath.Join(filepath.Dir(beside), FaultsName), false
}

// ParseFaults parses a file with readings of faults: a list of rows, which may be empty. Errors are [Errors] and
// contain name.
func ParseFaults(name string, data []byte) ([]classify.Row, error) {
	var file []faultRow
	r := read(name, data, &file, `list:"a list of rows, each with a kind and what it matches"`)
	if err := r.done(); err != nil {
		return nil, err
	}
	var rows []classify.Row
	for i, row := range file {
		one := row.row()
		one.Rule = filepath.Base(name) + ":" + strconv.Itoa(r.at[strconv.Itoa(i)].line)
		rows = append(rows, one)
	}
	return rows, nil
}

type faultRow struct {
	_ struct{} `name:"fault" about:"Your own reading of a fault." want:"the fields of a row" missing:"a row needs the field FIELD"`

	kind     fault.Kind    `yaml:"kind" as:"fault-kind" doc:"What the fault is." required:"true"`
	provider string        `yaml:"provider" want:"the name of an upstream, or of an agent's provider" doc:"The upstream that it comes from, or the provider of an agent's model." without:"any"`
	status   int           `yaml:"status" want:"an HTTP status, such as 503" min:"100" max:"599" doc:"The HTTP status." without:"any"`
	code     string        `yaml:"code" as:"code" want:"an error's code" doc:"The code or the reason in the error, without regard to case and separators." without:"any"`
	typ      string        `yaml:"type" as:"code" want:"an error's type" doc:"The type in the error, without regard to case and separators." without:"any"`
	text     string        `yaml:"text" as:"words" doc:"Words of the message, without regard to case. ‘*’ stands for anything." without:"any"`
	wait     time.Duration `yaml:"retry-after" doc:"How long to wait, instead of what the provider says." without:"what it says"`
	note     string        `yaml:"note" want:"a text" doc:"Why, for you." without:"none"`
}

func (f *faultRow) row() classify.Row {
	return classify.Row{Provider: f.provider, Status: f.status, Code: f.code, Type: f.typ, Text: f.text, Kind: f.kind, Wait: f.wait, Note: f.note}
}

func (f *faultRow) check(r *reader, n *node) {
	if err := CheckFault(f.row()); err != nil {
		r.fail(n, "%v", err)
	}
}

// CheckFault returns why a row would match too much, or nil.
func CheckFault(r classify.Row) error {
	named := r.Code != "" || r.Type != ""
	switch {
	case !named && r.Text == "" && r.Status == 0:
		return fmt.Errorf("a row needs a status, a code, a type or a text to match")
	case 200 <= r.Status && r.Status < 300 && !named:
		return fmt.Errorf("status %d is that of answers: give the code or the type of the error, or leave the status out", r.Status)
	}
	return nil
}

// FaultKinds returns the names of the kinds that a row may have.
func FaultKinds() []string { return kindNames()[1:] } // without the group

// FaultsFile is the user's own readings of faults in a file. It rereads a changed file when a fault is judged, so
// that a change applies at once. An invalid file changes nothing: the previous rows stay. Its methods may be called
// concurrently.
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

// OpenFaults follows a file; the path may be "" for none. A file that the configuration names should exist. report
// gets the number of rows each time they change, and the problem with the file, if any.
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

// Judge decides by the current rows of the file, or by the last valid ones.
func (f *FaultsFile) Judge(e classify.Evidence) (classify.Ruling, bool) {
	f.mu.Lock()
	f.refresh()
	judge := f.judge
	f.mu.Unlock()
	return judge(e)
}

// Warnings returns the problem with the file, in a sentence.
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
	now := stateOf(f.path)
	if f.path == "" || f.read && sameState(now, f.seen) {
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
	data, err := readFile(f.path)
	if err != nil {
		return nil, err
	}
	return ParseFaults(f.path, data)
}
