package classify_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// weighed returns the signs of evidence, one per line, the deciding one with an arrow.
func weighed(e classify.Evidence) (lines []string) {
	for _, s := range (classify.Classifier{}).Weigh(e) {
		mark := " "
		if s.Decides {
			mark = ">"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %v %d: %s", mark, s.From, s.Found, s.Kind, s.Sure, s.Because))
	}
	return lines
}

func TestWeigh_SaysWhatDecidesAndWhyTheRestDoesNot(t *testing.T) {
	response := func(status int, body string) classify.Evidence {
		return classify.Response(status, nil, []byte(body), start)
	}
	tests := []struct {
		name string
		e    classify.Evidence
		want []string
	}{
		{"a name before a status", response(429, openAIBody("insufficient_quota", "", "no")), []string{
			"> type insufficient_quota: quota 100: a name with one meaning is asked before texts and statuses",
			"  status 429: rate-limited 50: not asked: a name with one meaning is asked before texts and statuses",
		}},
		{"a text that proves too little", response(503, "The credit balance service is down"), []string{
			"  text credit balance: quota 60: it proves too little against this status: 60 % sure, and it takes 80 %",
			"> status 503: overloaded 50: no name and no text says more than the status",
		}},
		{"a word against a refusal", response(401, google("UNAVAILABLE", "No.", "")), []string{
			"  reason UNAVAILABLE: overloaded 80: it proves too little against this status: 80 % sure, and it takes 100 %",
			"> status 401: auth 50: no name and no text says more than the status",
		}},
		{"another vendor's number", response(404, `{"message":"no","type":"x","code":"3040"}`), []string{
			"  code 3040: overloaded 0: the number is another vendor's",
			"> status 404: invalid 50: no name and no text says more than the status",
		}},
		{"a wait turns a spent window into a throttle", response(429, "quota exceeded, retry in 20 seconds"), []string{
			"> text quota exceeded: quota 90: a text says more than a general name or a status",
			"  status 429: rate-limited 50: not asked: a text says more than a general name or a status",
			"> wait 20s: rate-limited 100: a limit is a throttle up to a wait of 15m0s, and a spent window above",
		}},
		{"nothing", classify.Failure(errors.New("?"), start), []string{"> nothing : unknown 0: no rule knows it"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, weighed(tt.e)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestWeigh_AgreesWithClassify checks on every shape that the signs explain the fault that they are about.
func TestWeigh_AgreesWithClassify(t *testing.T) {
	for _, s := range readShapes(t) {
		f := s.classify()
		decides := fault.Kind(255)
		for _, sign := range (classify.Classifier{}).Weigh(s.evidence()) {
			if sign.Decides {
				decides = sign.Kind // a wait after the rest
			}
			if sign.Sure < 0 || sign.Sure > 100 || sign.Because == "" && !sign.Decides {
				t.Errorf("%s: %+v", s.ID, sign)
			}
		}
		if decides != f.Kind {
			t.Errorf("%s is %v by %s, but what decides says %v", s.ID, f.Kind, f.Rule, decides)
		}
	}
}

func TestClassify_WaitOfAJudgeReplacesTheProviders(t *testing.T) {
	judge := func(e classify.Evidence) (classify.Ruling, bool) {
		return classify.Ruling{Kind: fault.Overloaded, Rule: "mine", Wait: time.Minute}, e.Provider == "relay"
	}
	header := http.Header{"Retry-After": {"7"}, "X-Should-Retry": {"false"}}
	for provider, want := range map[string]time.Duration{"relay": time.Minute, "other": 7 * time.Second} {
		c := classify.Classifier{Judges: []classify.Judge{judge}, Provider: provider}
		f := c.FromResponse(503, header, nil, start)
		if got := f.RetryAfter(start); got != want || f.Final != (provider == "other") {
			t.Errorf("from %s: wait %v, final %v by %s, want %v", provider, got, f.Final, f.Rule, want)
		}
	}
}
