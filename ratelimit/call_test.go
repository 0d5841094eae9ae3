package ratelimit_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/ratelimit"
)

// load sends a given number of requests of several flows, at a steady pace, and waits for the answers.
func load(t *testing.T, table *ratelimit.Table, p *provider, n, flows int, each time.Duration, tokens float64) (answered map[string][]time.Time) {
	t.Helper()
	answered = map[string][]time.Time{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		flow := fmt.Sprint("session ", i%flows)
		all.Go(func() {
			ask(t.Context(), table, p, flow, tokens)
			mu.Lock()
			defer mu.Unlock()
			answered[flow] = append(answered[flow], time.Now())
		})
		time.Sleep(each)
	}
	all.Wait()
	return answered
}

// jain is the index of fairness by R. Jain: 1 is all alike.
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum, squares = sum+s, squares+s*s
	}
	return sum * sum / (float64(len(shares)) * squares)
}

func TestAcquire_StaysBelowTheLimits(t *testing.T) {
	for _, tt := range []struct {
		name             string
		requests, tokens float64
		latency          time.Duration
		late             bool
		cost             float64
	}{
		{"requests", 60, 1e9, 50 * time.Millisecond, false, 10},
		{"tokens", 1e6, 60000, 50 * time.Millisecond, false, 1000},
		{"slow answers", 60, 1e9, 15 * time.Second, false, 10},
		{"slow answers that state late", 60, 1e9, 15 * time.Second, true, 10},
		{"slow answers of tokens", 1e6, 60000, 15 * time.Second, false, 1000},
		{"few requests", 5, 1e9, time.Second, false, 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			var table ratelimit.Table
			p := &provider{requests: account{limit: tt.requests}, tokens: account{limit: tt.tokens}, latency: tt.latency, late: tt.late}
			perMinute := min(tt.requests, tt.tokens/tt.cost)
			n := int(8 * perMinute)
			begun := time.Now()
			answered := load(t, &table, p, n, 10, time.Duration(float64(time.Minute)/perMinute/3), tt.cost)
			took := time.Since(begun)
			if len(p.refused) != 0 || p.answered != n {
				t.Errorf("%s: %d refused, %d of %d answered; want 0 and all: %v", tt.name, len(p.refused), p.answered, n, p.refused)
			}
			if used := float64(n) / (perMinute * (1 + took.Minutes())); used < 0.9 {
				t.Errorf("%s: took %v, %.0f %% of the limit; want at least 90 %%", tt.name, took, 100*used)
			}
			if tt.name == "few requests" {
				return
			}
			// halfway through, each session has had its share
			shares := []float64{}
			for _, at := range answered {
				shares = append(shares, float64(len(slices.DeleteFunc(at, func(x time.Time) bool { return x.Sub(begun) > took/2 }))))
			}
			if j := jain(shares); j < 0.95 {
				t.Errorf("%s: Jain's index %.3f of %v, want at least 0.95", tt.name, j, shares)
			}
		})
	}
}

// A window that comes back all at once is known by its resets, before it is spent if its answers come soon enough. What
// is sent as it comes back is not refused, though the provider rounds its resets down and the first answers of the next
// window take their time.
func TestAcquire_LearnsFixedWindows(t *testing.T) {
	const name = "X-Ratelimit-Reset-Requests"
	down := func(h http.Header) {
		if d, err := time.ParseDuration(h.Get(name)); err == nil {
			h.Set(name, d.Truncate(100*time.Millisecond).String())
		}
	}
	for _, tt := range []struct {
		name    string
		latency time.Duration
		late    bool
		state   func(http.Header)
		refused int
	}{
		{"quick answers", 100 * time.Millisecond, false, nil, 0},
		{"slow answers", 6 * time.Second, false, nil, 10},
		{"slow answers that state late", 6 * time.Second, true, nil, 10},
		{"resets that are rounded down", 330 * time.Millisecond, false, down, 0},
		{"no resets", 100 * time.Millisecond, false, func(h http.Header) { h.Del(name) }, 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			var table ratelimit.Table
			p := &provider{requests: account{limit: 60, fixed: true}, tokens: account{limit: 1e9}, latency: tt.latency, late: tt.late, state: tt.state}
			begun := time.Now()
			load(t, &table, p, 500, 50, time.Second/3, 10)
			if len(p.refused) > tt.refused || p.answered != 500 {
				t.Errorf("%s: %d refused, %d answered; want at most %d, and 500: %v", tt.name, len(p.refused), p.answered, tt.refused, p.refused)
			}
			late := slices.DeleteFunc(slices.Clone(p.refused), func(at time.Time) bool { return at.Before(begun.Add(3 * time.Minute)) })
			if len(late) != 0 {
				t.Errorf("%s: %d refused after three windows, want 0: %v", tt.name, len(late), p.refused)
			}
			if took := time.Since(begun); took > 11*time.Minute {
				t.Errorf("%s: 500 requests at 60 a minute took %v, want at most 11m", tt.name, took)
			}
		})
	}
}

// Where nothing is stated, a limit is learned from refusals.
func TestAcquire_LearnsFromRefusals(t *testing.T) {
	refused := func(learns bool) (n int, took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			p := &provider{requests: account{limit: 60}, tokens: account{limit: 1e9}, latency: 100 * time.Millisecond, state: func(h http.Header) { clear(h) }}
			var table ratelimit.Table
			var all sync.WaitGroup
			begun := time.Now()
			for i := range 600 {
				all.Go(func() {
					of := &table
					if !learns {
						of = new(ratelimit.Table)
					}
					ask(t.Context(), of, p, fmt.Sprint("session ", i%5), 10)
				})
				time.Sleep(time.Second / 3)
			}
			all.Wait()
			n, took = len(p.refused), time.Since(begun)
		})
		return n, took
	}
	without, _ := refused(false)
	with, took := refused(true)
	if with > without/30 || took > 12*time.Minute {
		t.Errorf("%d refused, %d without learning, in %v; want at most a thirtieth, most of it in the first minute, and at most 12 min for 10", with, without, took)
	}
}

// Whatever the headers say, something goes at least once a minute, and traffic that they contradict is not held
// back for long.
func TestAcquire_WrongHeadersStopNothing(t *testing.T) {
	set := func(limit, remaining, reset string) func(http.Header) {
		return func(h http.Header) {
			h.Set("x-ratelimit-limit-requests", limit)
			h.Set("x-ratelimit-remaining-requests", remaining)
			h.Set("x-ratelimit-reset-requests", reset)
		}
	}
	turn, left, fixed := 0, 0, time.Time{}
	for name, state := range map[string]func(http.Header){
		"0":               set("0", "0", "1s"),
		"negative":        set("-5", "-5", "-1s"),
		"none left":       set("1000", "0", "1s"),
		"none left, late": set("1000", "0", "60s"),
		"never":           set("1000", "0", "999999h"),
		"one a minute":    set("1", "0", "60s"),
		"absurd":          set("1e300", "1e299", "1e300"),
		"missing":         func(h http.Header) { clear(h) },
		"contradicting": func(h http.Header) {
			if turn++; turn%2 == 0 {
				set("1", "0", "60s")(h)
			}
		},
		"words":     set("many", "few", "soon"),
		"one reset": func(h http.Header) { set("100", "50", fixed.Format(time.RFC3339))(h) },
		"one reset, less left": func(h http.Header) {
			left--
			set("1000", strconv.Itoa(left), fixed.Format(time.RFC3339))(h)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var table ratelimit.Table
			p := &provider{requests: account{limit: 1e6}, tokens: account{limit: 1e9}, latency: 100 * time.Millisecond}
			load(t, &table, p, 120, 4, time.Second, 10) // which the provider answers, as it states rightly
			p.state, fixed, left = state, time.Now().Add(50*time.Second), 200
			begun := time.Now()
			answered := load(t, &table, p, 300, 4, time.Second, 10)
			took := time.Since(begun)
			if took > 8*time.Minute {
				t.Errorf("%s: took %v, want about 5 min", name, took)
			}
			all := []time.Time{begun}
			for _, at := range answered {
				all = append(all, at...)
			}
			slices.SortFunc(all, time.Time.Compare)
			for i := range all[1:] {
				if gap := all[i+1].Sub(all[i]); gap > time.Minute+time.Second {
					t.Errorf("%s: nothing went for %v, want at most a minute", name, gap)
				}
			}
		})
	}
}

// A person among agents goes first, within two seconds.
func TestAcquire_PeopleGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		p := &provider{requests: account{limit: 1e6}, tokens: account{limit: 450000}, latency: 2 * time.Second}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
		defer stop()
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				for ctx.Err() == nil {
					ask(ctx, &table, p, fmt.Sprint("agent ", i), 12000)
				}
			})
		}
		var waits []time.Duration
		for ctx.Err() == nil {
			time.Sleep(20 * time.Second)
			waits = append(waits, ask(ctx, &table, p, "person", 8000))
		}
		all.Wait()
		slices.Sort(waits)
		if p95 := waits[len(waits)*95/100]; p95 > 2*time.Second || len(waits) < 40 {
			t.Errorf("of %d waits the 95th percentile is %v, want at most 2 s: %v", len(waits), p95, waits)
		}
		if used := float64(p.answered) * 12000 / (450000 * 21); used < 0.95 {
			t.Errorf("%.0f %% of the limit used, want at least 95 %%", 100*used)
		}
		// How many of the first two rounds are refused depends on their order; each agent is at most once.
		if n := len(p.refused); n > 40 || p.refused[n-1].Sub(p.refused[0]) > 2*time.Second {
			t.Errorf("%d refused, want some of the first 40 and none once the limit is known: %v", n, p.refused)
		}
	})
}

func TestAcquire_SmallGoBeforeLargeWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		p := &provider{requests: account{limit: 1e6}, tokens: account{limit: 60000}, latency: time.Millisecond}
		ask(t.Context(), &table, p, "first", 58000)
		var order []string
		var mu sync.Mutex
		var all sync.WaitGroup
		send := func(name string, tokens float64) {
			all.Go(func() {
				ask(t.Context(), &table, p, name, tokens)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			synctest.Wait()
		}
		send("large", 50000)
		for i := range 20 {
			send(fmt.Sprint("small ", i), 1000)
		}
		all.Wait()
		if at := slices.Index(order, "large"); at != 8 {
			t.Errorf("the large one was number %d, want 8: %v", at, order)
		}
	})
}

func TestAcquire_FirstInFirstOutInAFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		table.Observe(&ratelimit.Call{Key: key}, 200, headers("x-ratelimit-limit-requests", "30", "x-ratelimit-remaining-requests", "0"))
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				_ = table.Acquire(t.Context(), &ratelimit.Call{Key: key, Request: &request{flow: "s", bytes: int64(10 - i)}})
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i) // one each two seconds
			})
			synctest.Wait()
		}
		all.Wait()
		if !slices.IsSorted(order) {
			t.Errorf("order %v, want as they came", order)
		}
	})
}

func TestCall_SaysWhyItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		stated := headers("x-ratelimit-limit-tokens", "450000", "x-ratelimit-remaining-tokens", "49000", "x-ratelimit-reset-tokens", "53s")
		table.Observe(&ratelimit.Call{Key: key}, 200, stated)
		var calls []*ratelimit.Call
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		said := ""
		for i := range 4 {
			c := &ratelimit.Call{Key: key, Request: &request{flow: fmt.Sprint(i), bytes: 160000, waited: func(p ratelimit.Place) { said = p.String() }}}
			calls = append(calls, c)
			all.Go(func() { _ = table.Acquire(ctx, c) })
			synctest.Wait()
		}
		if want := "3 ahead, 49k of 450k tokens/min left, about 17 s"; said != want {
			t.Errorf("it says %q, want %q", said, want)
		}
		time.Sleep(5 * time.Second)
		if p, ok := table.Place(calls[3]); !ok || p.Ahead >= 3 || p.In > 12*time.Second {
			t.Errorf("5 s later: %v, %v; want fewer ahead and less time", p, ok)
		}
		if !table.Now(calls[3]) || table.Now(calls[3]) {
			t.Error("Now: want true, and false when it does not wait any more")
		}
		leave()
		all.Wait()
		if _, ok := table.Place(calls[2]); ok {
			t.Error("a call whose context has ended waits")
		}
	})
}

func TestPlace_String(t *testing.T) {
	for want, p := range map[string]ratelimit.Place{
		"3 ahead, 40k of 450k tokens/min left, about 12 s": {Ahead: 3, In: 11500 * time.Millisecond, Limit: ratelimit.Limit{Unit: ratelimit.Tokens, Limit: 450000, Remaining: 40999}},
		"0 of 50 requests/min left, about 1 s":             {In: time.Millisecond, Limit: ratelimit.Limit{Unit: ratelimit.Requests, Limit: 50, Remaining: 0.9}},
		"1.2M of 2M input tokens/min left, about 0 s":      {Limit: ratelimit.Limit{Unit: ratelimit.InputTokens, Limit: 2e6, Remaining: 1.25e6, Window: time.Minute}},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A provider may charge what an answer has, and not the longest that its request asks for. That shows after some
// answers, and then several go at a time.
func TestAcquire_LearnsWhetherTheLongestAnswerCounts(t *testing.T) {
	for _, counts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var table ratelimit.Table
			p := &provider{requests: account{limit: 1e6}, tokens: account{limit: 100000}, latency: 5 * time.Second}
			cost := 1000.0
			if counts {
				cost = 61000
			}
			for range 5 {
				time.Sleep(time.Minute)
				send(t.Context(), &table, p, &request{flow: "s", bytes: 4000, max: 60000}, cost)
			}
			time.Sleep(time.Minute)
			begun := time.Now()
			var all sync.WaitGroup
			for i := range 5 {
				all.Go(func() { send(t.Context(), &table, p, &request{flow: fmt.Sprint(i), bytes: 4000, max: 60000}, cost) })
			}
			all.Wait()
			took := time.Since(begun)
			if len(p.refused) != 0 || counts != (took > time.Minute) {
				t.Errorf("the longest answer counts %v: five requests took %v, %d refused; want more than a minute if it does, else less, and 0", counts, took, len(p.refused))
			}
		})
	}
}

// Reserved room is for requests that go first.
func TestAcquire_ReservesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		stated := headers("x-ratelimit-limit-requests", "100", "x-ratelimit-remaining-requests", "100")
		table.Observe(&ratelimit.Call{Key: key}, 200, stated)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		went := map[bool]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 200 {
			agent := i < 100
			all.Go(func() {
				c := &ratelimit.Call{Key: key, Reserve: 0.2, Request: &request{flow: fmt.Sprint(i), agent: agent, bytes: 4}}
				if table.Acquire(ctx, c) == nil {
					mu.Lock()
					defer mu.Unlock()
					went[agent]++
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if went[true] < 76 || went[true] > 80 || went[false] < 18 || went[false] > 22 {
			t.Errorf("%d of agents and %d of people went, want about 78 and 20", went[true], went[false])
		}
	})
}

func TestCharged_ScanReadsTheAPIs(t *testing.T) {
	for name, tt := range map[string]struct {
		parts []string
		want  ratelimit.Charged
	}{
		"Anthropic": {[]string{
			`data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":100},"cache_read_input_tokens":9000,"output_tokens":1}}}`,
			`data: {"type":"content_block_delta","delta":{"text":"my \"usage\":{\"input_tokens\":7}"}}`,
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":150}}`,
		}, ratelimit.Charged{Input: 125, Written: 100, Cached: 9000, Output: 150}},
		"Anthropic, with all of it at the end": {[]string{
			`{"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":9000,"output_tokens":1}}`,
			`{"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":9000,"output_tokens":150}}`,
		}, ratelimit.Charged{Input: 125, Written: 100, Cached: 9000, Output: 150}},
		"Anthropic, kept for an hour": {[]string{
			`{"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":9000,"cache_creation":{"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60},"output_tokens":1}}`,
			`{"usage":{"cache_creation_input_tokens":100,"output_tokens":150}}`,
		}, ratelimit.Charged{Input: 125, Written: 100, Hour: 60, Cached: 9000, Output: 150}},
		"OpenAI": {[]string{
			`data: {"choices":[],"usage":null}`,
			`data: {"choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":7}}}`,
		}, ratelimit.Charged{Input: 19, Output: 10}},
		"Responses": {[]string{
			`data: {"type":"response.completed","response":{"usage": {"input_tokens": 36, "input_tokens_details":{"cached_tokens":0},"output_tokens":87,"total_tokens":123}}}`,
		}, ratelimit.Charged{Input: 36, Output: 87}},
		"Gemini": {[]string{
			`data: {"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":12,"totalTokenCount":20}}`,
		}, ratelimit.Charged{Input: 8, Output: 12}},
		"none": {[]string{"", `"usage"`, `"usage":`, `"usage":{`, `"usageMetadata":[]`, strings.Repeat(`"usage":{"input_tokens":`, 9)}, ratelimit.Charged{}},
	} {
		var got ratelimit.Charged
		for _, part := range tt.parts {
			got.Scan([]byte(part))
		}
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestCharged_ScanAllocatesNothing(t *testing.T) {
	part := []byte(`data: {"type":"message_start","message":{"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":100},"cache_read_input_tokens":9000,"output_tokens":1}}}`)
	var u ratelimit.Charged
	if n := testing.AllocsPerRun(100, func() { u.Scan(part) }); n != 0 || u.Cached != 9000 {
		t.Errorf("%v allocations for %+v, want none", n, u)
	}
}
