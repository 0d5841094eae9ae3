package gateway_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// An answer with two tool calls that is cut at a random byte shows none of a call or all of it: behind a text too,
// where the answer cannot be asked for again, and in the rest of a text that is continued.
func TestComplete_CutNeverShowsHalfOfACall(t *testing.T) {
	const (
		first  = `call:list{"path":"a b"}+call:write{"file":"main.go","text":"one\ntwo"}`
		second = `call:read{"file":"main.go"}+call:now{"zone":"UTC"}`
		ending = "look at the files of this folder now."
	)
	for _, api := range streamed {
		if api.path == "/api/v1/chat" {
			continue // LM Studio calls its tools itself
		}
		for _, tt := range []struct {
			name, first, second string
			mode                gateway.CompleteMode
		}{
			{"calls", first, second, gateway.CompleteLossless},
			{"text and calls", `say:"Hello there."+` + first, second, gateway.CompleteLossless},
			{"text, continued, and calls", `say:"Hello, I will ` + ending + `"+` + first, `say:"` + ending + ` Well."+` + second, gateway.CompleteText},
		} {
			t.Run(api.path+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				checkCuts(t, api.path, api.body, tt.first, tt.second, tt.mode)
			})
		}
	}
}

// checkCuts cuts an answer at random bytes. One of calls only is completed, unless its client has the end.
func checkCuts(t *testing.T, path, body, words, others string, mode gateway.CompleteMode) {
	first, kind := record(t, path, body, words)
	second, _ := record(t, path, body, others)
	failure := failureOf(t, path, body)
	all, _ := decode(path, first)
	want, _ := decode(path, second)
	synctest.Test(t, func(t *testing.T) {
		p := &broken{kind: kind, second: second, failure: failure}
		upstreams := everything(address("provider.test"))
		for i := range upstreams {
			upstreams[i].Limits, upstreams[i].Complete = &gateway.Limits{Idle: time.Minute}, mode
		}
		g := newGateway(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: p})
		dice := rand.New(rand.NewPCG(1, 2))
		whole, again, ended, halves := 0, 0, 0, 0
		cuts := 200 // at a random byte
		if raced {
			cuts = 25
		}
		for i := range cuts {
			p.first, p.how, p.asked = first[:1+dice.IntN(len(first)-1)], []ending{fin, rst, silent}[dice.IntN(3)], 0
			if p.second = second; mode == gateway.CompleteText && i%2 == 1 {
				p.second = second[:dice.IntN(len(second))]
			}
			w := serve(g, path, body, "")
			time.Sleep(time.Hour) // what was given up is forgotten
			got, err := decode(path, w.String())
			if err != nil {
				t.Fatalf("cut at byte %d of %d: %v\ngot %q", len(p.first), len(first), err, w)
			}
			switch {
			case !got.failed && p.asked == 1:
				whole++
			case !got.failed:
				again++
			default:
				ended++
				if strings.HasPrefix(words, "call") && got.stop == "" {
					t.Errorf("cut at byte %d of %d: it has ended with an error, want it asked for again\ngot %q", len(p.first), len(first), w)
				}
			}
			for _, kept := range got.kept {
				if strings.HasPrefix(kept, "call ") && !slices.Contains(all.kept, kept) && !slices.Contains(want.kept, kept) {
					if halves++; halves == 1 {
						t.Errorf("cut at byte %d of %d: the client has seen %q\ngot %q", len(p.first), len(first), kept, w)
					}
				}
			}
		}
		t.Logf("of %d: %d asked for again and whole, %d whole as they were, %d ended with an error, %d halves of a call seen", cuts, again, whole, ended, halves)
	})
}

// A client is kept alive while calls are withheld from it for an hour, by events where its idle timer counts those
// only, also where the provider sends pings of its own.
func TestComplete_ClientIsKeptAliveWhileCallsAreWithheld(t *testing.T) {
	const ping, wait = "event: ping\ndata: {\"type\":\"ping\"}\n\n", time.Hour
	for _, words := range []string{`call:list{"path":"a b"}+call:now`, `say:"Hello there."+call:list{"path":"a b"}+call:now`} {
		stream, kind := record(t, "/v1/messages", claude, words)
		want, _ := decode("/v1/messages", stream)
		synctest.Test(t, func(t *testing.T) {
			at := strings.LastIndex(stream, "event: content_block_stop")
			g := newGateway(t, gateway.Config{
				Upstreams: everything(address("provider.test")), Policy: policy.Patient(),
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					body, provider := io.Pipe()
					go func() {
						_, _ = io.WriteString(provider, stream[:at])
						for begun := time.Now(); time.Since(begun) < wait; time.Sleep(7 * time.Second) {
							_, _ = io.WriteString(provider, ping)
						}
						_, _ = io.WriteString(provider, stream[at:])
						_ = provider.Close()
					}()
					return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: body, Request: req}, nil
				}),
			})
			w := serve(g, "/v1/messages", claude, "claude-cli/2.1.330")
			got, err := decode("/v1/messages", w.String())
			if err != nil || got.failed || !slices.Equal(got.kept, want.kept) || w.gap > 11*time.Second {
				t.Errorf("%s: got %+v, %v with gaps of %v; want %q and 10 s", words, got, err, w.gap, want.kept)
			}
			beats := strings.Count(w.String(), "event: message_delta") - 1
			if least := int(wait / time.Minute); beats < least {
				t.Errorf("%s: %d events that are no pings in %v, want %d at least", words, beats, wait, least)
			}
		})
	}
}
