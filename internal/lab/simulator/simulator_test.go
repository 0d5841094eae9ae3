package simulator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

const (
	messages    = "/v1/messages"
	completions = "/v1/chat/completions"
	plain       = `{"model":"m"}`
	streamed    = `{"model":"m","stream":true}`
)

// bubble runs a test against a provider in memory, under virtual time. The
// bubble ends only if nothing is left of the provider.
func bubble(t *testing.T, s simulator.Script, test func(*testing.T, *simulator.Provider)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := simulator.New(s)
		defer func() {
			if err := p.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		test(t, p)
	})
}

// parse reads replies.
func parse(t *testing.T, words string) []simulator.Reply {
	t.Helper()
	replies, err := simulator.Parse(words)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return replies
}

// answer is what a client has got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of the request or of the body
}

// post sends a request and reads all of the answer.
func post(ctx context.Context, client *http.Client, url, body string) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	return do(client, req)
}

func do(client *http.Client, req *http.Request) answer {
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

// ask posts to a provider in memory.
func ask(t *testing.T, p *simulator.Provider, path, body string) answer {
	t.Helper()
	return post(t.Context(), p.Client(), "http://simulator"+path, body)
}

// outcomes returns the record in short words.
func outcomes(p *simulator.Provider) string {
	var words []string
	for _, q := range p.Requests() {
		words = append(words, q.Outcome)
	}
	return strings.Join(words, " ")
}

func TestScript_RepliesInOrderThenHealthy(t *testing.T) {
	replies := parse(t, "529, 429;retry-after=7, 503;body=gone, ok")
	bubble(t, simulator.Script{Replies: replies}, func(t *testing.T, p *simulator.Provider) {
		for i, want := range []int{529, 429, 503, 200, 200} {
			got := ask(t, p, messages, plain)
			if got.err != nil || got.status != want {
				t.Errorf("request %d: status %d, %v, want %d", i+1, got.status, got.err, want)
			}
			if i == 1 && got.header.Get("Retry-After") != "7" {
				t.Errorf("the 429 says %q, want to wait 7", got.header.Get("Retry-After"))
			}
			if i == 2 && got.body != "gone" {
				t.Errorf("the 503 says %q", got.body)
			}
		}
		if got := outcomes(p); got != "529 429 503 ok ok" {
			t.Errorf("record: %s", got)
		}
	})
}

func TestScript_ThenFollowsReplies(t *testing.T) {
	script := simulator.Script{Replies: parse(t, "ok"), Then: simulator.Status{Code: 500}}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		for range 3 {
			ask(t, p, completions, plain)
		}
		if got := outcomes(p); got != "ok 500 500" {
			t.Errorf("record: %s", got)
		}
	})
}

func TestScript_RefusalUsesUpAReply(t *testing.T) {
	script := simulator.Script{Replies: parse(t, "refused, ok, refused*2, 529")}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		for i, want := range []int{0, 200, 0, 0, 529, 200} {
			got := ask(t, p, messages, streamed)
			if got.status != want {
				t.Errorf("request %d: status %d, want %d", i+1, got.status, want)
			}
			if want == 0 && !errors.Is(got.err, syscall.ECONNREFUSED) {
				t.Errorf("request %d: %v, want connection refused", i+1, got.err)
			}
		}
		if got := outcomes(p); got != "refused ok refused refused 529 ok" {
			t.Errorf("record: %s", got)
		}
	})
}

func TestOutage_FromIncludedToExcluded(t *testing.T) {
	outages := []simulator.Outage{{From: 5 * time.Second, To: 25 * time.Second}, {From: time.Hour, Reply: simulator.Reset}}
	script := simulator.Script{Outages: outages, Replies: parse(t, "ok, 401")}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		begin := time.Now()
		for _, step := range []struct {
			at   time.Duration
			want int
		}{
			{0, 200},
			{5 * time.Second, 529},
			{25*time.Second - 1, 529},
			{25 * time.Second, 401}, // the outage has not used it up
			{time.Hour - 1, 200},
			{time.Hour, 0},
			{1000 * time.Hour, 0},
		} {
			time.Sleep(step.at - time.Since(begin))
			if got := ask(t, p, messages, plain); got.status != step.want {
				t.Errorf("at %v: status %d, %v, want %d", step.at, got.status, got.err, step.want)
			}
		}
	})
}

func TestOutage_RefusalClosesIdleConnections(t *testing.T) {
	script := simulator.Script{Outages: []simulator.Outage{{From: time.Second, To: time.Minute, Reply: simulator.Refuse}}}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		if got := ask(t, p, completions, plain); got.status != 200 {
			t.Fatalf("before: %+v", got)
		}
		time.Sleep(time.Second)
		if got := ask(t, p, completions, plain); got.err == nil || errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Errorf("on the idle connection: %+v, want it closed", got)
		}
		for range 2 {
			if got := ask(t, p, completions, plain); !errors.Is(got.err, syscall.ECONNREFUSED) {
				t.Errorf("on a new connection: %+v, want it refused", got)
			}
		}
		time.Sleep(time.Minute)
		if got := ask(t, p, completions, plain); got.status != 200 {
			t.Errorf("after: %+v", got)
		}
		if got := outcomes(p); got != "ok refused refused refused ok" {
			t.Errorf("record: %s", got)
		}
	})
}

func TestStart_RestartsOutages(t *testing.T) {
	script := simulator.Script{Outages: []simulator.Outage{{To: time.Minute, Reply: simulator.Status{Code: 503}}}}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		time.Sleep(time.Minute)
		before := ask(t, p, messages, plain)
		p.Start()
		after := ask(t, p, messages, plain)
		if before.status != 200 || after.status != 503 {
			t.Errorf("status %d, then %d, want 200 and 503", before.status, after.status)
		}
		if at := p.Requests()[1].At; at != 0 {
			t.Errorf("the second request came at %v of the new clock", at)
		}
	})
}

func TestSilence_EndsInAnAnswer(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "silence:1h")}, func(t *testing.T, p *simulator.Provider) {
		begin := time.Now()
		got := ask(t, p, messages, streamed)
		if got.err != nil || !strings.Contains(got.body, "message_stop") {
			t.Errorf("answer: %+v", got)
		}
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("it took %v", took)
		}
	})
}

func TestStall_SendsTheHeadersAtOnceAndTheAnswerLater(t *testing.T) {
	for _, body := range []string{streamed, plain} {
		bubble(t, simulator.Script{Replies: parse(t, "stall:1h")}, func(t *testing.T, p *simulator.Provider) {
			begin := time.Now()
			resp, err := p.Client().Post("http://simulator"+messages, "application/json", strings.NewReader(body))
			if err != nil || resp.StatusCode != 200 || time.Since(begin) != 0 {
				t.Fatalf("%s: the headers came after %v: %v %v, want at once", body, time.Since(begin), resp, err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || !strings.Contains(string(text), "end_turn") || time.Since(begin) != time.Hour {
				t.Errorf("%s: %q, error %v, after %v; want an answer after an hour", body, text, err, time.Since(begin))
			}
		})
	}
}

func TestProvider_ClientLeavingEndsSilenceAndDrip(t *testing.T) {
	for _, words := range []string{"silence", "silence:9h", "stall", "drip:1h"} {
		bubble(t, simulator.Script{Replies: parse(t, words)}, func(t *testing.T, p *simulator.Provider) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			got := post(ctx, p.Client(), "http://simulator"+completions, streamed)
			if !errors.Is(got.err, context.DeadlineExceeded) {
				t.Errorf("reply %s: got error %v, want %v", words, got.err, context.DeadlineExceeded)
			}
			if err := p.Close(); err != nil || time.Since(begin) != time.Minute {
				t.Errorf("%s: closed after %v, %v", words, time.Since(begin), err)
			}
		})
	}
}

func TestClose_EndsAnswersInProgress(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.Silence{}}, func(t *testing.T, p *simulator.Provider) {
		var clients sync.WaitGroup
		for range 5 {
			clients.Go(func() {
				if got := ask(t, p, messages, plain); got.err == nil {
					t.Errorf("answer from a provider that says nothing: %+v", got)
				}
			})
		}
		synctest.Wait()
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		clients.Wait()
		if got := ask(t, p, messages, plain); !errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Errorf("after Close: %v, want connection refused", got.err)
		}
	})
}

func TestLimit_HeadersStateTheNextWindow(t *testing.T) {
	script := simulator.Script{Limit: simulator.Limit{N: 2, Every: time.Minute}, Replies: parse(t, "ok*2, 500")}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		time.Sleep(9500 * time.Millisecond)
		for _, want := range []struct {
			status               int
			left, reset, advised string
		}{
			{200, "1", "50.5s", ""},
			{200, "0", "50.5s", ""},
			{429, "0", "50.5s", "51"},
		} {
			got := ask(t, p, completions, plain)
			h := got.header
			if got.status != want.status || h.Get("x-ratelimit-limit-requests") != "2" ||
				h.Get("x-ratelimit-remaining-requests") != want.left ||
				h.Get("x-ratelimit-reset-requests") != want.reset || h.Get("Retry-After") != want.advised {
				t.Errorf("got %d %v, want %+v", got.status, h, want)
			}
		}
		limited := ask(t, p, messages, plain)
		reset, err := time.Parse(time.RFC3339, limited.header.Get("anthropic-ratelimit-requests-reset"))
		if err != nil || !reset.Equal(time.Now().Add(50500*time.Millisecond)) {
			t.Errorf("the window opens at %v, %v", reset, err)
		}
		time.Sleep(51 * time.Second)
		if got := ask(t, p, completions, plain); got.status != 500 {
			t.Errorf("in the next window: %d, want the third reply", got.status)
		}
	})
}

func TestScript_PaceDelaysStreamsOnly(t *testing.T) {
	script := simulator.Script{Answer: "one two three", Pace: time.Second}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		for body, want := range map[string]time.Duration{streamed: 3 * time.Second, plain: 0} {
			begin := time.Now()
			ask(t, p, messages, body)
			if took := time.Since(begin); took != want {
				t.Errorf("%s took %v, want %v", body, took, want)
			}
		}
	})
}

func TestDrip_IsSlowAndComplete(t *testing.T) {
	script := simulator.Script{Answer: "one two three", Then: simulator.Drip{Every: time.Minute}}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		for body, want := range map[string]time.Duration{streamed: 3 * time.Minute, plain: 8 * time.Minute} {
			begin := time.Now()
			got := ask(t, p, completions, body)
			if took := time.Since(begin); got.err != nil || took != want {
				t.Errorf("%s took %v, want %v: %+v", body, took, want, got)
			}
		}
	})
}

func TestScript_MalformedRequestUsesNoReply(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "529")}, func(t *testing.T, p *simulator.Provider) {
		ask(t, p, messages, `{`)
		ask(t, p, completions, `{"stream":true}`)
		ask(t, p, "/v1/elsewhere", plain)
		ask(t, p, "/v1/messages/count_tokens", plain)
		ask(t, p, messages, plain)
		if got := outcomes(p); got != "400 400 404 ok 529" {
			t.Errorf("record: %s", got)
		}
	})
}

func TestRequests_ReturnsReceivedRequests(t *testing.T) {
	var watched []string
	script := simulator.Script{OnRequest: func(q simulator.Request) { watched = append(watched, q.Outcome) }}
	script.Replies = parse(t, "refused")
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		long := `{"model":"` + strings.Repeat("m", 2<<20) + `"}`
		ask(t, p, messages, plain)
		time.Sleep(time.Second)
		ask(t, p, messages, plain)
		ask(t, p, completions, long)
		all := p.Requests()
		if len(all) != 3 || all[0].Method != "" {
			t.Fatalf("record: %+v", all)
		}
		q := all[1]
		if q.At != time.Second || q.Method != "POST" || q.Path != messages || string(q.Body) != plain || q.Header.Get("User-Agent") == "" {
			t.Errorf("kept %+v", q)
		}
		if len(all[2].Body) != 1<<20 {
			t.Errorf("kept %d bytes of a long body", len(all[2].Body))
		}
		if got := strings.Join(watched, " "); got != "refused ok ok" {
			t.Errorf("watched %s", got)
		}
	})
}

func TestRequests_IsBounded(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.Refuse}, func(t *testing.T, p *simulator.Provider) {
		for range 10_001 {
			ask(t, p, messages, plain)
		}
		if got := len(p.Requests()); got != 10_000 {
			t.Errorf("%d requests kept", got)
		}
	})
}

func TestProvider_TooLargeRequestGets413(t *testing.T) {
	bubble(t, simulator.Script{}, func(t *testing.T, p *simulator.Provider) {
		got := ask(t, p, messages, strings.Repeat(" ", 33<<20))
		if got.err != nil || got.status != 413 || !strings.Contains(got.body, "request_too_large") {
			t.Errorf("got %+v", got)
		}
		if outcomes(p) != "413" {
			t.Errorf("record: %s", outcomes(p))
		}
	})
}

func TestScript_ConcurrentClientsUseEachReplyOnce(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "529*20, 503*20, reset*10")}, func(t *testing.T, p *simulator.Provider) {
		var clients sync.WaitGroup
		for range 100 {
			clients.Go(func() { ask(t, p, messages, streamed) })
		}
		clients.Wait()
		count := map[string]int{}
		for _, q := range p.Requests() {
			count[q.Outcome]++
		}
		if count["529"] != 20 || count["503"] != 20 || count["reset"] != 10 || count["ok"] != 50 {
			t.Errorf("outcomes %v", count)
		}
	})
}
