package cli_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ridethrough/ridethrough/internal/cli"
)

// TestMain lets the test's program play every program of the scripts.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // most tests wait for processes, which do little
	testscript.Main(m, map[string]func(){
		"ridethrough": func() { os.Exit(cli.Main()) },
		"mcpserver":   serveTools,
		"signalling":  func() { os.Exit(signalling(os.Args[1:])) },
		"shape":       shape,
		"flip":        flipping,
	})
}

// TestScripts runs the commands as users do: as processes, with files, pipes
// and signals. Besides testscript's own commands the scripts have:
//
//	simulate [for=PROVIDER] FLAGS   starts a simulator and points the providers at it, or only that one
//	gateway FLAGS                   starts a gateway in front of Anthropic's simulator, and points the provider at it
//	asked N                         ends the simulator that was started last: it was asked for N answers
//	exits CODE PROGRAM ARGS         runs a program that exits with that code
//	signalling SIGNAL PATTERN PROGRAM ARGS
//	                                a program, for exec and exits, that sends another a signal once its output
//	                                matches, and exits as it does
//	flip DIR TEXT                   a program that changes a bit of a text somewhere in the files of a directory
//	shape                           a program that reads events and writes their types and members
func TestScripts(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes, sends them signals and has a shell")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               environment,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"simulate": simulate, "gateway": startGateway, "asked": asked, "exits": exits,
		},
	})
}

// awake disables the race detector's sleep of a second before an exit.
const awake = "GORACE=atexit_sleep_ms=0"

// environment sets up a home directory and a key for every provider. Scripts point
// the providers at simulators.
func environment(e *testscript.Env) error {
	e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
	for _, name := range []string{"CONFIG", "STATE", "DATA"} {
		e.Setenv("XDG_"+name+"_HOME", filepath.Join(e.WorkDir, strings.ToLower(name)))
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		e.Setenv(name, "sk-test-0123456789abcdef0123")
	}
	name, value, _ := strings.Cut(awake, "=")
	e.Setenv(name, value)
	e.Values["simulators"] = &simulators{}
	return nil
}

// bases are the variables with the providers' addresses, and the text before and
// after HOST:PORT in them.
var bases = map[string][3]string{
	"anthropic": {"ANTHROPIC_BASE_URL", "http://", ""},
	"openai":    {"OPENAI_BASE_URL", "http://", "/v1"},
	"gemini":    {"GOOGLE_GEMINI_BASE_URL", "http://", ""},
	"ollama":    {"OLLAMA_HOST", "", ""},
	"lmstudio":  {"LMSTUDIO_BASE_URL", "http://", "/v1"},
	"work":      {"RIDETHROUGH_UPSTREAM_WORK", "http://", ""}, // upstreams of a configuration
	"spare":     {"RIDETHROUGH_UPSTREAM_SPARE", "http://", ""},
}

// simulators are the simulators that a script has started.
type simulators struct{ running []*simulatorProcess }

// simulatorProcess is one that runs.
type simulatorProcess struct {
	cmd  *exec.Cmd
	done sync.WaitGroup // until its log was read

	asked int
}

func simulate(ts *testscript.TestScript, neg bool, args []string) {
	whose := slices.Sorted(maps.Keys(bases))
	if len(args) > 0 && strings.HasPrefix(args[0], "for=") {
		whose, args = []string{strings.TrimPrefix(args[0], "for=")}, args[1:]
	}
	s := &simulatorProcess{cmd: exec.Command("ridethrough", append([]string{"simulator", "--listen", "127.0.0.1:0"}, args...)...)}
	s.cmd.Env = append(os.Environ(), awake)
	stderr, err := s.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(s.end)
	all := ts.Value("simulators").(*simulators)
	all.running = append(all.running, s)

	host := make(chan string, 1)
	s.done.Go(func() { s.listen(stderr, host) })
	at, ok := <-host
	if !ok {
		ts.Fatalf("the simulator did not start")
	}
	for _, name := range whose {
		base := bases[name]
		ts.Setenv(base[0], base[1]+at+base[2])
	}
}

// startGateway starts `serve` in front of the simulator of Anthropic's API.
func startGateway(ts *testscript.TestScript, neg bool, args []string) {
	variable := bases["anthropic"][0]
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", "none", "--upstream", "anthropic=" + ts.Getenv(variable)}, args...)
	cmd := exec.Command("ridethrough", args...)
	cmd.Env, cmd.Dir = append(os.Environ(), awake), ts.Getenv("WORK")
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			var said struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "listening" {
				address <- said.URL
			}
		}
		close(address)
	}()
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
	})
	at, ok := <-address
	if !ok {
		ts.Fatalf("the gateway did not start")
	}
	ts.Setenv(variable, at)
}

// listen reads the log of the simulator, which starts with its address.
func (s *simulatorProcess) listen(stderr io.Reader, host chan<- string) {
	defer close(host)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var said struct{ Msg, URL, Method string }
		_ = json.Unmarshal(lines.Bytes(), &said) // errors of its flags are not JSON
		switch {
		case said.URL != "":
			host <- strings.TrimPrefix(said.URL, "http://")
		case said.Msg == "request" && said.Method == "POST":
			s.asked++
		}
	}
}

// end ends the simulator and waits until its log was read.
func (s *simulatorProcess) end() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.done.Wait()
	_ = s.cmd.Wait()
}

func asked(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value("simulators").(*simulators)
	s := all.running[len(all.running)-1]
	all.running = all.running[:len(all.running)-1]
	s.end()
	if got := strconv.Itoa(s.asked); got != args[0] {
		ts.Fatalf("the simulator was asked %s times, not %s", got, args[0])
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s exits with %d, not %s", args[1], code, args[0])
	}
}

// signalling runs a program, sends it a signal when its output matches, and
// returns its exit code.
func signalling(args []string) int {
	number := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[args[0]]
	cmd := exec.Command(args[2], args[3:]...)
	w := &watcher{pattern: regexp.MustCompile(args[1]), then: func() { _ = cmd.Process.Signal(number) }}
	cmd.Stdin = os.Stdin
	cmd.Stdout, cmd.Stderr = watchedStream{w, os.Stdout}, watchedStream{w, os.Stderr}
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// watcher calls then once, when the output matches.
type watcher struct {
	pattern *regexp.Regexp
	then    func()

	mu   sync.Mutex
	seen []byte
	done bool
}

// watchedStream is one of the streams that a watcher looks at.
type watchedStream struct {
	w  *watcher
	to io.Writer
}

func (h watchedStream) Write(p []byte) (int, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.w.seen = append(h.w.seen, p...)
	if !h.w.done && h.w.pattern.Match(h.w.seen) {
		h.w.done = true
		h.w.then()
	}
	return h.to.Write(p)
}

// shape writes the type of each event and the names of its members.
func shape() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var event map[string]any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		kind := event["type"]
		delete(event, "type")
		fmt.Println(kind, strings.Join(slices.Sorted(maps.Keys(event)), " "))
	}
}
