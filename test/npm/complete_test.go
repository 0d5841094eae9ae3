package npm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// story is an answer in which no word occurs twice, so that one that is missing or doubled is seen.
const story = "The old lighthouse keeper climbed seventy stairs each evening, lit his great lamp, watched slow ships go by " +
	"until morning came, then slept while gulls cried over wet black rocks."

// breaks are the places in which an answer breaks off, with what the provider says there and afterwards.
var breaks = []struct {
	name, complete string
	asks           int // that the agent needs for its answer
	says           func(agent) string
}{
	{"reasoning", "lossless", 1, func(a agent) string {
		cut := "cut:1"
		if a.sealed {
			cut = "cut:0" // what has no text has no words
		}
		return `think:"Let me see what there is."+say:"` + story + `"+` + cut + `, think:"Once more, then."+say:"` + story + `"`
	}},
	{"tool call", "lossless", 2, func(a agent) string {
		return "think:Hm+call:" + a.call + "+" + a.inside + ", think:Well+call:" + a.call + `, say:"` + story + `"`
	}},
	{"text", "text", 1, func(agent) string { return `think:Hm+say:"` + story + `"+cut:17, think:Well+say:"` + story + `"` }},
}

// An agent sees one whole answer where the provider's breaks off in its middle, and an outage follows.
func TestAgents_AnswerThatBreaksOffIsCompleted(t *testing.T) { completedAfter(t, 30*time.Second) }

func TestAgents_AnswerThatBreaksOffIsCompletedAfterSixteenMinutes(t *testing.T) {
	needsRealTime(t)
	completedAfter(t, 16*time.Minute)
}

// completedAfter is the test of an answer that breaks off, with an outage after it.
func completedAfter(t *testing.T, d time.Duration) {
	forAgents(t, func(t *testing.T, a agent) {
		for _, b := range breaks {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				if b.name == "tool call" && a.call == "" {
					t.Skip("no tool is known that it runs without being asked")
				}
				s := newBreakingScene(t, d, b.says(a), b.complete)
				asking := s.ask(a, d+5*time.Minute)
				s.awaitFirst(asking)
				began := time.Now()
				checkPrinted(t, <-asking)
				ended := time.Now()
				if !a.sealed || b.name != "reasoning" { // else it has broken off before its first content
					ended = s.gateway.at(t, "completed an answer that had broken off")
				}
				s.check(a, b.asks)
				if silent := s.tap.silence(began, ended); silent > 15*time.Second {
					t.Errorf("nothing was sent to the agent for %v, want a keepalive every 10s", silent)
				}
				if b.asks > 1 {
					s.checkCall()
				}
			})
		}
	})
}

// breakingScene is a scene whose provider breaks off its first answer.
type breakingScene struct {
	scene
	upstream string // the provider's URL
	mu       sync.Mutex
	last     []byte // the last request with tools
	whole    int    // requests with tools for an answer that is not streamed
}

// newBreakingScene starts one. The outage begins after the first request with tools.
func newBreakingScene(t *testing.T, d time.Duration, words, complete string) *breakingScene {
	t.Helper()
	answers := script(t, words)
	answers.Outages = []simulator.Outage{{From: time.Second / 2, To: d}}
	s := &breakingScene{scene: scene{t: t, answer: story, first: make(chan struct{}), provider: simulator.New(answers)}}
	settings := "policy: own\npolicies: {own: {preset: patient, backoff: [5s, 10s, 15s]}}\nupstreams:\n"
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		settings += "  " + name + ": {complete: " + complete + "}\n"
	}
	s.upstream = s.start(settings, questions(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		s.mu.Lock()
		if s.last = body; !streams(body) {
			s.whole++
		}
		s.mu.Unlock()
		s.try(w, r)
	}))
	return s
}

// streams reports whether a request asks for a streamed answer.
func streams(body []byte) bool {
	var request struct{ Stream bool }
	return json.Unmarshal(body, &request) == nil && request.Stream
}

// Claude Code answers a cut in a text as it does without a gateway: 2.1.332 by another streamed request. An error in
// the stream would have it ask for an answer that is not streamed, which it leaves after five minutes.
func TestAgents_ClaudeCodeStreamsAgainAfterACutInItsText(t *testing.T) {
	forAgents(t, func(t *testing.T, a agent) {
		whole, known := map[string]int{"claude-2.1.197": 1, "claude-2.1.332": 0}[a.name]
		if !known {
			t.Skip("it is about Claude Code")
		}
		for _, through := range []bool{false, true} {
			t.Run(fmt.Sprintf("through the gateway %v", through), func(t *testing.T) {
				s := newBreakingScene(t, time.Millisecond, `say:"`+story+`"+cut:9, say:"`+story+`"`, "lossless") // no outage follows
				url := s.upstream
				if through {
					url = "http://" + s.tap.address
				}
				got := a.ask(t, url, 5*time.Minute)
				checkPrinted(t, outcome{said: got})
				s.mu.Lock()
				defer s.mu.Unlock()
				if n := s.tries.Load(); n != 2 || s.whole != whole {
					t.Errorf("%d requests, %d not streamed, want 2 and %d", n, s.whole, whole)
				}
			})
		}
	})
}

// checkPrinted checks that an agent has printed the story once, with no word missing or doubled.
func checkPrinted(t *testing.T, got outcome) {
	t.Helper()
	printed := strings.Join(strings.Fields(got.out), " ")
	if n := strings.Count(printed, story); got.err != nil || n != 1 {
		t.Errorf("%v: the answer was printed %d times, want once: %s", got.err, n, got.words())
	}
	for _, word := range strings.Fields(story) {
		if n := strings.Count(printed, word); len(word) > 4 && n != 1 {
			t.Errorf("the word %q was printed %d times, want once: %s", word, n, got.words())
		}
	}
}

// check compares the requests of an agent that needs some for its answer with those that the provider has answered:
// the one that broke off is answered once more.
func (s *breakingScene) check(a agent, asks int) {
	s.t.Helper()
	answered, refused := 0, 0
	for _, r := range s.provider.Requests() {
		if r.Outcome == "529" {
			refused++
		} else {
			answered++
		}
	}
	if n := s.tap.since(time.Time{}); n < asks || n > asks+a.beside || answered < asks+1 || answered > asks+1+a.beside || refused == 0 {
		s.t.Errorf("%d requests of the agent, %d answered and %d refused by the provider, want %d, %d and some, and at most %d beside",
			n, answered, refused, asks, asks+1, a.beside)
	}
}

// toolResult is a tool's result in a request of each API.
var toolResult = regexp.MustCompile(`"type":"tool_result"|"type":"function_call_output"|"functionResponse":|"role":"tool"`)

// checkCall checks that the agent has run one tool, with the whole arguments.
func (s *breakingScene) checkCall() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(toolResult.FindAll(s.last, -1)); n != 1 || !bytes.Contains(s.last, []byte("seventeen otters swim")) {
		s.t.Errorf("the last request has %d results of tools, want one, of the whole call: %s", n, s.last[max(0, len(s.last)-2000):])
	}
}
