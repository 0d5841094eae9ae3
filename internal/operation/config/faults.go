package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// FaultsName is the name of the file with the user's own readings of faults, beside the configuration.
const FaultsName = "faults.yaml"

// Faults returns the path of the file with the user's own readings of faults, and whether the configuration
// names it. Without a name it is beside the configuration, which may not exist either.
func (c *Config) Faults(env func(string) string, beside string) (path string, named bool) {
	switch {
	case c.faults != "":
		return c.path(env)(c.faults), true
	case beside == "":
		return "", false
	}
	return filepath.Join(filepath.Dir(beside), FaultsName), false
}

// ParseFaults parses a file with readings of faults: a list of rows. An empty text has none. Errors are [Errors]
// and contain name.
func ParseFaults(name string, data []byte) ([]classify.Row, error) {
	src, data := sourceOf(name, data)
	root, faults := parse(src, data)
	r := &reader{source: src, faults: faults, at: map[string]pos{}, hidden: map[int]int{}}
	if root == nil || root.kind == null {
		return nil, r.done()
	}
	var rows []classify.Row
	seq[*[]classify.Row]("a list of rows, each with a kind and what it matches", faultRow()).read(r, root, &rows)
	if err := r.done(); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Rule = filepath.Base(name) + ":" + strconv.Itoa(root.items[i].line)
	}
	return rows, nil
}

// faultRow is the codec of a reading of a fault.
func faultRow() codec[classify.Row] {
	row := object(
		&schema{name: "fault", about: "A reading of a fault of your own.", expected: "the fields of a row", Required: []string{"kind"}}, checkKind,
		newField("kind", faultKind(), func(r *classify.Row) *fault.Kind { return &r.Kind }, fieldDoc{"What the fault is.", "", "required"}),
		newField("provider", anyName("the name of an upstream, or of an agent's provider"), func(r *classify.Row) *string { return &r.Provider }, fieldDoc{"The upstream that it comes from, or the provider of an agent's model.", "", "any"}),
		newField("status", faultStatus(), func(r *classify.Row) *int { return &r.Status }, fieldDoc{"The HTTP status.", "", "any"}),
		newField("code", name("an error's code"), func(r *classify.Row) *string { return &r.Code }, fieldDoc{"The code or the reason in the error, without regard to case and separators.", "", "any"}),
		newField("type", name("an error's type"), func(r *classify.Row) *string { return &r.Type }, fieldDoc{"The type in the error, without regard to case and separators.", "", "any"}),
		newField("text", faultText(), func(r *classify.Row) *string { return &r.Text }, fieldDoc{"Words of the message, without regard to case. `*` stands for anything.", "", "any"}),
		newField("retry-after", duration(), func(r *classify.Row) *time.Duration { return &r.Wait }, fieldDoc{"How long to wait, in place of what the provider says.", "", "what it says"}),
		newField("note", anyName("a text"), func(r *classify.Row) *string { return &r.Note }, fieldDoc{"Why, for you.", "", "none"}),
	)
	fields := row.read
	row.read = func(r *reader, n *node, to *classify.Row) bool {
		if !fields(r, n, to) {
			return false
		}
		if err := CheckFault(*to); err != nil {
			r.fail(n, "%v", err)
			return false
		}
		return true
	}
	return row
}

// checkKind checks that a row has a kind.
func checkKind(r *reader, n *node, _ *classify.Row) {
	if n.kind == mapping && n.field("kind") == nil {
		r.fail(n, "a row needs the field kind")
	}
}

// CheckFault returns why a row would match too much; nil: it does not.
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

// faultKind is the codec of one kind of fault.
func faultKind() codec[fault.Kind] {
	names := FaultKinds()
	return scalar(&schema{expected: "a kind of fault: " + orList(names), Enum: names}, func(s string) (fault.Kind, error) {
		if kindSet(s) == 0 || s == "transient" {
			return 0, errForm
		}
		return fault.KindOf(s), nil
	}, fault.Kind.String)
}

// FaultKinds returns the names of the kinds that a row may have.
func FaultKinds() []string { return kindNames()[1:] } // without the group

// faultStatus is the codec of an HTTP status.
func faultStatus() codec[int] {
	least, most := 100.0, 599.0
	return scalar(&schema{Type: "integer", Minimum: &least, Maximum: &most, expected: "an HTTP status, such as 503"}, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < int(least) || n > int(most) {
			return 0, errForm
		}
		return n, nil
	}, strconv.Itoa)
}

// name is the codec of a name in an error, which may be a number.
func name(words string) codec[string] {
	f := anyName(words)
	texts := f.read
	f.read = func(r *reader, n *node, to *string) bool {
		if n.kind == number {
			*to = n.text
			return true
		}
		return texts(r, n, to)
	}
	return f
}

// faultText is the codec of words in a message.
func faultText() codec[string] {
	return checkedText("some words of the message, with * in place of what differs", "", func(s string) bool {
		return len(strings.Trim(s, "* ")) >= 3
	})
}
