package tui_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// What does not pass by itself is not offered to be tried again.
func TestFailure_OffersNoTryThatCannotHelp(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Auth, fault.Invalid, fault.Refused, fault.TooLong} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, config(newService(t, llmtest.Fails(&fault.Error{Kind: kind, Status: 400, Message: "no"}))), 80, 24)
			s.types("x")
			s.sees("Nothing is lost")
			if screen := s.screen(); strings.Contains(screen, "tries again") {
				t.Errorf("%v: got an offer to try again, want none:\n%s", kind, screen)
			}
		})
	}
}

func TestFailure_StaysForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &fault.Error{Kind: fault.Auth, Status: 401, Message: "bad key"}
		s := start(t, config(newService(t, llmtest.Fails(refused))), 80, 24)
		s.types("one")
		s.sees("Failed: authentication. Check the key for acme and try again.")
		s.wait(9 * time.Second)
		if live := s.live(); !strings.Contains(live, "Failed: authentication") {
			t.Errorf("view after nine seconds: got no failure, want it:\n%s", s.screen())
		}
		s.wait(2 * time.Second)
		if live := s.live(); strings.Contains(live, "Failed: authentication") {
			t.Errorf("view after ten seconds: got the failure, want none:\n%s", live)
		}
		s.sees("Failed: authentication")
	})
}

// Each failure stays below its own prompt, however soon the next turn begins.
func TestFailure_StaysWithItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := func(why string) llmtest.Answer {
			return llmtest.Fails(&fault.Error{Kind: fault.Invalid, Status: 400, Message: why})
		}
		s := start(t, config(newService(t, failed("no such thing"), failed("nor that"), llmtest.Says("Now I can."))), 80, 40)
		s.types("one")
		s.types("two")
		s.types("three")
		s.wait(11 * time.Second)
		screen, at := s.screen(), 0
		for _, want := range []string{"> one", "no such thing", "> two", "nor that", "> three", "Now I can."} {
			n := strings.Index(screen[at:], want)
			if n < 0 {
				t.Fatalf("screen: got no %q behind what comes before it, want it:\n%s", want, screen)
			}
			at += n
		}
	})
}

// The details name the fault as the line above them does.
func TestDetails_NameTheFaultAsTheLineDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := &fault.Error{Kind: fault.Unavailable, Message: "connection refused"}
		s := start(t, config(newService(t, llmtest.Fails(lost), llmtest.Says("Back."))), 80, 24)
		s.types("x")
		s.keys("d")
		s.sees("▲ Network — retrying in", "\n  network\n")
	})
}
