//go:build unix

package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/engine"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/session"
	"github.com/ridethrough/ridethrough/tool"
)

// long makes the tests of processes that are killed as long as they should be
// now and then.
var long = flag.Bool("long", false, "kill processes for minutes instead of seconds")

// dirVariable makes the test binary a process that is to be killed: it works
// on the conversations in the directory.
const dirVariable = "RIDETHROUGH_TEST_SESSION_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		if err := live(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// live is a process that works until it is killed, or until its input ends:
// then it hands back what it is at. It says when it is there.
func live(dir string) error {
	e, err := engine.Open(context.Background(), engine.Config{Dir: dir, Lease: time.Second, Reserve: 1})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	fmt.Println("ready")
	go tellWhenSettled(ctx, e)
	p := &player{engine: e}
	err = session.New(session.Config{Engine: e, World: p.world, Workers: 32, Stay: 40 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	return errors.Join(err, e.Close(context.Background()))
}

// tellWhenSettled says when there is nothing left to do.
func tellWhenSettled(ctx context.Context, e engine.Engine) {
	for idle := 0; idle < 3; {
		if pause(ctx, 100*time.Millisecond) != nil {
			return
		}
		if h, err := e.Health(ctx); err == nil && h.Parked+h.Due+h.Held == 0 {
			idle++
		} else {
			idle = 0
		}
	}
	fmt.Println("settled")
}

// hasty waits as Patient does, in milliseconds.
func hasty() policy.Policy {
	return policy.Policy{
		Retries: policy.Unlimited, Kinds: fault.Transient,
		Wait: policy.Schedule{Steps: []time.Duration{5e6, 10e6, 30e6, 60e6, 300e6}},
	}
}

// player is a provider and a tool that behave as chance has it.
type player struct{ engine engine.Engine }

func (p *player) world(_ context.Context, s session.Settings) (agent.World, error) {
	w := agent.World{Model: p, Tools: []tool.Tool{{Tool: llm.Tool{Name: "work"}, Func: p.work(s.Title)}}}
	w.Retry.Policy = hasty()
	return w, nil
}

func (*player) Name() llm.Name { return large }

func (*player) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	answer := llmtest.Late(time.Duration(rand.IntN(100))*time.Millisecond, llmtest.Says("a whole answer"))
	switch rand.IntN(10) {
	case 0, 1, 2, 3:
		answer = llmtest.Fails(busy)
	case 4:
		answer = llmtest.Breaks("half an answer", &fault.Error{Kind: fault.Truncated, Message: "it broke off"})
	case 5, 6:
		id := fmt.Sprintf("call-%x", rand.Uint64())
		answer = llmtest.Calls(llmtest.Call(id, "work", `{"id":"`+id+`"}`), llmtest.Call(id+"b", "work", `{"id":"`+id+`b"}`))
	}
	return answer(ctx, q)
}

// work refuses to run when its result is in the log.
func (p *player) work(conversation string) func(context.Context, json.RawMessage) (string, error) {
	return func(ctx context.Context, arguments json.RawMessage) (string, error) {
		var in struct{ ID string }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", err
		}
		for r, err := range p.engine.Read(ctx, conversation, 0) {
			if err == nil && r.Type == "tool-result" && strings.Contains(string(r.Body), `"id":"`+in.ID+`"`) {
				return "AGAIN", nil
			}
		}
		return "done", pause(ctx, time.Duration(rand.IntN(50))*time.Millisecond)
	}
}

// process is one that is to be killed.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	said  *bufio.Reader
}

// launch starts a process on a directory and waits until it is there.
func launch(t *testing.T, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.said = bufio.NewReader(out)
	if line, err := p.said.ReadString('\n'); line != "ready\n" {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		t.Fatalf("the process is not there: %q, %v", line, err)
	}
	return p
}

// kill ends the process without a word; end asks it to end.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	_ = p.cmd.Wait()
}

func (p *process) end(t *testing.T) {
	_ = p.input.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the process ended in %v", err)
	}
}

// accept takes turns for the processes to work on.
func accept(t *testing.T, dir string, conversations, turns int) map[string][]string {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Config{Dir: dir, Lease: time.Second, Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	desk := session.New(session.Config{Engine: e})
	accepted := map[string][]string{}
	for n := range conversations {
		id := fmt.Sprint("talk-", n)
		if _, err := desk.Create(t.Context(), id, session.Settings{Title: id}); err != nil {
			t.Fatal(err)
		}
		for range turns {
			said, err := desk.Say(t.Context(), id, "", "go on")
			if err != nil {
				t.Fatal(err)
			}
			accepted[id] = append(accepted[id], said)
		}
	}
	return accepted
}

// Processes are killed at random moments while they work on 200 turns with
// faults. Then every turn is sealed once, no log has a hole, no tool was run
// again after its result was logged, and tries are counted through it all.
func TestProcessesMayBeKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes for some seconds")
	}
	kills, turns := 8, 5
	if *long {
		kills, turns = 200, 100
	}
	dir := t.TempDir()
	accepted := accept(t, dir, 40, turns)
	for range kills {
		p := launch(t, dir)
		_ = pause(t.Context(), time.Duration(200+rand.IntN(600))*time.Millisecond)
		p.kill()
	}
	p := launch(t, dir)
	slow := time.AfterFunc(2*time.Minute, p.kill)
	defer slow.Stop()
	if line, err := p.said.ReadString('\n'); line != "settled\n" {
		t.Errorf("the last process did not come to an end: %q, %v", line, err)
	}
	p.end(t)
	review(t, dir, accepted)
}

// review looks at what has become of the turns.
func review(t *testing.T, dir string, accepted map[string][]string) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Config{Dir: dir, Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	c := &chaos{t: t, engine: e}
	c.check(accepted)
	count := map[string]int{}
	for id := range accepted {
		for r, err := range e.Read(t.Context(), id, 0) {
			if err != nil {
				t.Error(err)
			}
			count[r.Type]++
			if strings.Contains(string(r.Body), "AGAIN") {
				t.Errorf("a tool was run again after its result was logged: %s", r.Body)
			}
		}
	}
	t.Logf("%d turns, %d restarts, %d waits, %d tool results", count["turn-sealed"], count["turn-restarted"], count["turn-parked"], count["tool-result"])
	if count["turn-restarted"] == 0 || count["turn-parked"] == 0 || count["tool-result"] == 0 {
		t.Error("nothing has happened that could go wrong")
	}
	if len(c.wrong) > 0 {
		t.Errorf("%d wrong, such as %.2000q", len(c.wrong), c.wrong)
	}
}
