package cli_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// follow returns when a list that a gateway streams has a text, from the start or by a change.
func follow(t *testing.T, url, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("follow %s: %v", url, err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("%s ended before %q", url, text)
}

// saying returns a check of what a command says of a server.
func saying(t *testing.T, base string) func(code int, want string, args ...string) {
	return func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := run(t, []string{"RIDETHROUGH_SERVER=" + base}, args...)
		if got != code || !regexp.MustCompile(want).MatchString(out+errs) {
			t.Errorf("%q: code %d, %q %q; want %d and %s", args, got, out, errs, code, want)
		}
	}
}

// TestWaits_ShowsActsAndSaysWhatWaits is about a gateway that holds a call, and about one that is not there.
func TestWaits_ShowsActsAndSaysWhatWaits(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "55") // longer than this test
		w.WriteHeader(529)
	}))
	defer provider.Close()
	s := start(t, "serve", "--listen", "127.0.0.1:0", "--data", "none", "--upstream", "anthropic="+provider.URL)
	base, _ := s.waitForLog(t, "listening")["url"].(string)
	check := saying(t, base)
	check(0, `^nothing waits\n$`, "waits")
	check(0, `^$`, "status", "--live")
	check(0, `^0 calls tried now\n$`, "waits", "retry", "--all")
	check(0, `(?s)^gateway +`+base+`, \S+, process \d+\nrunning +for \d+s, since .*\npage +.*no calls yet +anthropic, .*\nwaiting +nothing\n$`, "status")

	answered := make(chan int, 1)
	go func() {
		answer, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"model":"m-1","messages":[]}`))
		if err != nil {
			answered <- 0
			return
		}
		answer.Body.Close()
		answered <- answer.StatusCode
	}()
	follow(t, base+"/-/waits", `"state":"waiting"`)
	check(0, `(?s)^CALL +FACE +UPSTREAM.*\n1 +gateway +anthropic +m-1 +server overloaded +in \d+s +\d+s +0 +Go-http-client/1.1\n$`, "waits")
	check(0, `^\{"waits":\[\{"face":"gateway","id":1,"state":"waiting","upstream":"anthropic",.*"remainingMs":\d+`, "waits", "--json")
	check(0, `(?s)anthropic +\S+: .*waiting +1 call, retrying in \d+s…; see .ridethrough waits.\n$`, "status")
	check(0, `"upstreams":\[.*"waits":\[\{"face":"gateway","id":1,`, "status", "--json")
	check(1, `no request 7 waits`, "waits", "give-up", "7")
	check(1, `no request x waits`, "waits", "give-up", "x")
	check(2, `want the numbers of calls, or --all`, "waits", "retry")
	check(2, "want `ridethrough policy show NAME.*`", "policy", "show")
	check(2, `want the numbers of calls, or --all`, "waits", "pause")
	check(2, `want the numbers of calls, or --all`, "waits", "retry", "1", "--all")
	check(2, `--watch needs a terminal`, "waits", "--watch")
	check(0, `^1 call paused\n$`, "waits", "pause", "1")
	check(0, `(?s)\n1 +gateway +anthropic .*paused`, "waits")
	check(0, `^1 call resumed\n$`, "waits", "resume", "--all")
	check(0, `(?s)\n1 +gateway +anthropic .* in \d+s `, "waits")
	check(0, `^1 call tried now\n$`, "waits", "retry", "--all")
	check(0, `^1 call given up\n$`, "waits", "give-up", "1")
	if code := <-answered; code != 529 && code != http.StatusServiceUnavailable {
		t.Errorf("the call that was given up: status %d, want the provider's", code)
	}
	check(1, `no request 1 waits`, "waits", "give-up", "1")
	if code := s.stop(); code != 0 {
		t.Errorf("serve: exit code %d", code)
	}
	for _, command := range []string{"status", "status --live", "waits", "waits retry --all", "waits give-up 1"} {
		check(3, `^ridethrough: no gateway answers at `+base+`: connection refused; start one with .ridethrough serve`, strings.Fields(command)...)
	}
}

// What waits is one list, and is paused, resumed and given up as a whole: calls of programs and turns of conversations.
func TestWaits_TurnsAreInTheListAndActedOn(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "55") // longer than this test
		w.WriteHeader(529)
	}))
	defer provider.Close()
	s := startIn(t, []string{"ANTHROPIC_BASE_URL=" + provider.URL, "ANTHROPIC_API_KEY=sk-ant-test", "XDG_DATA_HOME=" + t.TempDir()},
		"serve", "--listen", "127.0.0.1:0", "--upstream", "anthropic="+provider.URL)
	base, _ := s.waitForLog(t, "listening")["url"].(string)
	polled(t, base+"/-/conversations", `"conversations":[]`)
	for _, id := range []string{"c1", "c2"} {
		if status, text := call(t, "POST", base+"/-/conversations", `{"id":"`+id+`","model":"anthropic/m-1"}`); status != 201 {
			t.Fatalf("create conversation: %d %s", status, text)
		}
		if status, text := call(t, "POST", base+"/-/conversations/"+id+"/turns", `{"text":"hello","id":"t1"}`); status != 202 {
			t.Fatalf("start turn: %d %s", status, text)
		}
		polled(t, base+"/-/waits", `"`+id+`"`)
	}
	check := saying(t, base)
	check(0, `(?s)^CALL +FACE .*\nc1 +conversation +anthropic +m-1 .* in \d+s .*\nc2 +conversation `, "waits")
	check(0, `waiting +2 turns of conversations, retrying in \d+s…; see .ridethrough waits.`, "status")
	check(0, `^2 turns of conversations paused\n$`, "waits", "pause", "--all")
	check(0, `(?s)\nc1 .* paused .*\nc2 .* paused `, "waits")
	check(0, `^2 turns of conversations resumed\n$`, "waits", "resume", "--all")
	check(0, `(?s)\nc1 .* in \d+s .*\nc2 .* in \d+s `, "waits")
	check(0, `^2 turns of conversations given up\n$`, "waits", "give-up", "--all")
	polled(t, base+"/-/waits", `"waits":[]`)
	check(0, `^nothing waits\n$`, "waits")
}
