package gatewaycmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/sse"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
)

const errorBound = 1 << 20

// Explain returns the command `explain`.
func Explain(s command.Streams) *cobra.Command {
	c := &explainCmd{Flags: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "explain [FILE|TEXT]",
		Short: "Explain an error and what each policy would do about it",
		Long: "explain reads an error from a file, its argument or standard input: a JSON body, a whole HTTP response (as\n" +
			"`curl -i` prints it), an event of a stream, a web page, or a line of a log. It prints the kind of\n" +
			"fault, the rule that classified it and why, the wait that the provider asks for, and what each policy\n" +
			"would do.\n\n" +
			"--wrong KIND corrects a reading: it adds a row to the file with your own readings of faults, which a\n" +
			"running gateway follows at once. The row has the names and the plain words of the error only.",
		Example: "  curl -si https://api.example/v1/messages | ridethrough explain\n" +
			"  ridethrough explain 'TypeError: fetch failed'\n" +
			"  ridethrough explain --status 429 error.json --why\n" +
			"  ridethrough explain --status 503 error.json --provider relay --wrong invalid",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.read(); err != nil {
				return err
			}
			c.useOwnRows()
			in, err := c.input(s, args)
			if err != nil {
				return command.Failed(err)
			}
			defer in.Close()
			return command.Failed(c.run(in, s))
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.status, "status", 0, "the HTTP status of the error, if the input does not contain it")
	f.StringVar(&c.at, "now", "", "the time of the error, as 2026-11-02T21:00:00Z (default now)")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.BoolVar(&c.lines, "jsonl", false, "read one JSON object per line, with provider, dialect, where, status, headers and body, and print one for each")
	f.BoolVar(&c.why, "why", false, "print the evidence that was weighed: what each sign proves, how sure it is, and what decided")
	f.StringVar(&c.provider, "provider", "", "the upstream, or the provider of an agent's model, that the error comes from")
	f.StringVar(&c.wrong, "wrong", "", "the kind that the fault should be; add this to your own readings of faults")
	c.AddFile(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "jsonl")
	cmd.MarkFlagsMutuallyExclusive("wrong", "jsonl")
	cmd.MarkFlagsMutuallyExclusive("wrong", "json")
	cmd.MarkFlagsMutuallyExclusive("why", "jsonl")
	cmd.MarkFlagsMutuallyExclusive("status", "jsonl")
	return cmd
}

type explainCmd struct {
	configflags.Flags

	provider    string
	wrong       string // a kind; "": the reading is right
	faults      classify.Classifier
	status      int
	at          string
	now         time.Time
	json, lines bool
	why         bool
}

func (c *explainCmd) read() (err error) {
	if c.status != 0 && (c.status < 100 || c.status > 599) {
		return fmt.Errorf("--status %d: want an HTTP status, such as 529", c.status)
	}
	if c.wrong != "" && !slices.Contains(config.FaultKinds(), c.wrong) {
		return fmt.Errorf("--wrong %q: want the right kind: %s", c.wrong, text.And(config.FaultKinds()))
	}
	c.now = time.Now()
	if c.at != "" {
		if c.now, err = time.Parse(time.RFC3339, c.at); err != nil {
			return fmt.Errorf("--now %q: want a time such as 2026-11-02T21:00:00Z", c.at)
		}
	}
	return nil
}

// input opens the file that an argument names, the error that the argument itself is, or standard input.
func (c *explainCmd) input(s command.Streams, args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		if command.IsTerminal(s.In) {
			fmt.Fprintln(s.Err, "Reading an error from standard input; Ctrl+D ends it.")
		}
		return io.NopCloser(s.In), nil
	}
	file, err := os.Open(args[0])
	switch {
	case err == nil:
		return file, nil
	case !c.lines && isText(args[0]):
		return io.NopCloser(strings.NewReader(args[0])), nil
	}
	return nil, err // it names the file
}

// isText reports whether an argument that names no file is an error text and no mistyped name: it has several
// words, or one word without a directory and a suffix, such as overloaded_error.
func isText(arg string) bool {
	return strings.ContainsAny(arg, " \t\n{[<") || !strings.ContainsAny(arg, "/.\\")
}

func (c *explainCmd) run(in io.Reader, s command.Streams) error {
	if c.lines {
		return c.each(in, command.JSON(s.Out))
	}
	text, err := io.ReadAll(io.LimitReader(in, errorBound))
	if err != nil {
		return err
	}
	if len(strings.TrimSpace(string(text))) == 0 && c.status == 0 {
		return errors.New("no input; give an error in a file or on standard input")
	}
	e := parseError(string(text), c.status).evidence(c.now)
	if c.wrong != "" {
		return c.correct(command.Text(s.Out), e)
	}
	f := c.faults.Classify(e)
	if c.json {
		r := c.describe(f)
		if c.why {
			r.Evidence = signs(c.faults.Weigh(e))
		}
		return writeJSON(command.JSON(s.Out), r)
	}
	out := command.Text(s.Out)
	if err := c.print(out, f); err != nil || !c.why {
		return err
	}
	return printSigns(out, c.faults.Weigh(e))
}

type explanation struct {
	Kind      string            `json:"kind"`
	Class     fault.Class       `json:"class"`
	Status    int               `json:"status,omitzero"`
	Code      string            `json:"code,omitzero"`
	Message   string            `json:"message,omitzero"`
	RequestID string            `json:"requestId,omitzero"`
	Final     bool              `json:"final,omitzero"`
	WaitMs    *int64            `json:"waitMs"`
	ResetAt   time.Time         `json:"resetAt,omitzero"`
	Guessed   bool              `json:"guessed,omitzero"`
	Rule      string            `json:"rule"`
	Reason    string            `json:"reason,omitzero"`
	Verdicts  map[string]string `json:"verdicts"`
	Evidence  []sign            `json:"evidence,omitzero"` // with --why
}

func (c *explainCmd) describe(f *fault.Error) explanation {
	r := explanation{
		Kind: f.Kind.String(), Class: f.Class(), Status: f.Status, Code: f.Code, Message: f.Message, RequestID: f.RequestID,
		Final: f.Final, WaitMs: waitMs(f, c.now), ResetAt: f.ResetAt, Guessed: f.Guessed, Rule: f.Rule, Reason: f.Reason,
		Verdicts: map[string]string{},
	}
	for _, name := range policy.Presets() {
		r.Verdicts[name] = c.verdict(name, f)
	}
	return r
}

func (c *explainCmd) verdict(name string, f *fault.Error) string {
	p, _ := policy.Preset(name)
	p.Backoff.Jitter = policy.Jitter{} // show the middle of the range
	_, v := p.Next(policy.Run{Started: c.now}, f, false, c.now, 0)
	switch {
	case v.Stop != "":
		return "stop: " + string(v.Stop)
	case v.Hinted:
		return "retry in " + v.Wait.String() + ", as requested by the provider"
	}
	return "retry in " + v.Wait.String()
}

func (c *explainCmd) print(out io.Writer, f *fault.Error) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("fault", "%s", strings.Join(strings.Fields(f.Error()), " ")) // on one line
	row("kind", "%s (%s)", f.Kind, f.Label())
	if f.Guessed {
		row("guessed", "yes, from the wording")
	}
	row("rule", "%s", f.Rule)
	if f.Reason != "" {
		row("reason", "%s", f.Reason)
	}
	if f.RequestID != "" {
		row("request", "%s", f.RequestID)
	}
	row("wait", "%s", c.hint(f))
	if f.Window {
		row("window", "it %s: serve waits for it as quota in the configuration says", f.OpensAgain(c.now))
	}
	for _, name := range policy.Presets() {
		row(name, "%s", c.verdict(name, f))
	}
	return w.Flush()
}

func (c *explainCmd) hint(f *fault.Error) string {
	wait := f.RetryAfter(c.now)
	switch {
	case f.Final:
		return "the provider asks not to retry"
	case wait == 0:
		return "not stated by the provider"
	case f.ResetAt.IsZero():
		return wait.String()
	}
	return wait.String() + ", until " + f.ResetAt.UTC().Format(time.RFC3339)
}

// waitMs returns the stated wait in milliseconds, rounded up, or nil.
func waitMs(f *fault.Error, now time.Time) *int64 {
	wait := f.RetryAfter(now)
	if wait == 0 {
		return nil
	}
	ms := int64((wait + time.Millisecond - 1) / time.Millisecond)
	return &ms
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type sample struct {
	ID      string            `json:"id"`
	Where   string            `json:"where"` // "http", "stream" or "network"; "": see evidence
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func (e sample) evidence(now time.Time) classify.Evidence {
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	switch {
	case e.Where == "network", e.Where == "" && e.Status == 0:
		return classify.Failure(errors.New(e.Body), now)
	case e.Where == "stream" && (e.Status == 0 || e.Status == http.StatusOK):
		return classify.Event([]byte(e.Body), now)
	}
	return classify.Response(e.Status, header, []byte(e.Body), now)
}

// parseError reads an error in one of several forms, distinguished by how it begins. status is that of the flag; 0:
// not given.
func parseError(text string, status int) sample {
	text = strings.TrimSpace(text)
	if head, body, ok := parseResponse(text); ok {
		head.Body = body
		if status != 0 {
			head.Status = status
		}
		return head
	}
	if status != 0 {
		return sample{Where: "http", Status: status, Body: text}
	}
	if sse.Begins([]byte(text)) || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return sample{Where: "stream", Body: text}
	}
	return sample{Where: "network", Body: text}
}

// parseResponse reads a status line, headers and a body, also in the form that tools print ("HTTP/2 529"). Of several
// heads the last one counts: curl prints those of a 100, of a proxy's CONNECT and of a redirection before it.
func parseResponse(text string) (e sample, body string, ok bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	line, rest, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/") {
		return e, "", false
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil {
		return e, "", false
	}
	e = sample{Where: "http", Status: status, Headers: map[string]string{}}
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		name, value, found := strings.Cut(line, ":")
		if !found {
			break // the blank line before the body
		}
		e.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if last, body, more := parseResponse(rest); more {
		return last, body, true
	}
	return e, rest, true
}

// classes are the names that corpora of labelled errors use for our kinds.
var classes = map[fault.Kind]string{
	fault.RateLimited: "transient", fault.Overloaded: "transient",
	fault.Unavailable: "transient", fault.Truncated: "transient",
	fault.UpstreamTimeout: "timeout", fault.Timeout: "timeout",
	fault.Quota: "quota_exhausted", fault.TooLong: "context_overflow",
	fault.Auth: "permanent", fault.Invalid: "permanent", fault.Refused: "permanent",
	fault.Canceled: "canceled", fault.Unknown: "unknown",
}

type label struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Class  string `json:"class"`
	Retry  bool   `json:"retry"` // a bounded policy that retries unknown faults would retry
	WaitMs *int64 `json:"wait_ms"`
	Rule   string `json:"rule"`
}

func labelled(id string, f *fault.Error, now time.Time) label {
	again := fault.Transient.With(fault.Unknown)
	return label{
		ID: id, Kind: f.Kind.String(), Class: classes[f.Kind],
		Retry: again.Has(f.Kind) && !f.Final, WaitMs: waitMs(f, now), Rule: f.Rule,
	}
}

func (c *explainCmd) each(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16*errorBound)
	w := bufio.NewWriter(out)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e sample
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("line %d: want a JSON object with where, status, headers and body: %w", n, err)
		}
		if err := writeJSON(w, labelled(e.ID, c.faults.Classify(e.evidence(c.now)), c.now)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return w.Flush()
}
