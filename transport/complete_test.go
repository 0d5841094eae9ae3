package transport_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// sixty is an answer of sixty words.
var sixty = strings.TrimSpace(strings.Repeat("The quick brown fox jumps over the lazy dog, once more: ", 2) + strings.Join(words(38), " "))

func words(n int) (all []string) {
	for i := range n {
		all = append(all, string(rune('a'+i%26))+strings.Repeat(string(rune('a'+i%7)), i/7))
	}
	return all
}

// completingRequests has a request for a streamed answer of each API that can be continued.
var completingRequests = map[string]string{
	"/v1/messages":         `{"model":"claude-opus-4-6","max_tokens":900,"stream":true,"messages":[{"role":"user","content":"Go"}]}`,
	"/v1/chat/completions": `{"model":"m","stream":true,"messages":[{"role":"user","content":"Go"}]}`,
	"/v1/responses":        `{"model":"m","store":false,"stream":true,"input":"Go"}`,
	"/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse": `{"contents":[{"role":"user","parts":[{"text":"Go"}]}]}`,
	"/api/chat": `{"model":"m","messages":[{"role":"user","content":"Go"}]}`,
}

// completed sends a request through a transport that completes texts, and returns the words of the answer.
func completed(t *testing.T, p *simulator.Provider, path, body string, piecemeal bool) (said string, took time.Duration, err error) {
	t.Helper()
	tr := &transport.Transport{
		Base: p.Transport(), Retry: retry.Retrier{Policy: policy.Patient()}, CompleteText: true,
		Limits: transport.Limits{Idle: time.Minute},
	}
	began := time.Now()
	resp, err := (&http.Client{Transport: tr}).Post("http://api.test"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	src := io.Reader(resp.Body)
	if piecemeal {
		src = iotest.OneByteReader(src)
	}
	all, err := io.ReadAll(src)
	if w := resp.Body.(transport.Watched); err == nil && w.Whole() != (w.Failure() == nil) {
		t.Errorf("%s: whole %t with the failure %v", path, w.Whole(), w.Failure())
	}
	return saidIn(string(all)), time.Since(began), err
}

// saidIn returns the words that a stream's deltas have.
func saidIn(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		if strings.Contains(line, ".done\"") || strings.Contains(line, "response.completed") {
			continue // of Responses, which repeat it
		}
		for _, key := range []string{`"text":"`, `"content":"`, `"delta":"`} {
			for _, part := range strings.Split(line, key)[1:] {
				text, _, _ := strings.Cut(part, `"`)
				b.WriteString(text)
			}
		}
	}
	return b.String()
}

// TestTransport_CompletesText lets answers break off in each way, and be answered after an hour of refusals.
func TestTransport_CompletesText(t *testing.T) {
	for path, body := range completingRequests {
		for _, end := range []string{"cut:40", "cut:40:clean", "cut:40:error", "cut:40:silent"} {
			for _, between := range []string{"", ", 529*9"} {
				for _, piecemeal := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						replies, err := simulator.Parse(end + between)
						if err != nil {
							t.Fatalf("Parse: %v", err)
						}
						p := simulator.New(simulator.Script{Replies: replies, Answer: sixty})
						defer func() { _ = p.Close() }()
						said, took, err := completed(t, p, path, body, piecemeal)
						if said != sixty || err != nil {
							t.Errorf("%s, %s%s: got %q and %v, want %q", path, end, between, said, err, sixty)
						}
						if between != "" && took < time.Hour {
							t.Errorf("%s, %s%s: took %v, want the waits of the policy", path, end, between, took)
						}
					})
				}
			}
		}
	}
}

// TestTransport_TextWithoutASeamEndsAsEver has models that do not continue, and refusals that stay.
func TestTransport_TextWithoutASeamEndsAsEver(t *testing.T) {
	for path, body := range completingRequests {
		for _, second := range []string{"continue:decline", "continue:paraphrase", "400", "cut:0", "401"} {
			synctest.Test(t, func(t *testing.T) {
				replies, _ := simulator.Parse("cut:40, " + second)
				p := simulator.New(simulator.Script{Replies: replies, Then: simulator.Status{Code: 403}, Answer: sixty})
				defer func() { _ = p.Close() }()
				said, _, err := completed(t, p, path, body, false)
				f, ok := errors.AsType[*fault.Error](err)
				if !ok || f.Kind != fault.Truncated || !strings.HasPrefix(sixty, said) || len(said) < 150 {
					t.Errorf("%s, %s: got %q and %v, want 40 words and the fault of the answer", path, second, said, err)
				}
			})
		}
	}
}

// TestTransport_ErrorEventStaysWithoutASeam has the provider's own error come through where nothing continues
// the answer.
func TestTransport_ErrorEventStaysWithoutASeam(t *testing.T) {
	for path, body := range completingRequests {
		synctest.Test(t, func(t *testing.T) {
			read := func(complete bool) string {
				replies, _ := simulator.Parse("cut:40:error, continue:decline")
				p := simulator.New(simulator.Script{Replies: replies, Answer: sixty})
				defer func() { _ = p.Close() }()
				tr := &transport.Transport{Base: p.Transport(), Retry: retry.Retrier{Policy: policy.Patient()}, CompleteText: complete}
				resp, err := (&http.Client{Transport: tr}).Post("http://api.test"+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				defer resp.Body.Close()
				all, err := io.ReadAll(resp.Body)
				if f := resp.Body.(transport.Watched).Failure(); err != nil || f == nil {
					t.Errorf("%s: got %v and the failure %v, want a clean end and that of the event", path, err, f)
				}
				return string(all)
			}
			if got, want := len(read(true)), len(read(false)); got != want {
				t.Errorf("%s: got %d bytes, want the %d that come without CompleteText", path, got, want)
			}
		})
	}
}

// TestTransport_CloseEndsTheWaitForTheRest closes a body while its rest is waited for.
func TestTransport_CloseEndsTheWaitForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies, _ := simulator.Parse("cut:40")
		p := simulator.New(simulator.Script{Replies: replies, Then: simulator.Status{Code: 529}, Answer: sixty})
		defer func() { _ = p.Close() }()
		tr := &transport.Transport{Base: p.Transport(), Retry: retry.Retrier{Policy: policy.Patient()}, CompleteText: true}
		resp, err := (&http.Client{Transport: tr}).Post("http://api.test/v1/messages", "application/json", strings.NewReader(completingRequests["/v1/messages"]))
		if err != nil {
			t.Fatalf("POST: %v", err)
		}
		began := time.Now()
		time.AfterFunc(10*time.Minute, func() { _ = resp.Body.Close() })
		if _, err = io.ReadAll(resp.Body); err == nil || time.Since(began) != 10*time.Minute {
			t.Errorf("got %v after %v, want an error after 10 minutes", err, time.Since(began))
		}
	})
}

// TestTransport_SignedRequestIsNotContinued has a request whose signature would not hold for another body.
func TestTransport_SignedRequestIsNotContinued(t *testing.T) {
	for authorization, want := range map[string]int{"Bearer key": 2, "AWS4-HMAC-SHA256 Credential=a": 1} {
		synctest.Test(t, func(t *testing.T) {
			replies, _ := simulator.Parse("cut:40")
			p := simulator.New(simulator.Script{Replies: replies, Answer: sixty})
			defer func() { _ = p.Close() }()
			tr := &transport.Transport{Base: p.Transport(), Retry: retry.Retrier{Policy: policy.Patient()}, CompleteText: true}
			req, _ := http.NewRequest("POST", "http://api.test/v1/messages", strings.NewReader(completingRequests["/v1/messages"]))
			req.Header.Set("Authorization", authorization)
			resp, err := (&http.Client{Transport: tr}).Do(req)
			if err != nil {
				t.Fatalf("POST: %v", err)
			}
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if n := len(p.Requests()); n != want || (err == nil) != (want == 2) {
				t.Errorf("%s: %d requests and %v, want %d", authorization, n, err, want)
			}
		})
	}
}
