package proxies_test

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// required is the environment variable without which the tests skip: they take two minutes.
const required = "RIDETHROUGH_PROXIES"

// way is how a client reaches the provider through the gateway.
type way struct {
	name   string
	client http.RoundTripper
	base   string // the client's address of the gateway
	above  string // the gateway's address of the provider
	proxy  string // and its proxy to there; "": none
}

// known are the limits of a way that docs/proxies.md tells, and what arrives then.
var known = map[[2]string]string{
	{"nginx behind", "the first words of a stream"}:     nothing,
	{"Privoxy behind", "the first words of a stream"}:   nothing,
	{"Privoxy in front", "the first words of a stream"}: nothing,
}

// TestProxies_ChangeNothingThatArrives asks in each scene on each way, all at once.
func TestProxies_ChangeNothingThatArrives(t *testing.T) {
	if os.Getenv(required) == "" {
		t.Skip("scripts/soak servers installs the proxies and runs this")
	}
	for _, b := range boxes {
		if _, err := exec.LookPath(strings.Fields(b.command)[0]); err != nil {
			t.Fatalf("scripts/soak servers installs the proxies: %v", err)
		}
	}
	mux := http.NewServeMux()
	provider := listen(t, mux)
	behind := map[string]string{}
	for _, b := range boxes {
		above := provider
		if !b.forward {
			above = b.start(t, provider)
		}
		behind[b.name] = above
	}
	ways := []way{{name: "none", above: provider}, {name: "none, HTTP/1.0", above: provider, client: http10{}}}
	for _, b := range boxes {
		ways = append(ways, way{name: b.name + " in front", above: provider})
		w := way{name: b.name + " behind", above: behind[b.name]}
		if b.forward {
			w.proxy = "http://" + b.start(t, provider)
		}
		ways = append(ways, w)
	}
	gateway, providers := serve(t, mux, ways)
	fronts := map[string]box{}
	for _, b := range boxes {
		fronts[b.name+" in front"] = b
	}
	for i, w := range ways {
		ways[i].base = "http://" + gateway
		standard := &http.Transport{DisableCompression: true}
		t.Cleanup(standard.CloseIdleConnections)
		if b, front := fronts[w.name]; front {
			address := b.start(t, gateway)
			if ways[i].base = "http://" + address; b.forward {
				ways[i].base = "http://" + gateway
				standard.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address})
			}
		}
		if w.client == nil {
			ways[i].client = standard
		}
	}
	check(t, ways, providers)
}

// listen serves a handler until the test is over, and returns its address.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	server := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return l.Addr().String()
}

// upstream returns the name of a scene's upstream on a way.
func upstream(way, scene int) string { return fmt.Sprintf("w%ds%d", way, scene) }

// serve starts the gateway, with an upstream and a provider of its own for each scene on each way, so that none
// learns from another's faults. It returns its address and the providers, by way and scene.
func serve(t *testing.T, mux *http.ServeMux, ways []way) (address string, providers [][]*simulator.Provider) {
	t.Helper()
	dir := t.TempDir()
	binary, config := filepath.Join(dir, "ridethrough"), filepath.Join(dir, "config.yaml")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/ridethrough").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	text := "policies: {brief: {backoff: [1s], max-total-wait: 27s}}\nupstreams:\n"
	for i, w := range ways {
		providers = append(providers, nil)
		for j, s := range scenes {
			name, p := upstream(i, j), s.provider(t)
			providers[i] = append(providers[i], p)
			mux.Handle("/"+name+"/", http.StripPrefix("/"+name, p))
			text += fmt.Sprintf("  %s:\n    api: openai\n    url: http://%s/%s/v1\n", name, w.above, name)
			for _, setting := range []string{s.settings, w.proxy} {
				if strings.HasPrefix(setting, "http") {
					setting = "proxy: " + setting
				}
				if setting != "" {
					text += "    " + setting + "\n"
				}
			}
		}
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	p := run(t, exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--config", config, "--data", "none"))
	return p.until(t, `"listening".*"url":"http://([^"]+)"`), providers
}

// check compares what arrives with what has to, and logs a table of it. The clients that leave come first, so that
// their first words do not wait for the other clients'.
func check(t *testing.T, ways []way, providers [][]*simulator.Provider) {
	t.Helper()
	cells := make([][]string, len(ways))
	for _, leave := range []bool{true, false} {
		var asking sync.WaitGroup
		for i, w := range ways {
			if cells[i] == nil {
				cells[i] = make([]string, len(scenes))
			}
			for j, s := range scenes {
				if s.leaves == leave {
					asking.Go(func() {
						cells[i][j] = play(t, w, s, w.base+"/"+upstream(i, j)+"/v1/chat/completions", providers[i][j])
					})
				}
			}
		}
		asking.Wait()
	}
	t.Log("| proxy | scene | what the client has | tries |")
	for i, w := range ways {
		for j, s := range scenes {
			t.Logf("| %s | %s | %s", w.name, s.name, cells[i][j])
		}
	}
}

// play asks in a scene on a way, and returns the end of the table's row.
func play(t *testing.T, w way, s scene, url string, p *simulator.Provider) string {
	got := make([]outcome, max(1, s.callers))
	var asking sync.WaitGroup
	for k := range got {
		asking.Go(func() { got[k] = ask(w.client, url, s) })
	}
	asking.Wait()
	want := cmp.Or(known[[2]string{w.name, s.name}], s.want)
	cell := want
	for _, o := range got {
		if o.what != want {
			cell = o.what
			t.Errorf("%s, %s: got %s, want %s; %s", w.name, s.name, o.what, want, o.why)
		}
	}
	if cell == words {
		cell += " after " + got[0].first.Round(time.Millisecond).String()
	}
	tries := len(p.Requests())
	if s.tries > 0 && tries != s.tries {
		t.Errorf("%s, %s: the provider was asked %d times, want %d", w.name, s.name, tries, s.tries)
	}
	return fmt.Sprintf("%s | %d |", cell, tries)
}
