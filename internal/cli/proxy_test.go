package cli_test

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// company is the network of docs/gateway.md: a provider whose certificate is of a private authority, and a proxy that
// is the only way to it.
type company struct {
	proxy    string // its address
	provider string // the provider's address, which only the proxy knows
	ca       string // the file of the authority

	mu    sync.Mutex
	asked []string // by CONNECT: the host, and the credentials if any
}

func newCompany(t *testing.T) *company {
	t.Helper()
	script := simulator.New(simulator.Script{})
	t.Cleanup(func() { _ = script.Close() })
	provider := httptest.NewUnstartedServer(script)
	provider.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are intended
	provider.StartTLS()                                   // its certificate is for example.com
	t.Cleanup(provider.Close)
	c := &company{provider: provider.Listener.Addr().String(), ca: filepath.Join(t.TempDir(), "corp-ca.pem")}
	proxy := httptest.NewServer(http.HandlerFunc(c.connect))
	t.Cleanup(proxy.Close)
	c.proxy = proxy.Listener.Addr().String()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: provider.Certificate().Raw})
	if err := os.WriteFile(c.ca, authority, 0o600); err != nil {
		t.Fatalf("write the authority: %v", err)
	}
	return c
}

// connect is the proxy: whatever host is asked for, it leads to the provider.
func (c *company) connect(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, strings.TrimSpace(r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization")))
	c.mu.Unlock()
	to, err := net.Dial("tcp", c.provider)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	go func() { _, _ = io.Copy(to, buffered); _ = to.Close() }()
	_, _ = io.Copy(client, to)
}

// wasAsked returns what the proxy was asked since the last call, each once.
func (c *company) wasAsked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := slices.Compact(slices.Sorted(slices.Values(c.asked)))
	c.asked = nil
	return asked
}

// TestProxy_EveryWayToAProvider runs what docs/gateway.md says, with the real program.
func TestProxy_EveryWayToAProvider(t *testing.T) {
	c := newCompany(t)
	const through = "CONNECT example.com:443"
	environment := []string{"HTTPS_PROXY=http://" + c.proxy, "SSL_CERT_FILE=" + c.ca}
	configured := "upstreams: {anthropic: {url: https://example.com, ca: " + c.ca + ", proxy: http://" + c.proxy + "}}\n"
	plain := "upstreams: {anthropic: {url: https://example.com}}\n"
	for _, tt := range []struct {
		name, config string
		env          []string
		status       int
		says         string
		asked        []string
	}{
		{"by the environment", plain, environment, 200, "message_stop", []string{through}},
		{"by the configuration", configured, nil, 200, "message_stop", []string{through}},
		{
			"with a password", plain,
			[]string{"HTTPS_PROXY=http://me:secret@" + c.proxy, "SSL_CERT_FILE=" + c.ca},
			200, "message_stop",
			[]string{through + " Basic bWU6c2VjcmV0"},
		},
		{"lower case", plain, []string{"https_proxy=http://" + c.proxy, "SSL_CERT_FILE=" + c.ca}, 200, "message_stop", []string{through}},
		{"the configuration is above the environment", configured, []string{"HTTPS_PROXY=http://127.0.0.1:1"}, 200, "message_stop", []string{through}},
		{"without the authority", plain, environment[:1], 503, "name that in ca: of this upstream", []string{through}},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(tt.config), 0o600); err != nil {
			t.Fatalf("write the configuration: %v", err)
		}
		url, kill := serveProcess(t, append(bare(), tt.env...), "--data", "none", "--config", file)
		status, text := asks(t, strings.TrimSuffix(url, "/-/conversations"))
		kill()
		if asked := c.wasAsked(); status != tt.status || !strings.Contains(text, tt.says) || !slices.Equal(asked, tt.asked) {
			t.Errorf("%s: got %d %.300q, the proxy was asked %q; want %d with %q, and %q", tt.name, status, text, asked, tt.status, tt.says, tt.asked)
		}
	}
}

// bare are empty values of the variables about proxies, which the machine of the test may have.
func bare() (none []string) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		none = append(none, name+"=")
		if strings.HasSuffix(name, "PROXY") {
			none = append(none, strings.ToLower(name)+"=")
		}
	}
	return none
}

// asks sends a request for a stream, and returns the status and the text of the answer.
func asks(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return answer.StatusCode, string(text)
}

// TestProxy_AgentsAndDoctorTakeTheSameWay: what asks providers beside the gateway reads the same settings.
func TestProxy_AgentsAndDoctorTakeTheSameWay(t *testing.T) {
	c := newCompany(t)
	const through = "CONNECT example.com:443"
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "upstreams: {anthropic: {url: https://example.com, ca: " + c.ca + ", proxy: http://" + c.proxy + "}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("write the configuration: %v", err)
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "--config", file, "-m", "anthropic/claude-x", "hi"}, "is well again"},
		{[]string{"doctor", "--config", file, "--data", t.TempDir()}, "https://example.com answers after"},
	} {
		cmd := exec.Command("ridethrough", tt.args...)
		cmd.Env = append(append(os.Environ(), bare()...), "ANTHROPIC_API_KEY=none", "HOME="+t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1", awake)
		out, _ := cmd.CombinedOutput() // the other providers are behind a proxy that is not there
		if asked := c.wasAsked(); !strings.Contains(string(out), tt.says) || !slices.Equal(asked, []string{through}) {
			t.Errorf("%s: the proxy was asked %q, want %q; want %q in\n%s", tt.args[0], asked, through, tt.says, out)
		}
	}
}

// TestPrograms_SendNothingByThemselves: whatever leaves the machine would go through the proxy. The provider is on
// loopback, to which no proxy leads.
func TestPrograms_SendNothingByThemselves(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	provider := httptest.NewServer(simulator.New(simulator.Script{}))
	t.Cleanup(provider.Close)
	home := t.TempDir()
	env := append(bare(), "HTTPS_PROXY=http://"+c.proxy, "HTTP_PROXY=http://"+c.proxy, "HOME="+home, "OTEL_EXPORTER_OTLP_ENDPOINT=")
	url, kill := serveProcess(t, env, "--data", home, "--upstream", "anthropic="+provider.URL)
	if status, text := asks(t, strings.TrimSuffix(url, "/-/conversations")); status != 200 {
		t.Errorf("through serve: got %d %.200q, want an answer", status, text)
	}
	kill()
	for _, args := range [][]string{
		{"--version"},
		{"policy", "list"},
		{"config", "check"},
		{"explain", "overloaded_error"},
		{"lab", "thirty-second-blip"},
		{"doctor", "--offline"},
		{"status"},
		{"run", "-m", "anthropic/m", "hi"},
	} {
		cmd := exec.Command("ridethrough", args...)
		cmd.Env = append(append(os.Environ(), env...), "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+provider.URL, awake)
		if out, err := cmd.CombinedOutput(); err != nil && args[0] != "doctor" && args[0] != "status" {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if asked := c.wasAsked(); len(asked) > 0 {
		t.Errorf("the proxy was asked for %q, want nothing to leave this machine", asked)
	}
}
