package simulator_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// everyWord holds each reply of the language once.
const everyWord = `529, 429;retry-after=7;x-note="a, b; c*2", 503;body="go \"away\"\n", refused, reset, silence, silence:30s, stall, stall:30s, window:1m30s, ` +
	`error-first, role-error, cut:3, cut:3:clean, cut:3:done, cut:3:error, cut:3:silent, cut:120b, cut:120b:clean, continue:exact, continue:paraphrase, continue:decline, continue:repeat, continue:no-prefill, empty, html, error-200, drip:200ms, ok, ` +
	`too-long, quota, key-echo, blocked, say:Hello, say:"", think:"hm, so"+hidden+call:list{"path":"a, b*}"}+call:now+call:odd"{"+mixed, ` +
	`think:a+say:b+call:c{}+no-ids+stop:length+cut:2:error, say:a+drip:1s, call:a+stop:refusal+silence, say:a+continue:repeat+cut:2`

func TestParse_EveryReply(t *testing.T) {
	want := []simulator.Reply{
		simulator.Status{Code: 529},
		simulator.Status{Code: 429, Header: http.Header{"Retry-After": {"7"}, "X-Note": {"a, b; c*2"}}},
		simulator.Status{Code: 503, Body: "go \"away\"\n"},
		simulator.Refuse,
		simulator.Reset,
		simulator.Silence{},
		simulator.Silence{For: 30 * time.Second},
		simulator.Stall{},
		simulator.Stall{For: 30 * time.Second},
		simulator.SpentWindow{For: 90 * time.Second},
		simulator.ErrorFirst,
		simulator.RoleError,
		simulator.Cut{After: 3},
		simulator.Cut{After: 3, End: simulator.Clean},
		simulator.Cut{After: 3, End: simulator.Done},
		simulator.Cut{After: 3, End: simulator.Failed},
		simulator.Cut{After: 3, End: simulator.Silent},
		simulator.Cut{After: 120, Bytes: true},
		simulator.Cut{After: 120, Bytes: true, End: simulator.Clean},
		simulator.Exact, simulator.Paraphrase, simulator.Decline, simulator.Repeat, simulator.NoPrefill,
		simulator.Empty,
		simulator.HTML,
		simulator.Error200,
		simulator.Drip{Every: 200 * time.Millisecond},
		simulator.OK,
		simulator.TooLong, simulator.Spent, simulator.KeyEcho, simulator.Blocked,
		simulator.Say{Text: "Hello"},
		simulator.Say{},
		simulator.Say{
			Reasoning: "hm, so", Hidden: true, Mixed: true,
			Calls: []simulator.Call{{Name: "list", Arguments: `{"path":"a, b*}"}`}, {Name: "now"}, {Name: "odd", Arguments: "{"}},
		},
		simulator.Say{
			Reasoning: "a", Text: "b", Calls: []simulator.Call{{Name: "c", Arguments: "{}"}}, NoIDs: true, Stop: simulator.Length,
			How: simulator.Cut{After: 2, End: simulator.Failed},
		},
		simulator.Say{Text: "a", How: simulator.Drip{Every: time.Second}},
		simulator.Say{Calls: []simulator.Call{{Name: "a"}}, Stop: simulator.Refusal, How: simulator.Silence{}},
		simulator.Say{Text: "a", Continue: simulator.Repeat, How: simulator.Cut{After: 2}},
	}
	if got := parse(t, everyWord); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := line(want); got != everyWord {
		t.Errorf("got  %s\nwant %s", got, everyWord)
	}
}

// line writes replies as Parse reads them.
func line(replies []simulator.Reply) string {
	var words []string
	for _, r := range replies {
		words = append(words, r.String())
	}
	return strings.Join(words, ", ")
}

func TestParse_RepeatsReplies(t *testing.T) {
	for words, want := range map[string]string{
		"":                             "",
		" \n ":                         "",
		"529*3,ok":                     "529, 529, 529, ok",
		"cut:1 * 2":                    "cut:1, cut:1",
		`503;body="*3"*2`:              `503;body="*3", 503;body="*3"`,
		`call:a{"b": [1, 2]} * 2`:      `call:a{"b": [1, 2]}, call:a{"b": [1, 2]}`,
		` cut:1 + say:a b + think:"c"`: `think:c+say:"a b"+cut:1`,
		"503 ; Body = x ; X-A=1;x-a=":  `503;x-a=1;x-a="";body=x`,
	} {
		if got := line(parse(t, words)); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

func TestParse_ErrorNamesTheReply(t *testing.T) {
	for words, want := range map[string]string{
		"ok, broken":           `unknown reply "broken": want ok, a status`,
		"529,,ok":              `unknown reply ""`,
		"refused:3":            `unknown reply "refused:3"`,
		"99":                   `reply "99": want a status from 200 to 599`,
		"600":                  `reply "600": want a status`,
		"12x":                  `reply "12x": want a status`,
		"429;retry-after":      `"retry-after" is not a header`,
		"429;a b=c":            `"a b=c" is not a header`,
		`429;x="a`:             `not a string in double quotes`,
		"429;x=`\"`":           `not a string in double quotes`,
		`429;x="\n"`:           `control character`,
		"cut":                  `reply "cut": want a count`,
		"cut:-1":               `reply "cut:-1": want a count`,
		"cut:1:dirty":          `want the ending clean, done, error or silent`,
		"drip":                 `reply "drip": want a time`,
		"drip:0s":              `reply "drip:0s": want a time`,
		"window":               `reply "window": want a time`,
		"silence:soon":         `reply "silence:soon": want a time`,
		"ok*0":                 `reply "ok*0": want one number from 1 to 10000 after the star`,
		"ok*2*2":               `reply "ok*2*2": want one number`,
		"ok*9999999":           `want one number`,
		"ok*10000,ok":          `more than 10000 replies`,
		"529;body=x\n;q=1, no": `unknown reply "no"`,
		"say:a+529":            `"529" is not a part of an answer`,
		"cut:1+drip:1s":        `"drip:1s" is not a part of an answer: want at most one`,
		"ok+ok":                `"ok" is not a part of an answer`,
		"say:a+":               `unknown reply ""`,
		`say:"a`:               `not a string in double quotes`,
		"call:a b{}":           `"a b" is not a tool name`,
		"call:{}":              `"" is not a tool name`,
		"call:a{b}":            `the arguments "{b}" are not a JSON object`,
		`call:a"`:              `not a string in double quotes`,
		"stop:now":             `want stop:length or stop:refusal`,
	} {
		got, err := simulator.Parse(words)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v; want an error with %s", words, got, err, want)
		}
	}
}

func TestParseOutage_SpanAndReply(t *testing.T) {
	for words, want := range map[string]simulator.Outage{
		"5s-25s":         {From: 5 * time.Second, To: 25 * time.Second},
		"1m0s-":          {From: time.Minute},
		"5s-25s=503":     {From: 5 * time.Second, To: 25 * time.Second, Reply: simulator.Status{Code: 503}},
		"0s-20s=refused": {To: 20 * time.Second, Reply: simulator.Refuse},
		"0s-1s=429;a=b":  {To: time.Second, Reply: simulator.Status{Code: 429, Header: http.Header{"A": {"b"}}}},
	} {
		got, err := simulator.ParseOutage(words)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseOutage(%q): got %+v and error %v, want %+v", words, got, err, want)
		}
		if got.String() != words {
			t.Errorf("%s became %s", words, got)
		}
	}
}

func TestParseOutage_ErrorNamesTheProblem(t *testing.T) {
	for words, want := range map[string]string{
		"":            "want FROM-TO",
		"5s":          "want FROM-TO",
		"-5s":         "want FROM-TO",
		"5s-5s":       "want FROM-TO",
		"9s-5s":       "want FROM-TO",
		"a-b":         "want FROM-TO",
		"1s-2s=":      `unknown reply ""`,
		"1s-2s=ok,ok": `unknown reply "ok,ok"`,
	} {
		_, err := simulator.ParseOutage(words)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "outage ") {
			t.Errorf("%q: %v, want %s", words, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everyWord)
	f.Add("529*5, 429;retry-after=7*2")
	f.Add(`503;body="\xff";a="`)
	f.Add(`think:"a+b"+call:read{"path":"a,}\""}+call:b"\xff"*2, say:{+hidden`)
	f.Add("200;A=\n\"\n0") // an error of two lines, once
	f.Fuzz(func(t *testing.T, words string) {
		replies, err := simulator.Parse(words)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("an error of more than one line: %v", err)
			}
			return
		}
		again, err := simulator.Parse(line(replies))
		if err != nil || !reflect.DeepEqual(again, replies) {
			t.Errorf("%q became %q: %v, %v", words, line(replies), again, err)
		}
	})
}

func FuzzParseOutage(f *testing.F) {
	f.Add("5s-25s=503")
	f.Add("1h-")
	f.Fuzz(func(t *testing.T, words string) {
		outage, err := simulator.ParseOutage(words)
		if err != nil {
			return
		}
		again, err := simulator.ParseOutage(outage.String())
		if err != nil || !reflect.DeepEqual(again, outage) {
			t.Errorf("%q became %q: %v, %v", words, outage, again, err)
		}
	})
}
