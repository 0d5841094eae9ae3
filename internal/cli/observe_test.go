package cli_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// observed is what an operator gets of one turn: a scrape before its last answer, and all spans.
type observed struct {
	mu     sync.Mutex
	asked  map[string]int // requests, by model
	scrape func() string
	page   string
	spans  []exportedSpan
}

// provider answers as OpenAI does. The model large is overloaded, small is for one request, and any other is well.
func (o *observed) provider(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	model := regexp.MustCompile(`"model":"(\w+)"`).FindSubmatch(body)
	if model == nil {
		http.NotFound(w, r)
		return
	}
	name := string(model[1])
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[name]++
	if name == "large" || name == "small" && o.asked[name] == 1 {
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	if name == "small" {
		o.page = o.scrape()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	const chunk = `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}` + "\n\n"
	fmt.Fprintf(w, chunk+chunk+"data: [DONE]\n\n", `"role":"assistant","content":"It depends."`, "null", "", `"stop"`)
}

// collect is a receiver of OTLP.
func (o *observed) collect(t *testing.T, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("receive spans: %v", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, resource := range members(body)[1] {
		for _, scope := range members(resource)[2] {
			for _, span := range members(scope)[2] {
				o.spans = append(o.spans, readSpan(span))
			}
		}
	}
}

// exportedSpan is a span as a receiver of OTLP gets it.
type exportedSpan struct {
	id, parent, text string
	began            uint64
}

// members returns the members of a message of Protocol Buffers, those of fixed size in their eight bytes.
func members(message []byte) map[protowire.Number][][]byte {
	all := map[protowire.Number][][]byte{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		message = message[max(n, 0):]
		size := protowire.ConsumeFieldValue(number, kind, message)
		if n < 0 || size < 0 {
			return nil
		}
		value := message[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		all[number], message = append(all[number], value), message[size:]
	}
	return all
}

// readSpan reads a span, of which the text has what every face has in common.
func readSpan(message []byte) exportedSpan {
	m := members(message)
	s := exportedSpan{id: fmt.Sprintf("%x", m[2][0]), text: string(m[5][0])}
	if len(m[4]) > 0 {
		s.parent = fmt.Sprintf("%x", m[4][0])
	}
	s.began, _ = protowire.ConsumeFixed64(m[7][0])
	for _, attribute := range m[9] {
		a := members(attribute)
		switch key := string(a[1][0]); key {
		case "ridethrough.upstream", "ridethrough.retries", "ridethrough.status", "error.type", "http.request.resend_count":
			value := members(a[2][0])
			s.text += " " + strings.TrimPrefix(key, "ridethrough.") + "="
			if text := value[1]; len(text) > 0 {
				s.text += string(text[0])
			} else if number := value[3]; len(number) > 0 {
				n, _ := protowire.ConsumeVarint(number[0])
				s.text += fmt.Sprint(n)
			}
		}
	}
	for _, event := range m[11] {
		s.text += " [" + string(members(event)[2][0]) + "]"
	}
	return s
}

// counted returns what the scrape says of the turn's upstreams, without the face.
func (o *observed) counted(face string) (lines []string) {
	for line := range strings.Lines(o.page) {
		of := regexp.MustCompile(`^ridethrough_(requests|tries|retries|switched|waiting_requests)\S*upstream="(main|spare)"`).MatchString(line)
		if of && strings.Contains(line, `face="`+face+`"`) && !strings.HasSuffix(line, " 0\n") {
			lines = append(lines, strings.Replace(strings.TrimSpace(line), `face="`+face+`",`, "", 1))
		}
	}
	slices.Sort(lines)
	return lines
}

// dump writes the spans below one, a line for each, in the order of their beginnings.
func (o *observed) dump(parent, indent string) (lines []string) {
	slices.SortStableFunc(o.spans, func(a, b exportedSpan) int { return cmp.Compare(a.began, b.began) })
	for _, s := range o.spans {
		if s.parent == parent {
			lines = append(append(lines, indent+s.text), o.dump(s.id, indent+"  ")...)
		}
	}
	return lines
}

const observedConfig = `policy: quick
policies:
  quick: {retries: 1, backoff: [1ms]}
upstreams:
  main: {api: openai, url: %[1]s/v1, fallback: [{to: spare, model: small}]}
  spare: {api: openai, url: %[1]s/v1}
  other: {api: openai, url: %[1]s/v1}
`

// observe runs one turn of a face.
func observe(t *testing.T, play func(t *testing.T, o *observed, env []string)) *observed {
	t.Helper()
	o := &observed{asked: map[string]int{}}
	provider := httptest.NewServer(http.HandlerFunc(o.provider))
	t.Cleanup(provider.Close)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { o.collect(t, r) }))
	t.Cleanup(receiver.Close)
	home := t.TempDir()
	play(t, o, []string{
		"HOME=" + home, "OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "TRACEPARENT=" + traceparent,
		"RIDETHROUGH_CONFIG=" + write(t, home, "config.yaml", fmt.Sprintf(observedConfig, provider.URL)),
	})
	return o
}

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// scraping makes the scrape of a command that serves its metrics at an address, and returns that.
func (o *observed) scraping(t *testing.T) string {
	addr := freeAddr(t)
	o.scrape = func() string {
		status, page := get(t, "http://"+addr+"/-/metrics")
		if status != 200 {
			t.Errorf("scrape %s: %d %s", addr, status, page)
		}
		return page
	}
	return addr
}

func TestTurns_EveryFaceHasTheSameMetricsAndSpans(t *testing.T) {
	t.Parallel()
	faces := map[string]func(t *testing.T, o *observed, env []string){
		"run": func(t *testing.T, o *observed, env []string) {
			if code, out, errs := run(t, env, "run", "--no-save", "-m", "main/large", "--metrics", o.scraping(t), "hello"); code != 0 || out != "It depends.\n" {
				t.Errorf("run: code %d, %s\n%s", code, out, errs)
			}
		},
		"chat": func(t *testing.T, o *observed, env []string) {
			c := chat(t, env, "--plain", "--data", "none", "-m", "main/large", "--metrics", o.scraping(t), "hello")
			c.waitFor(`It depends\.`)
			c.closeAndWait(0)
		},
		"council": func(t *testing.T, o *observed, env []string) {
			code, out, errs := run(t, env, "council", "-m", "main/large", "-m", "other/well", "--judge", "other/judge", "--metrics", o.scraping(t), "hello")
			if code != 0 || out != "It depends.\n" || !strings.Contains(errs, "main/large → spare/small") {
				t.Errorf("council: code %d, %s\n%s", code, out, errs)
			}
		},
		"conversation": func(t *testing.T, o *observed, env []string) {
			s := startIn(t, env, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir())
			url := s.waitForLog(t, "listening")["url"].(string)
			o.scrape = func() string { _, page := get(t, url+"/-/metrics"); return page }
			talk(t, url, traceparent)
			if code := s.stop(); code != 0 {
				t.Errorf("serve: code %d", code)
			}
		},
	}
	wantCounted := []string{
		`ridethrough_requests_total{model="large",upstream="main"} 1`,
		`ridethrough_retries_total{kind="overloaded",model="large",upstream="main"} 1`,
		`ridethrough_retries_total{kind="overloaded",model="small",upstream="spare"} 1`,
		`ridethrough_switched_total{model="small",upstream="spare"} 1`,
		`ridethrough_tries_total{kind="overloaded",model="large",upstream="main"} 2`,
		`ridethrough_tries_total{kind="overloaded",model="small",upstream="spare"} 1`,
		`ridethrough_waiting_requests{upstream="spare"} 1`,
	}
	wantSpans := []string{
		"invoke_agent large upstream=spare retries=2 status=done [retry] [switched] [retry]",
		"  POST upstream=main error.type=overloaded",
		"  POST upstream=main http.request.resend_count=1 error.type=overloaded",
		"  POST upstream=spare error.type=overloaded",
		"  POST upstream=spare http.request.resend_count=1",
	}
	for face, play := range faces {
		t.Run(face, func(t *testing.T) {
			o := observe(t, play)
			if d := diff.Diff(wantCounted, o.counted(face)); d != "" {
				t.Errorf("scrape (-want +got):\n%s\n%s", d, o.page)
			}
			got := o.dump("00f067aa0ba902b7", "")
			want := wantSpans
			if face == "council" {
				want = []string{"council status=done"}
				for _, line := range wantSpans {
					want = append(want, "  "+line)
				}
				want = append(want,
					"  invoke_agent well upstream=other status=done retries=0", "    POST upstream=other",
					"  invoke_agent judge upstream=other status=done retries=0", "    POST upstream=other")
				slices.Sort(want[1:])
				slices.Sort(got[min(1, len(got)):])
			}
			if d := diff.Diff(want, got); d != "" {
				t.Errorf("spans (-want +got):\n%s", d)
			}
		})
	}
}

// talk has one turn in a conversation of a server, to its end.
func talk(t *testing.T, url, traceparent string) {
	t.Helper()
	polled(t, url+"/-/conversations", `"conversations":[`) // the store is open
	if status, text := call(t, "POST", url+"/-/conversations", `{"id":"c1","model":"main/large"}`); status != 201 {
		t.Fatalf("create conversation: %d %s", status, text)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/-/conversations/c1/turns", strings.NewReader(`{"text":"hello"}`))
	req.Header = http.Header{"Traceparent": {traceparent}, "Accept": {"application/x-ndjson"}, "Content-Type": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	defer resp.Body.Close()
	if events, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(events), `"status":"done"`) {
		t.Errorf("turn: %s, error %v", events, err)
	}
}

func TestMetrics_AreForThisMachine(t *testing.T) {
	for _, args := range [][]string{
		{"run", "--no-save", "hello"}, {"chat", "--plain", "--data", "none"}, {"council", "-m", "main/well", "hello"},
	} {
		observe(t, func(t *testing.T, _ *observed, env []string) {
			for addr, says := range map[string]string{"0.0.0.0:0": "want an address of this machine", ":9464": "want an address of this machine", "9464": "with a port"} {
				code, out, errs := run(t, env, append(args, "-m", "main/well", "--metrics", addr)...)
				if code != 2 || out != "" || !strings.Contains(errs, `--metrics "`+addr+`": `) || !strings.Contains(errs, says) {
					t.Errorf("%s --metrics %s: code %d, %s\n%s", args[0], addr, code, errs, out)
				}
			}
		})
	}
	o := observe(t, func(t *testing.T, o *observed, env []string) {
		addr := freeAddr(t)
		o.scrape = func() string {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/-/metrics", nil)
			req.Host = "evil.example"
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			return resp.Status
		}
		run(t, env, "run", "--no-save", "-m", "main/large", "--metrics", addr, "hello")
	})
	if want := "421 Misdirected Request"; o.page != want {
		t.Errorf("scrape under another name: got %q, want %q", o.page, want)
	}
}
