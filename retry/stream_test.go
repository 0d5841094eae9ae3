package retry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// The tests' streams are written as words: "start" is a part that is no
// content, "!" a failure, "?" one that stays, any other word content.
func script(tries ...string) func(context.Context, int) iter.Seq2[string, error] {
	return func(_ context.Context, n int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, word := range strings.Fields(tries[n-1]) {
				switch word {
				case "!":
					yield("", errOverloaded)
					return
				case "?":
					yield("", retry.Permanent(errors.New("no seam")))
					return
				}
				if !yield(word, nil) {
					return
				}
			}
		}
	}
}

func isContent(word string) bool { return word != "start" }

// read ranges over a stream and writes down what came, an error as "!".
func read(stream iter.Seq2[string, error]) (string, error) {
	var got []string
	for word, err := range stream {
		if err != nil {
			return strings.Join(append(got, "!"), " "), err
		}
		got = append(got, word)
	}
	return strings.Join(got, " "), nil
}

func TestStream_IsRetriedOnlyBeforeContent(t *testing.T) {
	tests := []struct {
		name  string
		tries []string
		want  string
	}{
		{"passes", []string{"start a b"}, "start a b"},
		{"fails first", []string{"!", "start a b"}, "start a b"},
		{"fails after the start", []string{"start !", "start !", "start a b"}, "start a b"},
		{"fails after content", []string{"start a !", "start a b"}, "start a !"},
		{"never passes", []string{"start !", "!", "start !", "!"}, "!"},
		{"has no content", []string{"start"}, "start"},
		{"is empty", []string{""}, ""},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			e := retry.Retrier{Policy: policy.Simple()}
			got, err := read(retry.Stream(t.Context(), e, isContent, script(tt.tries...)))
			if got != tt.want || (err != nil) != strings.HasSuffix(tt.want, "!") {
				t.Errorf("%s: got %q, %v; want %q", tt.name, got, err, tt.want)
			}
		})
	}
}

func TestStream_ReportsWhyItEnded(t *testing.T) {
	var tries []retry.Try
	e := retry.Retrier{Policy: policy.Simple(), OnTry: func(t retry.Try) { tries = append(tries, t) }}
	_, err := read(retry.Stream(t.Context(), e, isContent, script("start a !")))
	if !errors.Is(err, errOverloaded) || len(tries) != 2 || tries[0].Fault != nil || tries[1].N != 1 || tries[1].Stop != policy.Committed {
		t.Errorf("%v, %+v; want a try that passed and then failed", err, tries)
	}
}

func TestStream_RecoversAtItsFirstContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		e := retry.Retrier{Policy: policy.Simple(), OnTry: func(t retry.Try) {
			told = append(told, fmt.Sprint(t.Fault == nil, t.Run.Tries))
		}}
		for word := range retry.Stream(t.Context(), e, isContent, script("start !", "start a b")) {
			told = append(told, word)
		}
		if got := fmt.Sprint(told); got != "[false 1 true 1 start a b]" {
			t.Errorf("got %v", got)
		}
	})
}

func TestStream_BreakingOffReleasesIt(t *testing.T) {
	released := false
	g := &onePass{}
	open := func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			defer func() { released = true }()
			for yield("a", nil) {
			}
		}
	}
	for range retry.Stream(t.Context(), retry.Retrier{Breaker: g}, isContent, open) {
		break
	}
	if !released || fmt.Sprint(g.outcomes) != "[ok]" {
		t.Errorf("released %v, reported %q", released, g.outcomes)
	}
}

func TestStream_RangingAgainMakesANewRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := retry.Stream(t.Context(), retry.Retrier{Policy: policy.Simple()}, isContent, script("!", "a"))
		for range 2 {
			if got, err := read(s); got != "a" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
}

func TestStream_EndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := read(retry.Stream(ctx, retry.Retrier{Policy: policy.Patient()}, isContent, script("!", "!")))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, ok := errors.AsType[*fault.Error](err); ok {
			t.Error("the caller leaving came back as a fault")
		}
	})
}

func TestStream_HoldsBackAThousandParts(t *testing.T) {
	const most = 1024 // parts without content, before the answer is committed
	for n, want := range map[int]policy.Stop{most: policy.Exhausted, most + 1: policy.Committed} {
		var stop policy.Stop
		r := retry.Retrier{OnTry: func(t retry.Try) { stop = t.Stop }}
		open := func(context.Context, int) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for range n {
					if !yield("start", nil) {
						return
					}
				}
				yield("", errOverloaded)
			}
		}
		for _, err := range retry.Stream(t.Context(), r, isContent, open) {
			if err != nil && !errors.Is(err, errOverloaded) {
				t.Errorf("%d parts without content: error %v, want the fault", n, err)
			}
		}
		if stop != want {
			t.Errorf("%d parts without content: stop %q, want %q", n, stop, want)
		}
	}
}

// TestStreamWithRest_GoesOnBehindContent has rests that fail as tries do.
func TestStreamWithRest_GoesOnBehindContent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tries  []string
		rests  int // that there are at most
		want   string
		reason policy.Stop
	}{
		{"passes", []string{"start a b"}, 2, "start a b", ""},
		{"the rest passes", []string{"start a !", "start b"}, 2, "start a start b", ""},
		{"the rest fails first", []string{"start a !", "!", "start !", "start b"}, 2, "start a start b", ""},
		{"the rest breaks off too", []string{"start a !", "b !", "c"}, 2, "start a b c", ""},
		{"there is no rest", []string{"start a !", "b"}, 0, "start a !", policy.Committed},
		{"there is one rest", []string{"start a !", "b !", "c"}, 1, "start a b !", policy.Committed},
		{"the rest never passes", []string{"start a !", "!", "!", "!", "!"}, 2, "start a !", policy.Exhausted},
		{"the rest is refused", []string{"start a !", "?"}, 2, "start a !", policy.Committed},
		{"the first fails as ever", []string{"!", "start a !", "b"}, 2, "start a b", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			rests, began := 0, time.Now()
			resume := func() retry.Rest[string] {
				if rests++; rests > tt.rests {
					return nil
				}
				return script(tt.tries...)
			}
			got, err := read(retry.StreamWithRest(t.Context(), retry.Retrier{Policy: policy.Simple()}, isContent, script(tt.tries...), resume))
			end, _ := errors.AsType[*retry.Error](err)
			if got != tt.want || (err != nil) != (tt.reason != "") || end != nil && (end.Stop != tt.reason || !errors.Is(err, errOverloaded)) {
				t.Errorf("%s: got %q, %v; want %q and the end %q of the first failure", tt.name, got, err, tt.want, tt.reason)
			}
			if waited := time.Since(began); len(tt.tries) > 1 && tt.rests > 0 && waited == 0 && tt.reason != policy.Committed {
				t.Errorf("%s: the rest was asked for without a wait", tt.name)
			}
		})
	}
}
