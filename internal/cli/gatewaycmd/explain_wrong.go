package gatewaycmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/cohere"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/redact"
)

// useOwnRows makes the command judge as a gateway with the same configuration would. Without a valid configuration
// the built-in rules decide.
func (c *explainCmd) useOwnRows() {
	if conf, err := c.Read(); err == nil {
		c.faults = c.Faults(&conf)
	}
	c.faults.Provider = c.provider
}

// correct adds a row to the user's own readings that gives the error the kind the user wants.
func (c *explainCmd) correct(out io.Writer, e classify.Evidence) error {
	conf, err := c.Read()
	if err != nil {
		return err
	}
	path, _ := c.FaultsFile(&conf)
	if path == "" {
		return errors.New("there is no home directory for the file; name one with --config and the field faults")
	}
	before := c.faults.Classify(e)
	want := fault.KindOf(c.wrong)
	if before.Kind == want {
		return fmt.Errorf("it is %s already, by %s", before.Kind, before.Rule)
	}
	row, err := c.rowOf(e)
	if err != nil {
		return err
	}
	row.Kind, row.Note = want, fmt.Sprintf("%s: was %s by %s", c.now.UTC().Format("2006-01-02"), before.Kind, before.Rule)
	text, err := withRow(path, row)
	if err != nil {
		return err
	}
	rows, err := config.ParseFaults(path, text)
	if err != nil {
		return fmt.Errorf("add the row to %s yourself; it is no plain list:\n%s", path, rowText(row))
	}
	after := classify.Classifier{Judges: []classify.Judge{classify.Rows(rows)}, Provider: c.provider}.Classify(e)
	if after.Kind != want {
		return fmt.Errorf("no row tells this error from others; write one into %s", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := disk.Write(path, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\nadded to %s; a gateway with this configuration follows it at once\n", rowText(row), path)
	return err
}

// rowOf returns a row that matches the error, without prompts, keys and ids.
func (c *explainCmd) rowOf(e classify.Evidence) (classify.Row, error) {
	r := classify.Row{Provider: c.provider}
	if e.Status >= http.StatusMultipleChoices {
		r.Status = e.Status
	} else if e.Err == nil && isAnswer(e.Body) {
		return r, errors.New("this is an answer and no error: a row would never be asked about it")
	}
	for _, l := range e.Layers {
		if r.Code == "" && r.Type == "" {
			r.Code, r.Type = publicName(l.Code), publicName(l.Type)
			if r.Code == "" && r.Type != "" {
				r.Code = publicName(l.Reason)
			}
		}
		if r.Text == "" {
			r.Text = redact.Outline(fault.Scrub(l.Message))
		}
	}
	if len(strings.Trim(r.Text, "* ")) < 3 {
		r.Text = ""
	}
	if r.Code == "" && r.Type == "" && r.Text == "" && (r.Status == 0 || r.Provider == "") {
		return r, errors.New("nothing but the status tells this error from others; name its upstream with --provider, or write a row yourself")
	}
	return r, config.CheckFault(r)
}

// publicName returns the name of an error, or "" if it may be an id.
func publicName(name string) string {
	digits := 0
	for _, r := range name {
		switch {
		case '0' <= r && r <= '9':
			digits++
		case r == '_', r == '-', r == '.', r == ':', 'a' <= r|0x20 && r|0x20 <= 'z':
		default:
			return ""
		}
	}
	if len(name) > 64 || digits > 6 || fault.Scrub(name) != name {
		return ""
	}
	return name
}

// isAnswer reports whether no API treats a body with a good status, or the data of an event, as an error.
func isAnswer(body []byte) bool {
	body = bytes.TrimSpace(body)
	if at := bytes.Index(body, []byte("data:")); at >= 0 && !bytes.HasPrefix(body, []byte("{")) {
		body = bytes.TrimSpace(body[at+len("data:"):])
	}
	if !bytes.HasPrefix(body, []byte("{")) {
		return false // a page, or a text
	}
	for _, d := range []*api.API{anthropic.Messages(), openai.Chat(), openai.Responses(), gemini.API(), ollama.API(), cohere.API()} {
		if d.BodyKind(body) == api.Failure {
			return false
		}
	}
	return true
}

const header = `# Your own readings of faults. The first row whose fields all match decides, before the built-in rules.
# ridethrough explain --why shows what decides; docs/faults.md has the fields.
`

func withRow(path string, r classify.Row) ([]byte, error) {
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = []byte(header)
	case err != nil:
		return nil, err
	default:
		if _, err := config.ParseFaults(path, old); err != nil {
			return nil, fmt.Errorf("correct the file first: %w", err)
		}
	}
	at := len(old)
	if bytes.HasPrefix(old, []byte("- ")) {
		at = 0
	} else if i := bytes.Index(old, []byte("\n- ")); i >= 0 {
		at = i + 1
	}
	row := rowText(r)
	if at > 0 && old[at-1] != '\n' {
		row = "\n" + row
	}
	return slices.Insert(old, at, []byte(row)...), nil
}

func rowText(r classify.Row) string {
	var b strings.Builder
	b.WriteString("- kind: " + r.Kind.String() + "\n")
	for _, f := range []struct{ name, value string }{{"provider", r.Provider}, {"status", ""}, {"code", r.Code}, {"type", r.Type}, {"text", r.Text}, {"note", r.Note}} {
		switch {
		case f.name == "status" && r.Status > 0:
			b.WriteString("  status: " + strconv.Itoa(r.Status) + "\n")
		case f.value != "":
			quoted, _ := json.Marshal(f.value) // is YAML too
			b.WriteString("  " + f.name + ": " + string(quoted) + "\n")
		}
	}
	return b.String()
}
