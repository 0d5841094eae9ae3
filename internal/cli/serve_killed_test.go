package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store/bolt"
)

var (
	serveKills = flag.Int("serve-kills", 5, "how often serve is killed in TestServe_KilledProcessLosesNoTurn, with six turns each; 150 take some minutes")
	serveFlips = flag.Int("serve-flips", 5, "in how many places of its file a bit is flipped in TestServe_FlippedBitIsNamedOrHarmless; 40 take a minute or two")
)

const talkTurns = 10 // of a conversation

// talks are conversations with a `serve` that is killed.
type talks struct {
	killedRun
	dir      string
	answered atomic.Int64 // requests at the provider
}

// newTalks returns a `serve` that does not run yet, on a store in a directory, with a simulated provider.
func newTalks(t *testing.T, dir string, script simulator.Script) *talks {
	k := &talks{killedRun: killedRun{T: t, provider: simulator.New(script), home: t.TempDir()}, dir: dir}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer k.answered.Add(1)
		k.provider.ServeHTTP(w, r)
	}))
	k.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(natstest.Ports(t, 1)[0]))
	k.args = []string{"serve", "--listen", k.addr, "--data", dir}
	k.env = []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-ant-test", "RIDETHROUGH_CONFIG="}
	t.Cleanup(func() {
		if k.cmd != nil {
			k.kill()
		}
		server.Close()
		_ = k.provider.Close()
	})
	return k
}

// request sends a request once. The status is 0 if there is no answer.
func (k *talks) request(method, path, body string) (status int, header http.Header, text string) {
	req, err := http.NewRequestWithContext(k.Context(), method, "http://"+k.addr+"/-/"+path, strings.NewReader(body))
	if err != nil {
		k.Errorf("create request: %v", err)
		return 0, nil, ""
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, ""
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, ""
	}
	return resp.StatusCode, resp.Header, string(answer)
}

// get returns an answer with status 200, or an empty one.
func (k *talks) get(path string) string {
	status, _, text := k.request("GET", path, "")
	if status != 200 {
		return ""
	}
	return text
}

// send sends a request until it has one of some statuses, as a client does whose server restarts.
func (k *talks) send(method, path, body string, want ...int) {
	for end := time.Now().Add(3 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		status, _, text := k.request(method, path, body)
		switch {
		case slices.Contains(want, status):
			return
		case status != 0 && status != http.StatusServiceUnavailable, time.Now().After(end):
			k.Errorf("%s %s: got %d %s, want one of %d", method, path, status, text, want)
			return
		}
	}
}

// end ends `serve` with a signal.
func (k *talks) end() {
	_ = k.cmd.Process.Signal(syscall.SIGTERM)
	if err := k.cmd.Wait(); err != nil {
		k.Errorf("serve ends with %v\n%s", err, tail(k.said.String(), 3000))
	}
}

// text returns the message of a turn.
func (*talks) text(turn int) string { return fmt.Sprintf("question %d.", turn) }

// submit sends turns as their numbers come, those of a conversation in order.
func (k *talks) submit(turns <-chan int) {
	for turn := range turns {
		id := fmt.Sprint("c", turn/talkTurns)
		if turn%talkTurns == 0 {
			k.send("POST", "conversations", `{"id":"`+id+`","model":"anthropic/claude-sonnet"}`, 201, 409)
		}
		k.send("POST", "conversations/"+id+"/turns", fmt.Sprintf(`{"id":"t%d","text":%q}`, turn, k.text(turn)), 202)
	}
}

// finish waits until nothing is left to do in a conversation.
func (k *talks) finish(id string) {
	for end := time.Now().Add(3 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		text := k.get("conversations/" + id)
		if text != "" && !strings.Contains(text, `"turnId"`) && strings.Contains(text, `"queue":[]`) {
			return
		}
		if time.Now().After(end) {
			k.Errorf("%s is not done: %s", id, text)
			return
		}
	}
}

// outcome is what has become of turns.
type outcome struct{ lost, doubled, failed, restarted int }

// review counts what has become of the turns of a conversation.
func (k *talks) review(o *outcome, id string, first, beyond int) {
	count := map[string]int{}
	for line := range strings.SplitSeq(k.get("conversations/"+id+"/records"), "\n") {
		var r struct {
			Turn, Type string
			Body       struct {
				Status, Text string
				Partial      bool
			}
		}
		if json.Unmarshal([]byte(line), &r) != nil || r.Type == "assistant-message" && r.Body.Partial {
			continue
		}
		count[r.Type+" "+r.Turn]++
		switch {
		case r.Type == "turn-sealed" && r.Body.Status != "done":
			o.failed++
			k.Errorf("%s of %s is sealed %s", r.Turn, id, r.Body.Status)
		case r.Type == "turn-restarted":
			o.restarted++
		}
	}
	for turn := first; turn < beyond; turn++ {
		for _, kind := range []string{"input-queued", "user-message", "assistant-message", "turn-sealed"} {
			switch n := count[fmt.Sprintf("%s t%d", kind, turn)]; {
			case n == 0:
				o.lost++
				k.Errorf("t%d of %s has no %s", turn, id, kind)
			case n > 1:
				o.doubled++
				k.Errorf("t%d of %s has %d records %s", turn, id, n, kind)
			}
		}
	}
}

// serve is killed again and again, also while it starts, while clients send turns and the provider fails now and then.
// No turn is lost, none is done twice and none fails.
func TestServe_KilledProcessLosesNoTurn(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for seconds")
	}
	t.Parallel()
	var outages []simulator.Outage
	for at := 2 * time.Second; at < time.Hour; at += 9 * time.Second {
		outages = append(outages, simulator.Outage{From: at, To: at + time.Second})
	}
	k := newTalks(t, t.TempDir(), simulator.Script{Pace: 15 * time.Millisecond, Outages: outages})
	const users, each = 12, 6
	var clients sync.WaitGroup
	var feeds []chan int
	for range users {
		turns := make(chan int, each**serveKills)
		feeds = append(feeds, turns)
		clients.Go(func() { k.submit(turns) })
	}
	turns, began := 0, time.Now()
	for n := range *serveKills {
		for range each {
			feeds[turns/talkTurns%users] <- turns
			turns++
		}
		if k.begin(); n%5 > 0 {
			k.awaitListening()
		}
		<-time.After(time.Duration(rand.IntN(1200)) * time.Millisecond)
		k.kill()
	}
	for _, turns := range feeds {
		close(turns)
	}
	killed := time.Since(began)
	k.startGateway()
	clients.Wait()
	o := outcome{}
	for first := 0; first < turns; first += talkTurns {
		id := fmt.Sprint("c", first/talkTurns)
		k.finish(id)
		k.review(&o, id, first, min(first+talkTurns, turns))
	}
	if text := k.get("warnings"); strings.Contains(text, "lost") {
		t.Errorf("warnings: got %s, want that nothing is lost", text)
	}
	k.end()
	k.wantSoundDirectory()
	t.Logf("%d kills in %v, %d turns in %v: %d lost, %d doubled, %d failed; %d restarts of turns",
		*serveKills, killed.Round(time.Second), turns, time.Since(began).Round(time.Second), o.lost, o.doubled, o.failed, o.restarted)
}

// wantSoundDirectory checks the file of the store, and that killed processes have left none beside it.
func (k *talks) wantSoundDirectory() {
	k.Helper()
	if problems, err := bolt.Check(k.dir); err != nil || len(problems) > 0 {
		k.Errorf("check: got %v, %v; want no problem", problems, err)
	}
	files, err := os.ReadDir(k.dir)
	for _, f := range files {
		if name := f.Name(); strings.HasPrefix(name, "copy-") || strings.HasPrefix(name, "sync-") {
			k.Errorf("the directory has %s, which a killed process has left", name)
		}
	}
	if err != nil {
		k.Errorf("read the directory: %v", err)
	}
}

// A copy of the file is taken while serve uses it and turns are done. It is a store with all that was accepted before.
func TestExport_SnapshotOfARunningServe(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	k := newTalks(t, t.TempDir(), simulator.Script{})
	k.startGateway()
	turns := make(chan int)
	var client sync.WaitGroup
	client.Go(func() { k.submit(turns) })
	accepted := 0
	for range 3 {
		for range talkTurns + 1 { // the next is taken when the one before was accepted
			turns <- accepted
			accepted++
		}
		dir := t.TempDir()
		code, file, errs := run(t, nil, "export", "--snapshot", "--server", "http://"+k.addr)
		if err := os.WriteFile(filepath.Join(dir, "conversations.db"), []byte(file), 0o600); err != nil || code != 0 || errs != "" {
			t.Fatalf("export: code %d, %s, %v", code, errs, err)
		}
		if problems, err := bolt.Check(dir); err != nil || len(problems) > 0 {
			t.Errorf("check a copy: got %v, %v; want no problem", problems, err)
		}
		code, lines, errs := run(t, nil, "export", "--data", dir)
		if got := strings.Count(lines, `"type":"input-queued"`); code != 0 || errs != "" || got < accepted-1 {
			t.Errorf("export of a copy: code %d, %s, %d messages; want %d", code, errs, got, accepted-1)
		}
	}
	close(turns)
	client.Wait()
	k.end()
	code, file, errs := run(t, nil, "export", "--snapshot", "--data", k.dir)
	if code != 0 || errs != "" || len(file) < 64<<10 {
		t.Errorf("export of a closed store: code %d, %s, %d bytes", code, errs, len(file))
	}
	for _, args := range []string{"c1", "--nats nats://127.0.0.1:1"} {
		if code, _, errs := run(t, nil, append([]string{"export", "--snapshot"}, strings.Fields(args)...)...); code == 0 {
			t.Errorf("export --snapshot %s: got code 0 and %s, want an error", args, errs)
		}
	}
}

const flippedTalks = 12

// A bit of the file is flipped while serve does not run. It starts all the same, or says why its conversations are off.
// Each conversation is as it was, or what it has lost is named, and the process takes turns until it is to end.
func TestServe_FlippedBitIsNamedOrHarmless(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	k := newTalks(t, t.TempDir(), simulator.Script{})
	k.startGateway()
	turns := make(chan int, flippedTalks*talkTurns)
	for turn := range cap(turns) {
		turns <- turn
	}
	close(turns)
	k.submit(turns)
	want := map[string]string{}
	for n := range flippedTalks {
		id := fmt.Sprint("c", n)
		k.finish(id)
		want[id] = recordLines(k.get("conversations/" + id + "/records"))
	}
	k.end()
	original, err := os.ReadFile(filepath.Join(k.dir, "conversations.db"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	random := rand.New(rand.NewPCG(3, uint64(*serveFlips)))
	named, harmless := 0, 0
	for i := range *serveFlips {
		place := []int{24, 4096 + 24, 60}[i%3] + i/3*8 // the headers of the file
		if i >= 6 {
			place = random.IntN(len(bytes.TrimRight(original, "\x00")))
		}
		data := bytes.Clone(original)
		data[place] ^= 1 << random.IntN(8)
		k.dir = t.TempDir()
		k.args[len(k.args)-1] = k.dir
		if err := os.WriteFile(filepath.Join(k.dir, "conversations.db"), data, 0o600); err != nil {
			t.Fatalf("write the file: %v", err)
		}
		if k.startGateway(); k.wantOriginalOrNamed(want, place) {
			named++
		} else {
			harmless++
		}
		k.end()
	}
	t.Logf("%d flipped bits in a file of %d bytes: %d named, %d harmless", *serveFlips, len(original), named, harmless)
}

// recordLines returns the records of a file without what depends on the time of its export.
func recordLines(file string) string {
	_, records, _ := strings.Cut(file, "\n")
	return records
}

// wantOriginalOrNamed checks a server with a damaged file, and reports whether it names the damage.
func (k *talks) wantOriginalOrNamed(want map[string]string, place int) (named bool) {
	k.Helper()
	k.send("GET", "livez", "", 200)
	var differ []string
	_, _, list := k.request("GET", "conversations?limit=500", "")
	for id, records := range want {
		status, _, text := k.request("GET", "conversations/"+id+"/records", "")
		if status != 200 || recordLines(text) != records || !strings.Contains(list, `"id":"`+id+`"`) {
			differ = append(differ, fmt.Sprint(id, " ", status, " ", text[:min(len(text), 200)]))
			named = named || strings.Contains(text, `"code":"damaged"`)
		}
	}
	for id := range want {
		status, _, _ := k.request("POST", "conversations/"+id+"/turns", `{"id":"later","text":"and now?"}`)
		if status == 202 {
			k.finish(id)
		}
		_, _, text := k.request("GET", "conversations/"+id+"/events?until=sealed", "")
		named = named || strings.Contains(text, "record-lost")
	}
	k.send("GET", "livez", "", 200)
	warnings := k.get("warnings")
	for _, word := range []string{"lost", "damaged", "off"} {
		named = named || strings.Contains(warnings, word)
	}
	if len(differ) > 0 && !named {
		k.Errorf("a bit of byte %d is flipped: %v, and nothing is named; warnings %s\n%s", place, differ, warnings, tail(k.said.String(), 2000))
	}
	return named
}
