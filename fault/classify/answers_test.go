package classify_test

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

var update = flag.Bool("update", false, "write testdata/answers.txt instead of comparing it")

// answers is how every case of testdata and every seed of the fuzz targets is read: a line for each.
//
//go:embed testdata/answers.txt
var answers string

// answerLine returns all that a fault says besides what was sent.
func answerLine(id string, f *fault.Error) string {
	line := fmt.Sprintf("%s: %v by %s: %s", id, f.Kind, f.Rule, f.Reason)
	add := func(format string, args ...any) { line += " | " + fmt.Sprintf(format, args...) }
	if f.Status != 0 {
		add("%d", f.Status)
	}
	if f.Code != "" {
		add("code %q", f.Code)
	}
	if wait := f.RetryAfter(start); wait > 0 || f.Wait > 0 {
		add("wait %v", wait.Round(time.Millisecond))
	}
	for _, flag := range []struct {
		is   bool
		what string
	}{{f.Retryable(), "retryable"}, {f.Window, "window"}, {f.Final, "final"}, {f.Guessed, "guessed"}, {f.AtOnce, "at once"}, {f.Images, "images"}, {f.GivenUp, "given up"}, {f.Retries > 0, "a few times"}} {
		if flag.is {
			add("%s", flag.what)
		}
	}
	return line + "\n"
}

func TestClassifier_AnswersStayAsTheyAre(t *testing.T) {
	var got strings.Builder
	for _, file := range [][]byte{gathered, reports, causes, unseen} {
		for _, s := range readSpecimens(t, file) {
			got.WriteString(answerLine(s.ID, s.classify()))
		}
	}
	for i, s := range shapes {
		got.WriteString(answerLine(fmt.Sprintf("shape %d", i), classify.FromResponse(200+50*i, http.Header{"Content-Type": {"text/html"}}, []byte(s), start)))
		got.WriteString(answerLine(fmt.Sprintf("shape %d, event", i), classify.FromEvent([]byte(s), start)))
		got.WriteString(answerLine(fmt.Sprintf("shape %d, error", i), classify.Of(errors.New(s), start)))
	}
	for _, s := range resets {
		got.WriteString(answerLine("reset "+s, classify.FromResponse(429, http.Header{"Retry-After": {s}}, []byte("try again in "+s), start)))
	}
	if *update {
		if err := os.WriteFile("testdata/answers.txt", []byte(got.String()), 0o666); err != nil {
			t.Fatalf("write: %v", err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(answers, "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("a change of these is meant? go test ./fault/classify -run AnswersStay -update (-want +got):\n%s", diff)
	}
}
