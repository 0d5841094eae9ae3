package agentcmd_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/llm"
)

var opus = llm.Name{Provider: "anthropic", Model: "claude-opus-4-5"}

// member returns a member whose budget of 4m30s has run for took.
func member(state council.State, tries int, took time.Duration) council.Member {
	return council.Member{Name: opus, State: state, Tries: tries, Took: took, Left: 270*time.Second - took}
}

func TestLine_FormsByStateAndWidth(t *testing.T) {
	const s = time.Second
	met := func(v council.Member, k fault.Kind, wait time.Duration) council.Member {
		v.Fault, v.Wait = &fault.Error{Kind: k, Status: 500}, wait
		return v
	}
	cut := member(council.CutOff, 1, 40*s)
	cut.Why = errors.New("the others have answered")
	for _, c := range []struct {
		v     council.Member
		width int
		want  string
	}{
		{member(council.Asking, 1, 0), 100, "· opus asked (budget 4m30s left)"},
		{member(council.Asking, 1, 12*s), 100, "· opus asked — 12s (budget 4m18s left)"},
		{member(council.Asking, 2, 12*s), 100, "· opus asked again — 12s (budget 4m18s left)"},
		{met(member(council.Waiting, 1, 32*s), fault.Overloaded, 1500*time.Millisecond), 100, "▲ opus waiting on anthropic (server overloaded) — next try 2s (budget 3m58s left)"},
		{met(member(council.Waiting, 1, 32*s), fault.Overloaded, 0), 100, "▲ opus waiting on anthropic (server overloaded) — another call goes first (budget 3m58s left)"},
		{member(council.Waiting, 0, 0), 100, "▲ opus waiting on anthropic — another call goes first (budget 4m30s left)"},
		{met(member(council.Waiting, 1, 32*s), fault.Overloaded, 2*s), 70, "▲ opus waiting on anthropic — next try 2s (budget 3m58s left)"},
		{met(member(council.Waiting, 1, 32*s), fault.Overloaded, 2*s), 60, "▲ opus waiting on anthropic — 2s (budget 3m58s left)"},
		{met(member(council.Waiting, 1, 32*s), fault.Overloaded, 2*s), 50, "▲ opus waiting on anthropic — 2s"},
		{met(member(council.Waiting, 1, 32*s), fault.Overloaded, 2*s), 20, "▲ opus waiting on …"},
		{member(council.Answered, 1, 12*s), 100, "✓ opus answered in 12s"},
		{member(council.Answered, 2, 12*s), 100, "✓ opus answered in 12s (2 tries)"},
		{member(council.Answered, 1, 1), 100, "✓ opus answered in 1s"},
		{met(member(council.Failed, 2, 3*s), fault.Overloaded, 0), 100, "✗ opus failed: server overloaded (2 tries)"},
		{met(member(council.Failed, 1, 1), fault.Auth, 0), 100, "✗ opus failed: authentication"},
		{met(member(council.Failed, 2, 270*s), fault.Timeout, 0), 100, "✗ opus timed out after 4m30s (2 tries)"},
		{cut, 100, "· opus cut off after 40s: the others have answered"},
		{cut, 30, "· opus cut off after 40s"},
	} {
		if got := agentcmd.MemberLine("opus", c.v, c.width); got != c.want {
			t.Errorf("MemberLine at %d columns:\n got %q\nwant %q", c.width, got, c.want)
		}
	}
}

func TestLine_CutsALongNameBeforeTheBudget(t *testing.T) {
	v := member(council.Waiting, 1, 32*time.Second)
	v.Fault, v.Wait = &fault.Error{Kind: fault.Overloaded}, 2*time.Second
	for width, want := range map[int]string{
		80: "▲ anthropic/claude-opus-4-5 waiting on anthropic — 2s (budget 3m58s left)",
		66: "▲ anthropic/claude… waiting on anthropic — 2s (budget 3m58s left)",
		59: "▲ anthropic/claude-opus-4-5 waiting on anthropic — 2s",
	} {
		if got := agentcmd.MemberLine(opus.String(), v, width); got != want {
			t.Errorf("MemberLine at %d columns:\n got %q\nwant %q", width, got, want)
		}
	}
}

func TestSharedWaitLines_CountMembersByProvider(t *testing.T) {
	waits := func(provider string, wait time.Duration) council.Member {
		return council.Member{Name: llm.Name{Provider: provider}, State: council.Waiting, Wait: wait}
	}
	all := []council.Member{
		waits("anthropic", 0), waits("openai", time.Second), member(council.Asking, 1, 0), waits("anthropic", 9*time.Second), waits("anthropic", 3500*time.Millisecond),
	}
	if diff := cmp.Diff([]string{"▲ 3 of 5 members waiting on anthropic — next try 4s"}, agentcmd.SharedWaitLines(all, 80)); diff != "" {
		t.Errorf("SharedWaitLines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"▲ 3 of 5 waiting …"}, agentcmd.SharedWaitLines(all, 19)); diff != "" {
		t.Errorf("SharedWaitLines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"▲ 3 of 5 waiting on anthropic — 4s"}, agentcmd.SharedWaitLines(all, 40)); diff != "" {
		t.Errorf("SharedWaitLines (-want +got):\n%s", diff)
	}
	behind := []council.Member{waits("anthropic", 0), waits("anthropic", 0), member(council.Asking, 2, 0)}
	if diff := cmp.Diff([]string{"▲ 2 of 3 members waiting on anthropic — another call goes first"}, agentcmd.SharedWaitLines(behind, 80)); diff != "" {
		t.Errorf("SharedWaitLines (-want +got):\n%s", diff)
	}
	if lines := agentcmd.SharedWaitLines(all[1:4], 80); lines != nil {
		t.Errorf("SharedWaitLines of one waiting member per provider: got %q, want none", lines)
	}
}

func TestNames_NumberRepeatedModels(t *testing.T) {
	other := llm.Name{Provider: "openai", Model: "gpt-5"}
	got := agentcmd.MemberNames([]llm.Name{opus, other, opus, opus})
	want := []string{"anthropic/claude-opus-4-5", "openai/gpt-5", "anthropic/claude-opus-4-5 #2", "anthropic/claude-opus-4-5 #3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("MemberNames (-want +got):\n%s", diff)
	}
}

func TestNames_AreSanitized(t *testing.T) {
	if got := agentcmd.MemberNames([]llm.Name{{Provider: "x", Model: "a\x1b[2J\nb"}})[0]; got != "x/a␛[2J b" {
		t.Errorf("MemberNames: got %q, want no control characters", got)
	}
}

func ExampleMemberLine() {
	v := council.Member{Name: opus, State: council.Answered, Tries: 2, Took: 12 * time.Second}
	fmt.Println(agentcmd.MemberLine("anthropic/claude-opus-4-5", v, 80))
	// Output: ✓ anthropic/claude-opus-4-5 answered in 12s (2 tries)
}

func ExampleShortfallHeadline() {
	all := []council.Member{member(council.Answered, 1, 0), member(council.Failed, 1, 0)}
	fmt.Println(agentcmd.ShortfallHeadline(all, 2))
	// Output: Failed: 1 of 2 members answered, and 2 are needed.
}

func ExampleSharedWaitLines() {
	wait := council.Member{Name: opus, State: council.Waiting, Wait: 4 * time.Second}
	fmt.Println(agentcmd.SharedWaitLines([]council.Member{wait, wait, {}}, 80)[0])
	// Output: ▲ 2 of 3 members waiting on anthropic — next try 4s
}

func ExampleGraceLine() {
	fmt.Println(agentcmd.GraceLine([]council.Member{member(council.Answered, 1, 0), {}, {}}, 29500*time.Millisecond, 80))
	fmt.Println(agentcmd.GraceLine([]council.Member{member(council.Answered, 1, 0), {}, {}}, 29500*time.Millisecond, 40))
	// Output:
	// · 1 of 3 members answered — the rest have 30s
	// · 1 of 3 answered — 30s
}

func ExampleMemberNames() {
	fmt.Println(agentcmd.MemberNames([]llm.Name{opus, opus}))
	// Output: [anthropic/claude-opus-4-5 anthropic/claude-opus-4-5 #2]
}
