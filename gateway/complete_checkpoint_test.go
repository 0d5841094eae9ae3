package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

const longPath = "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"

// sayChunk, thinkChunk, markChunk and lastChunk are chunks of Gemini's.
func sayChunk(text string) string {
	return fmt.Sprintf(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":%q}]}}],"responseId":"r"}`+"\r\n\r\n", text)
}

func thinkChunk(text string) string {
	return strings.Replace(sayChunk(text), `"}]`, `","thought":true}]`, 1)
}

func markChunk(token string) string {
	return `data: {"candidates":[{"continuationToken":"` + token + `"}],"responseId":"r"}` + "\r\n\r\n"
}

func lastChunk(text string) string {
	return strings.Replace(sayChunk(text), `]}}]`, `]},"finishReason":"STOP"}]`, 1)
}

// A long answer of Gemini's that breaks off behind a checkpoint is resumed there, in the default mode already. The client
// reads each word once.
func TestComplete_ResumesAtACheckpoint(t *testing.T) {
	const (
		head  = "The old lighthouse keeper climbed the spiral stairs each evening, lit the great lamp, "
		tail  = "and watched the ships go by until the morning came."
		story = head + tail
	)
	refused := func(status int) roundTrip {
		return says(status, `{"error":{"code":400,"message":"The continuation token is invalid.","status":"INVALID_ARGUMENT"}}`, "Content-Type", "application/json")
	}
	asked := streams(sayChunk("each evening, lit the great lamp, "+tail) + lastChunk(""))
	for _, row := range []struct {
		name    string
		mode    gateway.CompleteMode
		answers []roundTrip
		tokens  string // of the requests; -: none, ?: it asks for the rest
		text    string
		whole   bool
	}{
		{"right behind it", "", []roundTrip{streams(sayChunk(head) + markChunk("t1")), streams(lastChunk(tail))}, "- t1", story, true},
		{"in the chunk of a text", "", []roundTrip{streams(strings.Replace(sayChunk(head), `]}}]`, `]},"continuationToken":"t1"}]`, 1)), streams(lastChunk(tail))}, "- t1", story, true},
		{"in words behind it, which come again", "", []roundTrip{streams(sayChunk("The old ") + markChunk("t1") + sayChunk(head[8:])), streams(sayChunk(head[8:20]) + sayChunk(head[20:]+tail[:9]) + lastChunk(tail[9:]))}, "- t1", story, true},
		{"in words behind it, and others come", "", []roundTrip{streams(sayChunk("The old ") + markChunk("t1") + sayChunk(head[8:])), streams(lastChunk("lighthouse guard went up. " + tail))}, "- t1", head, false},
		{"the same, where the rest is asked for", gateway.CompleteText, []roundTrip{streams(sayChunk("The old ") + markChunk("t1") + sayChunk(head[8:])), streams(lastChunk("lighthouse guard went up. " + tail)), asked}, "- t1 ?", story, true},
		{"before one", "", []roundTrip{streams(sayChunk(head))}, "-", head, false},
		{"before one, where the rest is asked for", gateway.CompleteText, []roundTrip{streams(sayChunk(head)), asked}, "- ?", story, true},
		{"and once more behind another", "", []roundTrip{streams(sayChunk(head) + markChunk("t1")), streams(sayChunk(tail[:9]) + markChunk("t2")), streams(lastChunk(tail[9:]))}, "- t1 t2", story, true},
		{"and once more before another", "", []roundTrip{streams(sayChunk(head) + markChunk("t1")), streams(sayChunk(tail[:9])), streams(lastChunk(tail))}, "- t1 t1", story, true},
		{"and twice more", "", []roundTrip{streams(sayChunk("The old ") + markChunk("t1")), streams(sayChunk(head[8:]) + markChunk("t2")), streams(sayChunk(tail[:9]) + markChunk("t3"))}, "- t1 t2", story[:len(head)+9], false},
		{"and the provider is overloaded", "", []roundTrip{streams(sayChunk(head) + markChunk("t1")), says(503, `{}`), says(503, `{}`), streams(lastChunk(tail))}, "- t1 t1 t1", story, true},
		{"whose token is invalid", "", []roundTrip{streams(sayChunk(head) + markChunk("t1")), refused(400)}, "- t1", head, false},
		{"whose token is invalid, and the rest is asked for", gateway.CompleteText, []roundTrip{streams(sayChunk(head) + markChunk("t1")), refused(400), asked}, "- t1 ?", story, true},
		{"whose token is unknown after one was known", gateway.CompleteText, []roundTrip{streams(sayChunk(head[:60]) + markChunk("t1")), streams(sayChunk(head[60:]) + markChunk("t2")), refused(404), asked}, "- t1 t2 ?", story, true},
		{"in reasoning", "", []roundTrip{streams(thinkChunk("Let me ") + markChunk("t1") + thinkChunk("see.")), streams(thinkChunk("see.") + lastChunk(story))}, "- t1", "(Let me see.)" + story, true},
		{"in reasoning, whose token is invalid", "", []roundTrip{streams(thinkChunk("Let me ") + markChunk("t1") + thinkChunk("see.")), refused(400), streams(lastChunk(story))}, "- t1 -", "(Let me see.)" + story, true},
		{"where nothing is completed", gateway.CompleteOff, []roundTrip{streams(sayChunk(head) + markChunk("t1"))}, "-", head, false},
		{"by an error event", "", []roundTrip{streams(sayChunk(head) + markChunk("t1") + `data: {"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}` + "\r\n\r\n"), streams(lastChunk(tail))}, "- t1", story, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			tokens := ""
			upstreams := everything(address("provider.test"))
			for i := range upstreams {
				upstreams[i].Complete = row.mode
			}
			w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Policy{Retries: 5, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				n := strings.Count(tokens, " ")
				tokens += tokenOf(req) + " "
				if n >= len(row.answers) {
					return refused(500)(req)
				}
				return row.answers[n](req)
			})})
			_, text, _ := w.get(longPath, gemini)
			got, err := decode(longPath, text)
			if all := longText(got); err != nil || all != row.text || got.failed == row.whole {
				t.Errorf("it breaks off %s: got %q, failed %v, error %v; want %q, failed %v\n%s", row.name, all, got.failed, err, row.text, !row.whole, text)
			}
			if tokens = strings.TrimSpace(tokens); tokens != row.tokens {
				t.Errorf("it breaks off %s: the requests have the tokens %q, want %q", row.name, tokens, row.tokens)
			}
			synctest.Wait()
			if shared, waits, memory, _ := w.gateway.Left(); shared != 0 || waits != 0 || memory != 0 {
				t.Errorf("it breaks off %s: %d shared requests, %d waits and %d bytes are left", row.name, shared, waits, memory)
			}
		})
	}
}

// A token is for the server that has stated it: a fallback is asked for what it would be without a checkpoint, and no
// later.
func TestComplete_CheckpointIsOfItsServer(t *testing.T) {
	cut, whole := streams(thinkChunk("Hm. ")+markChunk("t1")), streams(lastChunk("Done."))
	down := says(503, `{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}`, "Content-Type", "application/json")
	const path = "/v1beta/models/large:streamGenerateContent?alt=sse"
	for _, row := range []struct {
		name         string
		large, small []roundTrip
		chain        gateway.Fallback
		asked, text  string
		least, most  time.Duration
	}{
		{"it is down then", []roundTrip{cut, down}, []roundTrip{whole}, gateway.Fallback{Kinds: busy}, "large -, large t1, large -, small -", "(Hm. )Done.", 0, time.Minute},
		{"it is down for the fallback's time", []roundTrip{cut, down}, []roundTrip{whole}, gateway.Fallback{After: 10 * time.Minute}, "large -, large t1, small -", "(Hm. )Done.", 10 * time.Minute, 11 * time.Minute},
		{"it cuts the answer again", []roundTrip{cut}, []roundTrip{whole}, gateway.Fallback{After: time.Hour}, "large -, large t1, small -", "(Hm. Hm. )Done.", 0, time.Minute},
		{"the fallback has answered", []roundTrip{down}, []roundTrip{cut, whole}, gateway.Fallback{Kinds: busy}, "large -, small -, large -, small -", "(Hm. )Done.", 0, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			times := map[string]int{}
			row.chain.To, row.chain.Model = "one", "small"
			w := newHarnessWith(t, gateway.Config{
				Policy:    policy.Patient(),
				Upstreams: []gateway.Upstream{{Name: "one", API: "gemini", Base: address("one.test"), Fallback: []gateway.Fallback{row.chain}}},
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					model, answers := "large", row.large
					if strings.Contains(req.URL.Path, "small") {
						model, answers = "small", row.small
					}
					if now := model + " " + tokenOf(req); len(asked) == 0 || asked[len(asked)-1] != now {
						asked = append(asked, now)
					}
					times[model]++
					return answers[min(times[model], len(answers))-1](req)
				}),
			})
			_, text, _ := w.get(path, gemini)
			took := time.Since(w.begun)
			got, err := decode(path, text)
			if all := longText(got); err != nil || all != row.text || got.failed || took < row.least || took > row.most {
				t.Errorf("%s: got %q, failed %v, error %v after %v; want %q after %v to %v\n%s", row.name, all, got.failed, err, took, row.text, row.least, row.most, text)
			}
			if all := strings.Join(asked, ", "); all != row.asked {
				t.Errorf("%s: asked %s, want %s", row.name, all, row.asked)
			}
		})
	}
}

// longText returns what a client has decoded, reasoning in brackets.
func longText(d decoded) (all string) {
	for _, r := range d.reasoning {
		all += "(" + r + ")"
	}
	for _, kept := range d.kept {
		all += strings.TrimPrefix(kept, "text ")
	}
	return all
}

// tokenOf returns the token of a request, "?" of one that asks for a rest, and "-" of another.
func tokenOf(req *http.Request) string {
	body, _ := io.ReadAll(req.Body)
	_ = req.Body.Close()
	_, token, ok := strings.Cut(string(body), `"continuationToken":"`)
	token, _, _ = strings.Cut(token, `"`)
	switch {
	case ok:
		return token
	case strings.Contains(string(body), "was interrupted"):
		return "?"
	}
	return "-"
}

// A client that resumes an answer by itself, as @google/genai 3 does, is sent the tokens, and its request is one of its
// own: it is retried before its first chunk, and its answer is not that of the first.
func TestComplete_ClientResumesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := ""
		first := sayChunk("One ") + strings.Replace(sayChunk("two "), `]}}]`, `]},"finishReason":"CONTINUATION","continuationToken":"t1"}]`, 1)
		answers := []roundTrip{streams(first), says(503, `{}`), streams(sayChunk("three ") + markChunk("t2")), streams(lastChunk("four."))}
		w := newHarnessOf(t, policy.Policy{Retries: 5, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}, roundTrip(func(req *http.Request) (*http.Response, error) {
			n := strings.Count(asked, " ")
			asked += tokenOf(req) + " "
			return answers[n](req)
		}))
		_, got, err := w.get(longPath, gemini)
		if got != first || err != nil {
			t.Errorf("the first hop: got %q, error %v; want it as the provider has sent it, %q", got, err, first)
		}
		_, got, err = w.get(longPath, strings.Replace(gemini, "{", `{"continuationToken":"t1",`, 1))
		if want := sayChunk("three ") + markChunk("t2") + lastChunk("four."); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") || err != nil {
			t.Errorf("the second hop: got %q, error %v; want %q", got, err, want)
		}
		if want := "- t1 t1 t2 "; asked != want {
			t.Errorf("the requests have the tokens %q, want %q", asked, want)
		}
	})
}
