package tui_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
)

var busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded", RequestID: "req_011"}

func config(h *service) tui.Config {
	return tui.Config{Conversations: h, Settings: conversation.Settings{Model: "acme/large"}}
}

// fails returns n failures and then an answer.
func fails(n int, then llmtest.Answer) []llmtest.Answer {
	return append(slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, n), then)
}

func TestOutage_ShowsFirstFailureWaitAndRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(3, llmtest.Says("It is back.\n\n- one\n- two"))...)), 80, 24)
		s.types("Are you there?")
		s.sees("▲ Server overloaded: HTTP 529: Overloaded", "▲ Server overloaded — retrying in 1s… (attempt 1/10)")
		s.golden("first_failure")
		s.wait(1500 * time.Millisecond)
		s.golden("waiting")
		s.wait(30 * time.Second)
		s.golden("recovered")
	})
}

func TestWait_CountsDownOnWholeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: 4 * time.Second}
		s := start(t, config(newService(t, llmtest.Fails(down), llmtest.Says("ok"))), 80, 24)
		s.types("x")
		for _, want := range []string{"in 4s…", "in 3s…", "in 2s…", "in 1s…"} {
			s.sees("▲ Rate limited — retrying " + want)
			s.misses("in 0s")
			s.wait(900 * time.Millisecond)
		}
		s.wait(200 * time.Millisecond)
		s.sees("✓ Recovered after 1 retry (waited 4s)")
	})
}

func TestWait_LongOneTicksByTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Fails(&fault.Error{Kind: fault.Quota, Status: 429, Message: "limit", Wait: 10 * time.Minute}), llmtest.Says("ok"))
		h.policy = policy.Patient()
		s := start(t, config(h), 80, 24)
		s.types("x")
		before := minutesLeft(t, s.screen())
		drawn := s.drawn()
		s.wait(3 * time.Minute)
		if after := minutesLeft(t, s.screen()); after != before-3 && after != before-4 { // the waits of many are spread a little
			t.Errorf("minutes left: got %d after three minutes, want 3 or 4 less than %d", after, before)
		}
		if n := s.drawn() - drawn; n > 15 { // each minute, and every 30 s a word of the turn itself
			t.Errorf("draws in three minutes: got %d, want at most 15", n)
		}
	})
}

// minutesLeft returns the minutes that the wait on the screen has left.
func minutesLeft(t *testing.T, screen string) int {
	found := regexp.MustCompile(`retrying at \d\d:\d\d, in (\d+)m…`).FindStringSubmatch(screen)
	if found == nil {
		t.Fatalf("screen: got no minutes, want a wait:\n%s", screen)
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

func TestFailure_KeyRRetriesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, fails(11, llmtest.Says("At last."))...)
		s := start(t, config(h), 80, 24)
		s.types("Are you there?")
		s.wait(4 * time.Minute)
		s.sees("Failed after 10 retry attempts. acme was overloaded for 3m1s.", "HTTP 529: Overloaded", "request req_011",
			"Nothing is lost", "ridethrough chat --session conv-a", "r tries again")
		s.golden("exhausted")
		s.keys("r")
		s.wait(2 * time.Second)
		s.sees("At last.")
		if n := strings.Count(s.screen(), "Are you there?"); n != 1 {
			t.Errorf("copies of the prompt: got %d, want 1:\n%s", n, s.screen())
		}
		if asked := h.model.Requests(); len(asked[len(asked)-1].Messages) != 1 {
			t.Errorf("messages of the retried turn: got %v, want the prompt once", asked[len(asked)-1].Messages)
		}
	})
}

// chat's default outlasts an hour, and says where its waits get long.
func TestAttended_SaysThatTheQuickTriesAreUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, fails(13, llmtest.Says("At last."))...)
		h.policy = policy.Attended()
		s := start(t, config(h), 100, 24)
		s.types("Are you there?")
		s.wait(3 * time.Minute)
		if screen := s.screen(); strings.Contains(screen, "quick tries") {
			t.Errorf("screen in the quick tries: got the change-over, want none:\n%s", screen)
		}
		s.wait(10 * time.Minute)
		s.sees("· The quick tries are used up: from here on the waits are longer, until ", "attempt 13, gives up")
		s.wait(10 * time.Minute)
		s.sees("At last.", "Recovered after 13 retries")
		if n := strings.Count(s.screen(), "quick tries"); n != 1 {
			t.Errorf("change-overs: got %d, want 1:\n%s", n, s.screen())
		}
	})
}

// In a wait, m asks for another model, and the turn asks that one at once.
func TestWait_KeyMMovesTheTurnToAnotherModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, append(fails(3, llmtest.Says("From the other one.")), llmtest.Says("Yes."))...)
		c := config(h)
		c.Models = func() []string { return []string{"acme/large", "acme/small"} }
		s := start(t, c, 80, 24)
		s.types("Are you there?")
		s.wait(5 * time.Second) // in the third wait, of four seconds
		s.keys("m")
		s.wait(0)
		if live := s.live(); !strings.Contains(live, "> /model ") || !strings.Contains(live, "acme/small") {
			t.Errorf("after m: got this, want the models to choose from:\n%s", live)
		}
		for _, r := range "acme/small" {
			s.keys(string(r))
		}
		s.keys("enter")
		s.wait(time.Second)
		s.sees("▲ Switching from acme/large to acme/small", "From the other one.")
		if n := strings.Count(s.screen(), "answers from the next turn on"); n != 0 {
			t.Errorf("got the line about the next turn, want none: this one has moved\n%s", s.screen())
		}
		s.types("And now?")
		if s.misses("acme/large · /help"); len(h.model.Requests()) != 5 {
			t.Errorf("requests: got %d, want 5", len(h.model.Requests()))
		}
	})
}

func TestAnswer_BrokenOffIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, llmtest.Breaks("The first half", &fault.Error{Kind: fault.Truncated, Message: "stream dropped"}))), 80, 24)
		s.types("x")
		s.sees("The first half", "… the answer broke off here", "Failed: the answer broke off (stream dropped)")
	})
}

func TestCtrlC_CancelsAtOnceAndRestoresThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(11, llmtest.Says("never"))...)), 80, 24)
		s.types("Are you there?")
		began := time.Now()
		s.keys("ctrl+c")
		s.wait(0)
		if took := time.Since(began); took > 100*time.Millisecond { // all that wait lets pass
			t.Errorf("time to cancel: got %v, want at most 100ms", took)
		}
		s.sees("Canceled.\n\n> Are you there?\n")
		s.misses("Canceling…")
		s.golden("cancelled")
	})
}

// What the model reads after a cancel has the prompt once: it is asked again, not said again. One that was
// changed is another prompt.
func TestEnter_OnTheCanceledPromptAsksOnce(t *testing.T) {
	for _, tt := range []struct {
		change string
		want   []string
	}{
		{"", []string{"hi"}},
		{"!", []string{"hi", "hi!"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newService(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("I am here"))
			s := start(t, config(h), 80, 24)
			s.types("hi")
			s.keys("ctrl+c")
			s.wait(0)
			s.types(tt.change)
			s.keys("ctrl+c") // this turn waits, too: its prompt comes back as the first one did
			s.wait(0)
			s.sees("Canceled.", "> hi"+tt.change+"\n")
			s.keys("enter")
			s.wait(time.Minute)
			s.sees("> hi" + tt.change + "\n\nI am here\n")
			var got []string
			asked := h.model.Requests()
			for _, m := range asked[len(asked)-1].Messages {
				got = append(got, m.Text())
			}
			if len(asked) != 3 || !slices.Equal(got, tt.want) {
				t.Errorf("request %d has the messages %q, want request 3 with %q", len(asked), got, tt.want)
			}
		})
	}
}

// What m has opened, Esc closes, which is no part of a double press.
func TestEsc_ClosesTheChoiceOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newService(t, fails(9, llmtest.Says("never"))...))
		c.Models = func() []string { return []string{"acme/small"} }
		s := start(t, c, 80, 24)
		s.types("x")
		s.keys("m")
		s.sees("/model acme/small")
		s.keys("esc")
		s.misses("/model acme/small")
		s.sees("r now")
		s.keys("esc")
		s.misses("Canceled.")
		s.sees("Press Esc again to cancel")
	})
}

func TestEsc_TwiceCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, llmtest.Hangs())), 80, 24)
		s.types("x")
		s.keys("esc")
		s.sees("Press Esc again to cancel")
		s.misses("Canceling…")
		s.keys("esc")
		s.wait(0)
		s.sees("Canceled.")
	})
}

func TestCtrlC_CanceledPromptDoesNotReplaceTheDraft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, llmtest.Hangs())), 80, 24)
		s.types("first")
		s.keys("n", "e", "w", "ctrl+c")
		s.wait(0)
		s.sees("> new\n", "↑ recalls the canceled prompt")
		s.keys("ctrl+u", "up")
		s.sees("> first\n  acme")
	})
}

func TestCtrlC_QuitsWhileTheCancelHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Hangs())
		h.cancelHangs = make(chan struct{})
		s := start(t, config(h), 80, 24)
		s.types("x")
		s.keys("ctrl+c")
		s.wait(time.Minute)
		s.sees("Canceling… (Ctrl+C again quits; the conversation is kept)")
		s.keys("ctrl+c")
		s.wait(time.Second)
		if !s.ended() {
			t.Error("program after a second Ctrl+C: got it running, want it ended")
		}
	})
}

func TestWait_KeysRetryNowAndShowDetails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(6, llmtest.Says("ok"))...)), 80, 24)
		s.types("x")
		s.wait(16 * time.Second)
		s.sees("retrying in 15s… (attempt 5/10)")
		s.keys("d")
		s.sees("server overloaded · status 529")
		s.golden("details")
		s.keys("d", "r")
		s.wait(time.Second)
		s.sees("retrying in 14s… (attempt 5/10)", "It failed again; no attempt was used")
		s.keys("r")
		s.wait(time.Second)
		s.sees("✓ Recovered after 5 retries (waited 17s)")
	})
}

// From the first failure on r is a key, also where no wait is shown, and takes no letter of a prompt before.
func TestWait_KeyRWorksBeforeTheWaitIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, append(fails(11, llmtest.Hangs()), llmtest.Says("never"))...)
		s := start(t, config(h), 80, 24)
		s.types("x")
		s.wait(4 * time.Minute)
		s.sees("r tries again")
		s.keys("r", "r")
		s.wait(0)
		if live := s.live(); !strings.Contains(live, "working…") || strings.Contains(live, "> r") {
			t.Errorf("view after r twice: got this, want one turn and no letter in the composer:\n%s", live)
		}
		s.keys("ctrl+c")
		s.wait(0)
		s.types("y")
		s.keys("r")
		s.sees("> r\n")
	})
}

// A usage window that the policy does not wait for is said with its reset, and w waits for it.
func TestWindow_KeyWWaitsUntilItOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opens := time.Now().Add(26 * time.Hour)
		spent := &fault.Error{Kind: fault.Quota, Status: 429, Message: "limit reached", Window: true, ResetAt: opens}
		h := newService(t, llmtest.Fails(spent), llmtest.Fails(spent), llmtest.Says("It is open."))
		s := start(t, config(h), 100, 24)
		s.types("x")
		at := opens.Local().Format("15:04 on Jan 2")
		s.sees("Failed: usage limit. It opens again at "+at+", in 26h.", "w waits for it, m changes the model, r tries again.",
			"w waits for the reset · m another model · r tries again")
		s.misses("Add credit", "--policy")
		s.keys("w")
		s.wait(time.Second)
		s.sees("▲ Usage limit — opens again at " + at + ", in 26h • r now • d details • Press Ctrl+C to cancel")
		s.keys("w")
		s.sees("It waits until then")
		s.wait(40 * time.Minute) // a reset is believed for a quarter of an hour, by the breaker as well
		s.sees("It is open.")
	})
}

func TestShortcuts_NeedAnEmptyComposer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(6, llmtest.Says("ok"))...)), 100, 24)
		s.types("x")
		s.sees("• r now • d details • Press Ctrl+C to cancel")
		s.keys("a", "r", "d")
		s.sees("> ard\n", "(attempt 1/10) • Press Ctrl+C to cancel")
		s.misses("r now", "status 529")
	})
}

func TestView_FortyColumnsHaveTheShortForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(6, llmtest.Says("ok"))...)), 80, 24)
		s.types("Are you there?")
		s.sees("▲ Server overloaded — retrying in 1s… (attempt 1/10) • Press Ctrl+C to cancel")
		s.send(tea.WindowSizeMsg{Width: 40, Height: 24})
		synctest.Wait()
		s.sees("▲ overloaded · 1s · 1/10 · ^C")
		s.golden("forty_columns")
		for _, line := range strings.Split(s.live(), "\n") {
			if n := len([]rune(line)); n > 39 {
				t.Errorf("line: got %d columns, want at most 39: %q", n, line)
			}
		}
	})
}

// However small the window is, the status goes before all else.
func TestView_SmallWindowShowsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(11, llmtest.Says("never"))...)), 20, 5)
		s.types("x")
		s.types("y")
		s.types("z")
		s.keys("d")
		for _, height := range []int{5, 4, 3} {
			s.send(tea.WindowSizeMsg{Width: 20, Height: height})
			s.wait(0)
			if live := s.live(); !strings.HasPrefix(live, "▲ overloaded · 1s\n") || strings.Count(live, "\n") >= height {
				t.Errorf("view of height %d: got this, want the status first:\n%s", height, live)
			}
		}
	})
}

func TestView_NoColorAndASCII(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newService(t, fails(1, llmtest.Says("*ok*"))...))
		c.Env = terminalEnv("NO_COLOR", "1", "LANG", "C")
		s := start(t, c, 80, 24)
		s.types("x")
		s.sees("! Server overloaded: HTTP 529: Overloaded", "! Server overloaded - retrying in 1s... (attempt 1/10) | Press Ctrl+C to cancel")
		s.wait(3 * time.Second)
		s.sees("+ Recovered after 1 retry (waited 1s)", "*ok*")
		if all := s.written(); strings.Contains(all, "\x1b") {
			t.Errorf("output: got colors, want none: %q", all)
		}
	})
}

// The line of keys names those that act, and only whole ones.
func TestKeyHints_AreTrueAndWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(9, llmtest.Says("late"))...)), 80, 24)
		s.types("first")
		s.types("second")
		s.sees("  r now · m another model · d details · ↑ takes back · Ctrl+C cancels\n")
		s.send(tea.WindowSizeMsg{Width: 100, Height: 24})
		s.wait(time.Second)
		s.sees("  r now · m another model · d details · ↑ takes back · Tab sends it now · Ctrl+C cancels\n")
		s.send(tea.PasteMsg{Content: "/model acme/small"})
		s.wait(0)
		s.sees("  Enter runs it · Ctrl+C cancels\n")
		s.send(tea.PasteMsg{Content: "\nand more"})
		s.wait(0)
		s.sees("  Enter queues · Ctrl+C cancels\n")
	})
}
