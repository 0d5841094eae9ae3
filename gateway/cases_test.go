package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// faultCase is a kind of fault that users of gateways and agents have reported, in the forms of several APIs. Each
// file of testdata/cases is one.
type faultCase struct {
	About string
	Plays []play
}

// play is one form of a fault, and what its client has to see.
type play struct {
	Name     string         // within the case
	API      string         // of players
	Upstream []playedAnswer // in the order of the requests; then come good answers
	Again    bool           // the last one repeats instead
	Times    int            // the request is sent this often, a second apart; 0: once
	Request  string         // its body; "": a usual one
	Client   string         // its User-Agent

	Want   string            // "answer", "answer after reasoning", "call", "error", "cut off", "same", or a status
	Tries  string            // of all requests: "2", or "2-4"
	Within string            // the time that it may take; "": any
	Says   string            // is in what the client sees
	Header map[string]string // of the response; "": without it
}

// playedAnswer is one answer of the upstream.
type playedAnswer struct {
	If     string            // only for requests with this credential; those answers come first
	Status int               // 0: 200
	Header map[string]string // besides the content type
	After  string            // it comes after this time
	Body   json.RawMessage   // JSON, or a text as a string
	Events []json.RawMessage // data in the API's frames, or as a string what comes as it is
	Beat   json.RawMessage   // repeats after the events, each 2 s, and never ends
	Good   bool              // it is a good one
}

// knownWrong are the plays that do not come out right so far. One that does must be taken out of the list.
var knownWrong = []string{}

// players are the APIs of the plays.
var players = map[string]caller{
	"chat":            {"/v1/chat/completions", gpt, api.Events, nil},
	"chat whole":      {"/v1/chat/completions", whole(gpt), api.JSON, nil},
	"anthropic":       {"/v1/messages", claude, api.Events, nil},
	"anthropic whole": {"/v1/messages", whole(claude), api.JSON, nil},
	"responses":       {"/v1/responses", codex, api.Events, nil},
	"responses whole": {"/v1/responses", whole(codex), api.JSON, nil},
	"gemini":          {"/v1beta/models/gemini-3:streamGenerateContent?alt=sse", gemini, api.Events, nil},
	"gemini whole":    {"/v1beta/models/gemini-3:generateContent", gemini, api.JSON, nil},
	"bedrock":         {"/model/m/converse-stream", converse, api.AWSEvents, nil},
	"bedrock whole":   {"/model/m/converse", converse, api.JSON, nil},
	"ollama":          {"/api/chat", llama, api.Lines, nil},
	"cohere":          {"/v2/chat", command, api.Events, nil},
}

const goodText = "Teal, as a rule."

func TestGateway_ReportedFaultsComeOutRight(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("cases: got %d files, %v, want 20 and more", len(files), err)
	}
	var table strings.Builder
	played, right := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		var c faultCase
		if err := json.Unmarshal(text, &c); err != nil || c.About == "" || len(c.Plays) == 0 {
			t.Fatalf("%s: got %v, %d plays, want a case", file, err, len(c.Plays))
		}
		for _, p := range c.Plays {
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + p.Name
			var wrong error
			synctest.Test(t, func(t *testing.T) { wrong = p.run(t) })
			known := slices.Contains(knownWrong, name)
			switch played++; {
			case wrong == nil && known:
				t.Errorf("%s comes out right: take it out of knownWrong", name)
			case wrong != nil && !known:
				t.Errorf("%s: %v", name, wrong)
			}
			word := "wrong"
			if wrong == nil {
				word, right = "right", right+1
			}
			fmt.Fprintf(&table, "%s  %s\n", word, name)
		}
	}
	t.Logf("%d of %d are right\n%s", right, played, table.String())
}

// run plays it, and returns what is wrong.
func (p play) run(t *testing.T) error {
	at, known := players[p.API]
	if !known {
		t.Fatalf("no API is called %q", p.API)
	}
	u := &player{play: p, at: at.of(t)}
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Limits = nil
	}
	w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: u})
	body := p.Request
	if body == "" {
		body = u.at.body
	}
	for n := range max(p.Times, 1) {
		if n > 0 {
			_ = retry.Sleep(t.Context(), time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		begun := time.Now()
		resp, err := w.ask(ctx, u.at.path, body, "User-Agent", p.Client, "Authorization", "Bearer the-key", "X-Api-Key", "the-key")
		if err != nil {
			return fmt.Errorf("request %d: %w", n+1, err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		s := u.at.see(t, resp, string(text), err)
		if wrong := errors.Join(p.wrong(s), p.wrongTime(time.Since(begun)), p.wrongAnswer(resp.Header, string(text))); wrong != nil {
			return fmt.Errorf("request %d: %w; it got %d %q, %v, asked %d", n+1, wrong, resp.StatusCode, text, err, u.count())
		}
	}
	least, most, ranged := strings.Cut(p.Tries, "-")
	if !ranged {
		most = least
	}
	from, _ := strconv.Atoi(least)
	to, err := strconv.Atoi(most)
	if n := u.count(); err != nil || n < from || n > to {
		return fmt.Errorf("the upstream was asked %d times, want %q", n, p.Tries)
	}
	return nil
}

// wrongTime returns what is wrong with the time that a request has taken.
func (p play) wrongTime(took time.Duration) error {
	most, err := time.ParseDuration(p.Within)
	if p.Within == "" || err == nil && took <= most {
		return nil
	}
	return fmt.Errorf("it took %v, want %q", took, p.Within)
}

// wrong returns what is wrong with what the client sees.
func (p play) wrong(s sight) error {
	want := sight{status: 200, text: goodText, starts: s.starts, stops: 1}
	if strings.HasPrefix(p.API, "chat") || strings.HasPrefix(p.API, "anthropic") {
		want.starts = 1
	}
	switch p.Want {
	case "answer after reasoning":
		want.thought = s.thought
		fallthrough
	case "answer":
	case "call":
		want.text, want.calls = "", s.calls
		if !strings.Contains(s.calls, "look") {
			return fmt.Errorf("it sees the calls %q, want look", s.calls)
		}
	case "error":
		if !s.failed {
			return fmt.Errorf("it sees %+v, want an error", s)
		}
		want = s
	case "cut off":
		if !s.failed || s.text == "" || strings.Contains(s.text, goodText) {
			return fmt.Errorf("it sees %+v, want a part of a text, and an error", s)
		}
		want = s
	case "same":
		if want = s; s.failed || s.status != 200 || s.text != "" {
			return fmt.Errorf("it sees %+v, want the upstream's answer", s)
		}
	default:
		want = s
		if want.status, _ = strconv.Atoi(p.Want); want.status == 0 {
			return fmt.Errorf("%q is nothing to want", p.Want)
		}
	}
	if s != want {
		return fmt.Errorf("it sees %+v, want %+v", s, want)
	}
	return nil
}

// wrongAnswer returns what is missing in a response.
func (p play) wrongAnswer(h http.Header, text string) error {
	for name, value := range p.Header {
		if got := h.Get(name); got != value {
			return fmt.Errorf("the header %s is %q, want %q", name, got, value)
		}
	}
	if !strings.Contains(text, p.Says) {
		return fmt.Errorf("it does not see %q", p.Says)
	}
	return nil
}
