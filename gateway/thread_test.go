package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// threads is a provider with Anthropic's message threads: it keeps what was said for five minutes.
type threads struct {
	begun      time.Time
	down       [2]time.Duration // it is overloaded from the one to the other
	retryAfter string           // that it states then
	slow       time.Duration    // between the beginning of an answer and its content

	mu        sync.Mutex
	said      map[string]int // messages, by the id of the answer
	until     map[string]time.Time
	asked     int
	created   int // threads, of which replays begin one
	forgotten int // continued ones
}

// threadRequest is what a provider with threads reads of a request.
type threadRequest struct {
	Messages []any
	Stream   bool
	Thread   struct {
		Type     string
		Previous string `json:"previous_message_id"`
	}
}

const threadNotFound = `{"type":"error","error":{"type":"not_found_error","message":"No thread","details":{"error_code":"thread_not_found"}}}`

// RoundTrip implements http.RoundTripper.
func (p *threads) RoundTrip(req *http.Request) (*http.Response, error) {
	var r threadRequest
	body, _ := io.ReadAll(req.Body)
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	now := time.Now()
	said := len(r.Messages)
	switch since := now.Sub(p.begun); {
	case since >= p.down[0] && since < p.down[1]:
		return says(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "Content-Type", "application/json", "Retry-After", p.retryAfter)(req)
	case r.Thread.Type == "continue" && now.After(p.until[r.Thread.Previous]):
		p.forgotten++
		return says(404, threadNotFound, "Content-Type", "application/json")(req)
	case r.Thread.Type == "continue":
		said += p.said[r.Thread.Previous]
	default:
		p.created++
	}
	id := fmt.Sprintf("msg_%d", p.asked)
	p.said[id], p.until[id] = said+1, now.Add(5*time.Minute)
	if !r.Stream {
		return says(200, fmt.Sprintf(`{"id":"%s","type":"message","role":"assistant","content":[{"type":"text","text":"%d messages"}],"stop_reason":"end_turn"}`, id, said), "Content-Type", "application/json")(req)
	}
	read, write := io.Pipe()
	go func() {
		fmt.Fprintf(write, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"%s\",\"role\":\"assistant\",\"content\":[]}}\n\n", id)
		time.Sleep(p.slow)
		fmt.Fprintf(write, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"+
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%d messages\"}}\n\n"+
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"+
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n"+
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", said)
		_ = write.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: read, Request: req}, nil
}

// threadClient is a conversation as the helper of Anthropic's SDK has it.
type threadClient struct {
	*harness
	streams  bool
	messages []string
	previous string // the answer that the thread continues; "": the next turn begins one
	replays  int
}

// turn takes one turn, and returns why it is lost; "": it is not.
func (c *threadClient) turn() (lost string) {
	c.messages = append(c.messages, `{"role":"user","content":"Hi"}`)
	for {
		thread, messages := `{"type":"create"}`, c.messages
		if c.previous != "" {
			thread, messages = `{"type":"continue","previous_message_id":"`+c.previous+`"}`, messages[len(messages)-1:]
		}
		resp, text, err := c.get("/v1/messages", fmt.Sprintf(`{"model":"claude-sonnet","max_tokens":64,"stream":%v,"thread":%s,"messages":[%s]}`,
			c.streams, thread, strings.Join(messages, ",")))
		_, rest, _ := strings.Cut(text, `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		var e struct {
			Error struct {
				Details struct {
					Code string `json:"error_code"`
				}
			}
		}
		switch {
		case resp.StatusCode == 404 && json.Unmarshal([]byte(text), &e) == nil && e.Error.Details.Code == "thread_not_found" && c.previous != "":
			c.previous = ""
			c.replays++
			continue
		case err != nil || resp.StatusCode != 200 || !strings.Contains(text, "end_turn") || !strings.Contains(text, fmt.Sprintf(`"%d messages"`, len(c.messages))):
			return fmt.Sprintf("status %d, %v, %q", resp.StatusCode, err, text)
		}
		c.previous = id
		c.messages = append(c.messages, `{"role":"assistant","content":"Hello"}`)
		return ""
	}
}

// newThreads returns a gateway before a provider with threads.
func newThreads(t *testing.T, p *threads) *harness {
	p.begun, p.said, p.until = time.Now(), map[string]int{}, map[string]time.Time{}
	return newHarnessOf(t, policy.Patient(), p)
}

// The SDK's helper mends a lost thread only after an answer with a status: each turn survives an outage that is longer
// than a thread lasts, whole or streamed, whenever it comes.
func TestKeepalive_ThreadsOutliveAnOutage(t *testing.T) {
	for _, streams := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := &threads{down: [2]time.Duration{time.Minute, 8 * time.Minute}}
			w := newThreads(t, p)
			var all sync.WaitGroup
			replays := make([]int, 20)
			for i := range replays {
				all.Go(func() {
					c := &threadClient{harness: w, streams: streams}
					time.Sleep(50 * time.Second)
					for turn, wait := range []time.Duration{0, 10*time.Second + time.Duration(i)*20*time.Second, time.Minute} {
						time.Sleep(wait)
						if lost := c.turn(); lost != "" {
							t.Errorf("streamed %v: turn %d of conversation %d is lost: %s", streams, turn, i, lost)
							return
						}
					}
					replays[i] = c.replays
				})
			}
			all.Wait()
			for i, n := range replays {
				if n > 1 || i < 15 && n != 1 {
					t.Errorf("streamed %v: conversation %d sent all %d times, want once", streams, i, n)
				}
			}
		})
	}
}

// A short outage costs no replay, and the provider's own words come with their status.
func TestKeepalive_ThreadsAreContinuedAfterAShortOutage(t *testing.T) {
	for _, tt := range []struct {
		streams bool
		down    time.Duration
		pause   time.Duration // between the turns
		replays int
		asked   int // by the provider to send all
	}{
		{true, 15 * time.Second, 0, 0, 0},
		{false, 15 * time.Second, 0, 0, 0},
		{true, 15 * time.Second, 6 * time.Minute, 1, 1},
		{false, 15 * time.Second, 6 * time.Minute, 1, 1},
		{true, 50 * time.Second, 0, 1, 0},
		{false, 50 * time.Second, 0, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &threads{retryAfter: fmt.Sprint(int(tt.down.Seconds())), down: [2]time.Duration{time.Second + tt.pause, time.Second + tt.pause + tt.down}}
			c := &threadClient{harness: newThreads(t, p), streams: tt.streams}
			first := c.turn()
			time.Sleep(time.Second + tt.pause)
			if second := c.turn(); first+second != "" || c.replays != tt.replays || p.forgotten != tt.asked {
				t.Errorf("%+v: lost %q and %q, all sent %d times, by the provider's word %d", tt, first, second, c.replays, p.forgotten)
			}
		})
	}
}

// An answer that has begun is kept alive: the provider knows the thread.
func TestKeepalive_ThreadWhoseAnswerHasBegunIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &threads{slow: 2 * time.Minute}
		c := &threadClient{harness: newThreads(t, p), streams: true}
		if first, second := c.turn(), c.turn(); first+second != "" || c.replays != 0 || p.asked != 2 {
			t.Errorf("lost %q and %q, all sent %d times, %d requests; want two answers after %v", first, second, c.replays, p.asked, p.slow)
		}
	})
}

// A thread whose provider is silent is given up in time too: what follows could only be an error in a stream.
func TestKeepalive_ThreadOfASilentProviderIsSentWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // as the SDK has
		defer cancel()
		resp, err := w.ask(ctx, "/v1/messages", withMember(claude, `"thread":{"type":"continue","previous_message_id":"msg_1"}`, true))
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		text := string(body)
		const want = `{"type":"error","error":{"type":"not_found_error","message":"ridethrough: the server may have forgotten what the request continues, ` +
			`as its provider does not answer; send the whole conversation","details":{"error_code":"thread_not_found"}}}`
		if took := time.Since(w.begun); err != nil || resp.StatusCode != 404 || text != want || took != 25*time.Second || resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("status %d, headers %v, %q, error %v after %v; want 404 and %q after 25 s", resp.StatusCode, resp.Header, text, err, took, want)
		}
		synctest.Wait()
		if shared, waits, memory, _ := w.gateway.Left(); shared != 0 || waits != 0 || memory != 0 {
			t.Errorf("%d shared requests, %d waits and %d bytes are left", shared, waits, memory)
		}
	})
}
