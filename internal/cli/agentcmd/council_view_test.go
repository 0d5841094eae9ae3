package agentcmd_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// terminal emulates the part of a terminal that councils use. Its text is what a
// user sees.
type terminal struct {
	mu     sync.Mutex
	lines  []string
	row    int
	colors bool // are shown as the letters a, g, r and f before a line
}

// escapes matches the supported sequences and the text between them.
var escapes = regexp.MustCompile("\r|\n|\x1b\\[2K|\x1b\\[1A|\x1b\\[\\d*m|[^\r\n\x1b]+")

func (o *terminal) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lines == nil {
		o.lines = []string{""}
	}
	for _, s := range escapes.FindAllString(string(p), -1) {
		switch {
		case s == "\r" || s[0] == '\x1b' && s[len(s)-1] == 'm' && !o.colors:
		case s == "\n":
			if o.row++; o.row == len(o.lines) {
				o.lines = append(o.lines, "")
			}
		case s == "\x1b[1A":
			o.row--
		case s == "\x1b[2K":
			o.lines[o.row] = ""
		case s[0] == '\x1b':
			o.lines[o.row] += map[string]string{"\x1b[33m": "a:", "\x1b[32m": "g:", "\x1b[31m": "r:", "\x1b[2m": "f:"}[s]
		default:
			o.lines[o.row] += s
		}
	}
	return len(p), nil
}

func (o *terminal) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimRight(strings.Join(o.lines, "\n"), "\n")
}

// films runs a council on a terminal, and returns the terminal's text at these
// moments and at the end.
func films(t *testing.T, c council.Council, o *terminal, answers bool, moments ...time.Duration) (frames []string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	c.OnEvent = agentcmd.ShowCouncil(o, o, c.Aggregator.Model != nil, answers)
	var sitting sync.WaitGroup
	sitting.Go(func() { _, _ = c.Run(ctx, "Why is the sky blue?") })
	began := time.Now()
	for _, at := range moments {
		time.Sleep(time.Until(began.Add(at)) + 150*time.Millisecond)
		frames = append(frames, fmt.Sprintf("-- %v --\n%s", at, o))
	}
	cancel(errors.New("seen enough"))
	sitting.Wait()
	return append(frames, "-- end --\n"+o.String())
}

// fiveMembers returns a council of five, of which three are at a provider that is
// overloaded.
func fiveMembers() council.Council {
	named := func(provider, model string, answers ...llmtest.Answer) agent.Agent {
		return agent.Agent{Model: llmtest.New(llm.Name{Provider: provider, Model: model}, answers...)}
	}
	busy := llmtest.Late(time.Second, llmtest.Fails(&fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: 4 * time.Second}))
	denied := llmtest.Fails(&fault.Error{Kind: fault.Auth, Status: 401, Message: "wrong key"})
	return council.Council{
		Members: []agent.Agent{
			named("anthropic", "claude-opus-4-5", busy, llmtest.Late(2*time.Second, llmtest.Says("It scatters."))),
			named("anthropic", "claude-sonnet-4-5", busy, llmtest.Late(3*time.Second, llmtest.Says("Rayleigh."))),
			named("anthropic", "claude-haiku-4-5", busy, busy),
			named("openai", "gpt-5", llmtest.Late(2500*time.Millisecond, llmtest.Says("Because."))),
			named("gemini", "gemini-3-pro", denied),
		},
		Aggregator: named("openai", "o3", llmtest.Late(time.Second, llmtest.Says("Blue light scatters most."))),
		Quorum:     2, Grace: 5 * time.Second,
	}
}

func TestCouncilView_LinePerMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o terminal
		frames := films(t, fiveMembers(), &o, false, 0, time.Second, 3*time.Second, 6*time.Second, 7*time.Second, 20*time.Second)
		const want = `-- 0s --
· anthropic/claude-opus-4-5 asked (budget 4m30s left)
· anthropic/claude-sonnet-4-5 asked (budget 4m30s left)
· anthropic/claude-haiku-4-5 asked (budget 4m30s left)
· openai/gpt-5 asked (budget 4m30s left)
✗ gemini/gemini-3-pro failed: authentication
Press Ctrl+C to cancel
-- 1s --
▲ anthropic/claude-opus-4-5 waiting on anthropic — 4s (budget 4m29s left)
▲ anthropic/claude-sonnet-4-5 waiting on anthropic — 4s (budget 4m29s left)
▲ anthropic/claude-haiku-4-5 waiting on anthropic — 4s (budget 4m29s left)
· openai/gpt-5 asked — 1s (budget 4m29s left)
✗ gemini/gemini-3-pro failed: authentication
▲ 3 of 5 members waiting on anthropic — next try 4s
Press Ctrl+C to cancel
-- 3s --
▲ anthropic/claude-opus-4-5 waiting on anthropic — 2s (budget 4m27s left)
▲ anthropic/claude-sonnet-4-5 waiting on anthropic — 2s (budget 4m27s left)
▲ anthropic/claude-haiku-4-5 waiting on anthropic — 2s (budget 4m27s left)
✓ openai/gpt-5 answered in 3s
✗ gemini/gemini-3-pro failed: authentication
▲ 3 of 5 members waiting on anthropic — next try 2s
Press Ctrl+C to cancel
-- 6s --
· anthropic/claude-opus-4-5 asked again — 6s (budget 4m24s left)
· anthropic/claude-sonnet-4-5 asked again — 6s (budget 4m24s left)
✗ anthropic/claude-haiku-4-5 failed: rate limited (2 tries)
✓ openai/gpt-5 answered in 3s
✗ gemini/gemini-3-pro failed: authentication
Press Ctrl+C to cancel
-- 7s --
✓ anthropic/claude-opus-4-5 answered in 7s (2 tries)
· anthropic/claude-sonnet-4-5 asked again — 7s (budget 4m23s left)
✗ anthropic/claude-haiku-4-5 failed: rate limited (2 tries)
✓ openai/gpt-5 answered in 3s
✗ gemini/gemini-3-pro failed: authentication
· 2 of 5 members answered — the rest have 5s
Press Ctrl+C to cancel
-- 20s --
✓ anthropic/claude-opus-4-5 answered in 7s (2 tries)
✓ anthropic/claude-sonnet-4-5 answered in 8s (2 tries)
✗ anthropic/claude-haiku-4-5 failed: rate limited (2 tries)
✓ openai/gpt-5 answered in 3s
✗ gemini/gemini-3-pro failed: authentication
Blue light scatters most.
-- end --
✓ anthropic/claude-opus-4-5 answered in 7s (2 tries)
✓ anthropic/claude-sonnet-4-5 answered in 8s (2 tries)
✗ anthropic/claude-haiku-4-5 failed: rate limited (2 tries)
✓ openai/gpt-5 answered in 3s
✗ gemini/gemini-3-pro failed: authentication
Blue light scatters most.`
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(strings.Join(frames, "\n"), "\n")); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
	})
}

func TestCouncilView_StopPrintsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := terminal{colors: true}
		c := fiveMembers()
		c.Aggregator = agent.Agent{}
		frames := films(t, c, &o, false, 3*time.Second)
		const want = `-- end --
f:· the judge is anthropic/claude-opus-4-5, the first member's model; --judge
f:names another
f:· anthropic/claude-opus-4-5 cut off after 3s: seen enough
f:· anthropic/claude-sonnet-4-5 cut off after 3s: seen enough
f:· anthropic/claude-haiku-4-5 cut off after 3s: seen enough
g:✓ openai/gpt-5 answered in 3s
r:✗ gemini/gemini-3-pro failed: authentication
Canceled.
f:· openai/gpt-5 answered:
Because.`
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(frames[1], "\n")); diff != "" {
			t.Errorf("frame after the stop (-want +got):\n%s", diff)
		}
	})
}

func TestCouncilView_WaitingJudgeBelowMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o terminal
		c := fiveMembers()
		c.Members = c.Members[3:]
		c.Members[1].Model = llmtest.New(llm.Name{Provider: "ollama", Model: "qwen3"}, llmtest.Says("So it is."))
		c.Aggregator.Model = &llmtest.Model{Then: llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"})}
		frames := films(t, c, &o, true, 4*time.Second)
		for _, want := range []string{
			"✓ openai/gpt-5 answered in 3s\n✓ ollama/qwen3 answered in 1s\n· openai/gpt-5 answered:\nBecause.\n",
			"\n▲ Server overloaded: HTTP 529: busy\n▲ Server overloaded — retrying in ",
		} {
			if !strings.Contains(frames[0], want) {
				t.Errorf("want %q in:\n%s", want, frames[0])
			}
		}
		if strings.Count(frames[1], "Because.") != 1 || !strings.HasSuffix(frames[1], "\nCanceled.") {
			t.Errorf("at the end:\n%s", frames[1])
		}
	})
}
