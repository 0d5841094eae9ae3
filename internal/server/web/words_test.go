package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

var update = flag.Bool("update", false, "write test/words.json and packed anew")

// texts are the texts of package display, with the values that they describe as the page has them.
// test/words.test.mjs compares the page's texts with them.
type texts struct {
	Causes     map[string]string `json:"causes"`
	Waits      []example         `json:"waits"`
	Durations  []example         `json:"durations"`
	Recoveries []example         `json:"recoveries"`
	Ends       []example         `json:"ends"`
	Images     []example         `json:"images"`
	Files      []example         `json:"files"`
	Together   []example         `json:"together"`
	Lines      map[string]string `json:"lines"`
}

// example is a value and its text.
type example struct {
	Of    map[string]any `json:"of"`
	Words string         `json:"words"`
	More  string         `json:"more,omitzero"`
}

// TestMain sets the zone of the words before anything runs: servers of other tests read it.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

func TestWords_MatchTheTerminal(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(texts{causes(), waits(), durations(), recoveries(), ends(), images(), imageFiles(), together(), lines()}); err != nil {
		t.Fatalf("encode: %v", err)
	}
	text := bytes.ReplaceAll(b.Bytes(), []byte(`"},{"`), []byte("\"},\n{\""))
	const name = "test/words.json"
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	kept, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	if !bytes.Equal(kept, text) {
		t.Errorf("%s differs from package display; run: go test ./internal/server/web -update, then: npm test --prefix internal/server/web", name)
	}
}

// faults returns faults of every kind, with and without a status, and none.
func faults() (all []*fault.Error) {
	for k := fault.Unknown; k <= fault.Canceled; k++ {
		all = append(all, &fault.Error{Kind: k, Code: "ECONNREFUSED"})
		if k != fault.Truncated { // the events of a dropped stream have no status
			all = append(all, &fault.Error{Kind: k, Status: 503})
		}
	}
	return append(all, &fault.Error{Kind: fault.Invalid, Status: 500, Images: true}, nil)
}

func causes() map[string]string {
	all := map[string]string{}
	for _, f := range faults() {
		if f != nil {
			all[f.Kind.String()+" "+f.ShortCode()] = f.Label()
		}
	}
	return all
}

var nine = time.Date(2026, time.November, 21, 21, 0, 30, 0, time.UTC)

func waits() (all []example) {
	for _, left := range []time.Duration{-time.Second, 0, 1, 4200 * time.Millisecond, time.Minute, 90 * time.Second, 5 * time.Minute, 5*time.Minute + 1, 20 * time.Minute, 151 * time.Minute, 4 * time.Hour, 13 * time.Hour, 30 * time.Hour} {
		all = append(
			all, waiting(left, 1, 10, 0), waiting(left, 7, policy.Unlimited, 0),
			waiting(left, 7, policy.Unlimited, 8*time.Hour), waiting(left, 7, policy.Unlimited, 40*time.Hour),
		)
	}
	return append(all, spent(3*time.Hour+time.Minute), spent(26*time.Hour))
}

// spent returns the wait for a usage window that opens after so long.
func spent(left time.Duration) example {
	opens := nine.Add(left)
	w := policy.Wait{Fault: &fault.Error{Kind: fault.Quota, Status: 429, Window: true, ResetAt: opens}, Due: opens, Limit: policy.Unlimited}
	of := map[string]any{"kind": "quota", "code": "429", "retries": 0, "leftMs": float64(left) / 1e6, "due": opens, "opensAt": opens}
	line := display.WaitLine(w, nine, 1000)
	return example{Of: of, Words: strings.TrimSuffix(strings.TrimPrefix(line, "▲ "), " • Press Ctrl+C to cancel")}
}

// waiting returns a wait with a deadline after so long; 0: none.
func waiting(left time.Duration, attempt, limit int, bound time.Duration) example {
	w := policy.Wait{Run: policy.Run{Tries: attempt}, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529}, Due: nine.Add(left), Limit: limit}
	of := map[string]any{"kind": "overloaded", "code": "529", "retries": attempt - 1, "leftMs": float64(left) / 1e6, "due": nine.Add(left)}
	if limit != policy.Unlimited {
		of["maxRetries"] = limit
	}
	if bound > 0 {
		w.Deadline = nine.Add(bound)
		of["deadline"] = w.Deadline
	}
	line := display.WaitLine(w, nine, 1000)
	return example{Of: of, Words: strings.TrimSuffix(strings.TrimPrefix(line, "▲ "), " • Press Ctrl+C to cancel")}
}

func durations() (all []example) {
	for _, ms := range []int{0, 1, 999, 1000, 1001, 59_999, 60_000, 61_000, 300_000, 300_001, 3_599_000, 3_600_000, 9_060_000, 90_000_000} {
		d := time.Duration(ms) * time.Millisecond
		all = append(all, example{Of: map[string]any{"ms": ms, "nextMs": display.NextChange(d).Milliseconds()}, Words: display.Duration(d)})
	}
	return all
}

func recoveries() (all []example) {
	for _, ms := range []int{0, 400, 1499, 1500, 22_400, 60_000, 300_000, 1_234_567, 3_600_000, 28_800_000} {
		for _, n := range []int{1, 3} {
			words := display.Recovered(n, time.Duration(ms)*time.Millisecond)
			all = append(all, example{Of: map[string]any{"retries": n, "waitedMs": ms}, Words: strings.TrimPrefix(words, "✓ ")})
		}
	}
	return all
}

// ends returns failures of every kind. The reset time of an account is not in the public event, so not here.
func ends() (all []example) {
	for _, f := range faults() {
		for _, provider := range []string{"anthropic", "ollama"} {
			for _, n := range []int{0, 2} {
				if f != nil || n == 0 { // other failures are not retried
					all = append(all, ended(f, provider, n, false), ended(f, provider, n, true))
				}
			}
		}
	}
	return all
}

func ended(f *fault.Error, provider string, retries int, committed bool) example {
	e := turn.Error{
		Name: llm.Name{Provider: provider, Model: "m"}, Fault: f, Kind: fault.Unknown.String(), Message: "no",
		Retries: retries, Waited: time.Duration(retries) * 40 * time.Second,
	}
	if committed {
		e.Stop = policy.Committed
	}
	code := ""
	if f != nil {
		e.Kind, code = f.Kind.String(), f.ShortCode()
	}
	if retries > 1 {
		e.RequestID = "req_1"
	}
	return example{Of: map[string]any{
		"kind": e.Kind, "code": code, "provider": provider, "model": "m", "retries": retries, "committed": committed,
		"waitedMs": e.Waited.Milliseconds(), "requestId": e.RequestID, "imagesRefused": e.OfImages(),
	}, Words: display.Headline(e, nine), More: display.Details(e)[1]}
}

func images() (all []example) {
	for _, bytes := range []int{0, 999, 1000, 119_600, 999_499, 999_500, 1_250_000, llm.MaxImage} {
		for _, name := range []string{"", "a <b>.png"} {
			i := llm.Image{Name: name, MediaType: "image/png", Bytes: bytes, Width: 640, Height: 480}
			all = append(all, example{Of: map[string]any{"name": name, "mediaType": i.MediaType, "bytes": bytes, "width": 640, "height": 480}, Words: i.String()})
		}
	}
	return all
}

// imageFiles returns files of images, with what is in them or what is wrong with them. Zeros follow how a file begins.
func imageFiles() (all []example) {
	for _, file := range []struct {
		begins string
		bytes  int
	}{
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x02\x80\x00\x00\x01\xe0", 24},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x02\x80\x00\x00\x01\xe0", 23},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIDAT\x00\x00\x02\x80\x00\x00\x01\xe0", 60},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\x00\x02\x80\x00\x00\x01\xe0", 60},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x1f\x40\x00\x00\x1f\x41", 60},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x1f\x40\x00\x00\x1f\x40", llm.MaxImage},
		{"\x89PNG\r\n\x1a\n", llm.MaxImage + 1},
		{"GIF89a\x80\x02\xe0\x01", 40},
		{"GIF87a\x80\x02\xe0\x01", 9},
		{"GIF88a\x80\x02\xe0\x01", 40},
		{"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc4\x00\x02\xff\xc2\x00\x0b\x08\x01\xe0\x02\x80", 40},
		{"\xff\xd8\xff\xe0\x00\x01ab\xff\xc2\x00\x0b\x08\x01\xe0\x02\x80", 40},
		{"\xff\xd8\xff\xe0\xff\xff", 40},
		{"RIFF....WEBPVP8 ....\x00\x00\x00\x9d\x01\x2a\x80\x42\xe0\x01", 30},
		{"RIFF....WEBPVP8 ....\x00\x00\x00\x9d\x01\x2b\x80\x02\xe0\x01", 30},
		{"RIFF....WEBPVP8L....\x2f\x7f\xc2\x77\x00", 30},
		{"RIFF....WEBPVP8X....\x00\x00\x00\x00\x7f\x02\x00\xdf\x01\x00", 30},
		{"RIFF....WEBPVP8X....\x00\x00\x00\x00\x7f\x02\x00\xdf\x01\x00", 29},
		{"RIFF....WAVE", 30},
		{"", 0},
	} {
		data := make([]byte, file.bytes)
		begins := file.begins[:copy(data, file.begins)]
		i, err := llm.NewImage("a.png", data)
		words := i.String()
		if err != nil {
			words = err.Error()
		}
		all = append(all, example{Of: map[string]any{"begins": []byte(begins), "bytes": file.bytes}, Words: words})
	}
	return all
}

// together returns sizes of images, with what is wrong with them in one message.
func together() (all []example) {
	for _, sizes := range [][]int{make([]int, llm.MaxImages), make([]int, llm.MaxImages+1), {llm.MaxImageBytes}, {llm.MaxImageBytes, 1}} {
		images := make([]llm.Image, len(sizes))
		for i, n := range sizes {
			images[i].Bytes = n
		}
		words := ""
		if err := llm.CheckImages(images); err != nil {
			words = err.Error()
		}
		all = append(all, example{Of: map[string]any{"bytes": sizes}, Words: words})
	}
	return all
}

func lines() map[string]string {
	return map[string]string{
		"brokeOff": display.BrokeOff, "restarted": display.Restarted,
		"tooLong":  display.CompactedLine(turn.Compacted{}),
		"smaller":  display.CompactedLine(turn.Compacted{TokensBefore: 123456, TokensAfter: 999}),
		"asked":    display.CompactedLine(turn.Compacted{Asked: true, TokensBefore: 1003, TokensAfter: 21}),
		"short":    display.CompactedLine(turn.Compacted{Asked: true, TokensBefore: 21, TokensAfter: 21}),
		"switched": display.Switched(turn.Switched{From: "a/b", Why: "HTTP 529", To: "c/d"}),
		"nameless": display.Switched(turn.Switched{Why: "HTTP 529", To: "c/d"}),
		"tooFew":   agentcmd.ShortfallHeadline([]council.Member{{State: council.Answered}, {State: council.Failed}, {State: council.CutOff}}, 2),
	}
}
