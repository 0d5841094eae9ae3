package npm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// call is one call of an SDK, by its name in calls.mjs.
type call struct {
	name string
	stop string // its reason of a whole answer
}

func (c call) streams() bool {
	return strings.Contains(c.name, " stream") || strings.HasSuffix(c.name, " helper")
}

var calls = []call{
	{"openai.chat", "stop"},
	{"openai.chat stream", "stop"},
	{"openai.responses", "completed"},
	{"openai.responses stream", "completed"},
	{"anthropic.messages", "end_turn"},
	{"anthropic.messages stream", "end_turn"},
	{"anthropic.messages helper", "end_turn"},
	{"google.generateContent", "STOP"},
	{"google.generateContent stream", "STOP"},
	{"google on vertex stream", "STOP"},
	{"anthropic on vertex", "end_turn"},
	{"anthropic on vertex stream", "end_turn"},
	{"azure.chat", "stop"},
	{"azure.chat stream", "stop"},
	{"cohere.chat", "COMPLETE"},
	{"cohere.chat stream", "COMPLETE"},
	{"ollama.chat", "stop"},
	{"ollama.chat stream", "stop"},
	{"ollama.generate", "stop"},
	{"ollama.generate stream", "stop"},
	{"ai.anthropic", "stop"},
	{"ai.anthropic stream", "stop"},
	{"ai.openai chat", "stop"},
	{"ai.openai chat stream", "stop"},
	{"ai.openai responses", "stop"},
	{"ai.openai responses stream", "stop"},
	{"ai.google", "stop"},
	{"ai.google stream", "stop"},
}

// faults are the replies before an answer, and what is then on the provider's
// record.
var faults = []struct{ replies, outcomes string }{
	{"ok", "ok"},
	{"429;retry-after-ms=40", "429 ok"},
	{"529", "529 ok"},
	{"503*3", "503 503 503 ok"}, // the second is when a stream gets its headers and its first sign of life
	{"reset", "reset ok"},
	{"refused", "refused ok"},
	{"error-first", "error-first ok"},
	{"role-error", "role-error ok"},
	{"error-200", "error-200 ok"},
	{"cut:0", "cut:0 ok"},
	{"cut:0:clean", "cut:0:clean ok"},
	{"html", "html ok"},
	{"empty", "empty ok"},
	{"silence", "silence ok"},
}

func TestSDK_FaultBeforeContentIsHidden(t *testing.T) {
	for _, c := range calls {
		for _, tt := range faults {
			t.Run(c.name+"/"+tt.replies, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				w := newFixture(t, hurried(), script(t, tt.replies))
				got := w.ask(c.name)
				if got.Error != "" || got.Text != answer || got.Stop != c.stop {
					t.Errorf("call result %+v", got)
				}
				if took := time.Since(began); strings.HasPrefix(tt.replies, "429") && took < 40*time.Millisecond {
					t.Errorf("retried after %v", took)
				}
				w.check(1, tt.outcomes)
			})
		}
	}
}

func TestGateway_StreamBrokenAfterContentIsAnError(t *testing.T) {
	for _, c := range calls {
		for _, cut := range []string{"cut:3", "cut:3:clean", "cut:99:clean"} {
			if !c.streams() {
				continue
			}
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, hurried(), script(t, cut))
				got := w.ask(c.name)
				if !strings.Contains(got.Error, "broke off") || got.Stop != "" || !strings.HasPrefix(answer, got.Text) {
					t.Errorf("call result %+v", got)
				}
				w.check(1, cut)
			})
		}
	}
}

func TestSDK_BrokenUnstreamedAnswerIsRetried(t *testing.T) {
	for _, c := range calls {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			if c.streams() {
				continue
			}
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, hurried(), script(t, cut))
				if got := w.ask(c.name); got.Error != "" || got.Text != answer || got.Stop != c.stop {
					t.Errorf("call result %+v", got)
				}
				w.check(1, cut+" ok")
			})
		}
	}
}

func TestSDK_HealthyProvider(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, hurried(), simulator.Script{})
			if got := w.bare(c.name); got.Error != "" || got.Text != answer || got.Stop != c.stop {
				t.Errorf("call result %+v", got)
			}
			w.check(0, "ok")
		})
	}
}
