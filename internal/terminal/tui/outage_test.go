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
)

var busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded", RequestID: "req_011"}

func config(h *house) tui.Config {
	return tui.Config{Conversations: h, Settings: conversation.Settings{Model: "acme/large"}}
}

// fails is a model that is down for so many tries and then says something.
func fails(n int, then llmtest.Answer) []llmtest.Answer {
	return append(slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, n), then)
}

func TestAnOutageIsToBeSeenFromItsFirstFailureAndItsEndAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(3, llmtest.Says("It is back.\n\n- one\n- two"))...)), 80, 24)
		s.types("Are you there?")
		s.sees("▲ HTTP 529: Overloaded", "▲ Server overloaded — retrying in 1s… (attempt 1/10)")
		s.golden("first_failure")
		s.wait(1500 * time.Millisecond)
		s.golden("waiting")
		s.wait(30 * time.Second)
		s.golden("recovered")
	})
}

func TestAWaitCountsDownOnWholeSecondsAndNeverSaysNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: 4 * time.Second}
		s := play(t, config(newHouse(t, llmtest.Fails(down), llmtest.Says("ok"))), 80, 24)
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

func TestALongWaitTicksByTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Fails(&fault.Error{Kind: fault.Quota, Status: 429, Message: "limit", Wait: 10 * time.Minute}), llmtest.Says("ok"))
		h.patient = true
		s := play(t, config(h), 80, 24)
		s.types("x")
		before := minutesLeft(t, s.screen())
		drawn := s.drawn()
		s.wait(3 * time.Minute)
		if after := minutesLeft(t, s.screen()); after != before-3 && after != before-4 { // the waits of many are spread a little
			t.Errorf("%d minutes were left, and three minutes later %d", before, after)
		}
		if n := s.drawn() - drawn; n > 15 { // each minute, and every 30 s a word of the turn itself
			t.Errorf("three minutes of waiting cost %d drawings", n)
		}
	})
}

// minutesLeft gives how many minutes a wait says that it takes.
func minutesLeft(t *testing.T, screen string) int {
	found := regexp.MustCompile(`retrying at \d\d:\d\d, in (\d+)m…`).FindStringSubmatch(screen)
	if found == nil {
		t.Fatalf("no minutes are on the screen:\n%s", screen)
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

func TestAnExhaustedProviderIsToldOfForTenSecondsAndTriedAgainByAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, fails(11, llmtest.Says("At last."))...)
		s := play(t, config(h), 80, 24)
		s.types("Are you there?")
		s.wait(4 * time.Minute)
		s.sees("Failed after 10 retry attempts. Check your connection and try again.", "HTTP 529: Overloaded", "request req_011",
			"Nothing is lost", "ridethrough chat --session talk-a", "r tries again")
		s.golden("exhausted")
		s.keys("r")
		s.wait(2 * time.Second)
		s.sees("At last.")
		if n := strings.Count(s.screen(), "Are you there?"); n != 1 {
			t.Errorf("what was asked is on the screen %d times:\n%s", n, s.screen())
		}
		if asked := h.model.Requests(); len(asked[len(asked)-1].Messages) != 1 {
			t.Errorf("what was asked is said again: %v", asked[len(asked)-1].Messages)
		}
	})
}

func TestAFailureStaysForTenSecondsWhateverIsSaidMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &fault.Error{Kind: fault.Auth, Status: 401, Message: "bad key"}
		s := play(t, config(newHouse(t, llmtest.Fails(refused), llmtest.Says("Now I can."))), 80, 24)
		s.types("one")
		s.sees("Failed: authentication. Check the key for acme and try again.")
		s.types("two")
		if live := s.live(); !strings.Contains(live, "Failed: authentication") {
			t.Errorf("the failure has gone after a second:\n%s", s.screen())
		}
		s.wait(11 * time.Second)
		if live := s.live(); strings.Contains(live, "Failed: authentication") {
			t.Errorf("the failure is still in the way:\n%s", live)
		}
		s.sees("Failed: authentication", "Now I can.")
	})
}

func TestAnAnswerThatBreaksOffStaysAndIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, llmtest.Breaks("The first half", &fault.Error{Kind: fault.Truncated, Message: "stream dropped"}))), 80, 24)
		s.types("x")
		s.sees("The first half", "… the answer broke off here", "Failed: the answer broke off (stream dropped)")
	})
}

func TestCtrlCCancelsAtOnceAndGivesThePromptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(11, llmtest.Says("never"))...)), 80, 24)
		s.types("Are you there?")
		began := time.Now()
		s.keys("ctrl+c")
		s.wait(0)
		if took := time.Since(began); took > 100*time.Millisecond { // all that wait lets pass
			t.Errorf("it took %v", took)
		}
		s.sees("Canceled.\n\n> Are you there?\n")
		s.misses("Canceling…")
		s.golden("cancelled")
	})
}

func TestEscTwiceCancelsAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, llmtest.Hangs())), 80, 24)
		s.types("x")
		s.keys("esc")
		s.sees("Press Esc again to cancel")
		s.misses("Canceling…")
		s.keys("esc")
		s.wait(0)
		s.sees("Canceled.")
	})
}

func TestACanceledPromptDoesNotTakeThePlaceOfWhatIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, llmtest.Hangs())), 80, 24)
		s.types("first")
		s.keys("n", "e", "w", "ctrl+c")
		s.wait(0)
		s.sees("> new\n", "↑ recalls the canceled prompt")
		s.keys("ctrl+u", "up")
		s.sees("> first\n  acme")
	})
}

func TestASecondCtrlCLeavesThoughTheCancelHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Hangs())
		h.stuck = make(chan struct{})
		s := play(t, config(h), 80, 24)
		s.types("x")
		s.keys("ctrl+c")
		s.wait(time.Minute)
		s.sees("Canceling… (Ctrl+C again quits; the conversation is kept)")
		s.keys("ctrl+c")
		s.wait(time.Second)
		if !s.gone() {
			t.Error("it is still there")
		}
	})
}

func TestRTriesAtOnceAndDShowsWhatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(6, llmtest.Says("ok"))...)), 80, 24)
		s.types("x")
		s.wait(16 * time.Second)
		s.sees("retrying in 15s… (attempt 5/10)")
		s.keys("d")
		s.sees("server overloaded · status 529")
		s.golden("details")
		s.keys("d", "r")
		s.wait(time.Second)
		s.sees("(attempt 6/10)")
		s.keys("r")
		s.wait(time.Second)
		s.sees("✓ Recovered after 6 retries (waited 17s)")
	})
}

func TestKeysActOnlyWhereNothingIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(6, llmtest.Says("ok"))...)), 100, 24)
		s.types("x")
		s.sees("• r now • d details • Press Ctrl+C to cancel")
		s.keys("a", "r", "d")
		s.sees("> ard\n", "(attempt 1/10) • Press Ctrl+C to cancel")
		s.misses("r now", "status 529")
	})
}

func TestFortyColumnsHaveRoomForTheSentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(6, llmtest.Says("ok"))...)), 80, 24)
		s.types("Are you there?")
		s.sees("▲ Server overloaded — retrying in 1s… (attempt 1/10) • Press Ctrl+C to cancel")
		s.send(tea.WindowSizeMsg{Width: 40, Height: 24})
		synctest.Wait()
		s.sees("▲ overloaded · 1s · 1/10 · ^C")
		s.golden("forty_columns")
		for _, line := range strings.Split(s.live(), "\n") {
			if n := len([]rune(line)); n > 39 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	})
}

// However small the window is, what is going on goes before all else.
func TestASmallWindowShowsTheWaitFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(11, llmtest.Says("never"))...)), 20, 5)
		s.types("x")
		s.types("y")
		s.types("z")
		s.keys("d")
		for _, height := range []int{5, 4, 3} {
			s.send(tea.WindowSizeMsg{Width: 20, Height: height})
			s.wait(0)
			if live := s.live(); !strings.HasPrefix(live, "▲ overloaded · 1s\n") || strings.Count(live, "\n") >= height {
				t.Errorf("of %d lines there is\n%s", height, live)
			}
		}
	})
}

func TestWithoutColorsTheGlyphsAndWordsAreTheSameAndWithoutLettersThereAreOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newHouse(t, fails(1, llmtest.Says("*ok*"))...))
		c.Env = terminalEnv("NO_COLOR", "1", "LANG", "C")
		s := play(t, c, 80, 24)
		s.types("x")
		s.sees("! HTTP 529: Overloaded", "! Server overloaded - retrying in 1s... (attempt 1/10) | Press Ctrl+C to cancel")
		s.wait(3 * time.Second)
		s.sees("+ Recovered after 1 retry (waited 1s)", "*ok*")
		if all := s.written(); strings.Contains(all, "\x1b") {
			t.Errorf("there are colors: %q", all)
		}
	})
}
