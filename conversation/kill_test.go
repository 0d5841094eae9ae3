//go:build unix

package conversation_test

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
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/tool"
)

// The processes to kill, and how long.
var (
	long    = flag.Bool("long", false, "kill processes for minutes instead of seconds")
	cluster = flag.Bool("cluster", false, "kill nodes of a cluster, too: that takes a minute")
	loop    = flag.Bool("crashloop", false, "kill a process 80 times, each half a second to two after its start: that takes five minutes")
)

// raced reports whether the race detector is on, which makes processes slow.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// storeVariable makes the test binary a process that is to be killed: it works
// on the conversations of a store, a place as JSON.
const storeVariable = "RIDETHROUGH_TEST_SESSION_STORE"

func TestMain(m *testing.M) {
	if store := os.Getenv(storeVariable); store != "" {
		if err := live(store); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// live is a process that works until it is killed, or until its input ends:
// then it hands back what it is at. It says when it is there.
func live(config string) error {
	var c storeConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	var disk *disk
	if c.Stalls {
		var err error
		if disk, err = newDisk(); err != nil {
			return err
		}
	}
	var power *power
	if c.Cuts != "" {
		var err error
		if power, err = newPower(c.Dir); err != nil {
			return err
		}
	}
	e, err := c.open(context.Background())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { obey(os.Stdin, disk); cancel() }()
	fmt.Println("ready")
	if c.Cuts == "" {
		go tellWhenSettled(ctx, e)
	}
	p := &randomAgent{engine: e, sound: c.Sound}
	with := conversation.Config{Store: e, Agent: p.world, Workers: 32, ParkAfter: 40 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	if c.Deaf {
		with.Agent, with.ParkAfter = deafAgent, time.Hour
	}
	runner := conversation.New(with)
	if c.Cuts != "" {
		power.submitAndCut(ctx, runner, c.Cuts)
	}
	if c.Steer != "" {
		go steerInItsWait(ctx, runner, c.Steer)
	}
	err = runner.Run(ctx)
	return errors.Join(err, e.Close(context.Background()))
}

// steerInItsWait steers a turn when it waits, and says so.
func steerInItsWait(ctx context.Context, runner *conversation.Runner, id string) {
	for v, err := runner.Get(ctx, id); err != nil || v.Wait == nil; v, err = runner.Get(ctx, id) {
		if pause(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
	if said, err := runner.Submit(ctx, id, "", "be brief"); err == nil && runner.Steer(ctx, id, said) == nil {
		fmt.Println("steered")
	}
}

// deafAgent has a model that is down until it is asked to be brief, and waits three seconds for it.
func deafAgent(context.Context, conversation.Settings) (agent.Agent, error) {
	w := agent.Agent{Model: deaf{}}
	w.Retry.Policy = policy.Policy{Retries: policy.Unlimited, Backoff: policy.Backoff{Steps: []time.Duration{3 * time.Second}}}
	return w, nil
}

// deaf is the model of deafAgent.
type deaf struct{}

func (deaf) Name() llm.Name { return large }

func (deaf) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	heard := 0
	for _, m := range q.Messages {
		if m.Text() == "be brief" {
			heard++
		}
	}
	if heard == 0 {
		return llmtest.Fails(busy)(ctx, q)
	}
	return llmtest.Says(fmt.Sprint("heard ", heard))(ctx, q)
}

// tellWhenSettled says when there is nothing left to do.
func tellWhenSettled(ctx context.Context, e store.Store) {
	for idle := 0; idle < 3; {
		if pause(ctx, 100*time.Millisecond) != nil {
			return
		}
		if h, err := e.Health(ctx); err == nil && h.Scheduled+h.Due+h.Leased == 0 {
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
		Retries: policy.Unlimited, RetryOn: fault.Transient,
		Backoff: policy.Backoff{Steps: []time.Duration{5e6, 10e6, 30e6, 60e6, 300e6}},
	}
}

// randomAgent is a provider and a tool that behave as chance has it.
type randomAgent struct {
	engine store.Store
	sound  bool // each turn ends well, if its worker lives for up to four seconds
}

func (p *randomAgent) world(_ context.Context, s conversation.Settings) (agent.Agent, error) {
	w := agent.Agent{Model: p, Tools: []tool.Tool{{Tool: llm.Tool{Name: "work"}, Func: p.work(s.Title)}}}
	w.Retry.Policy = hasty()
	return w, nil
}

func (*randomAgent) Name() llm.Name { return large }

func (p *randomAgent) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	if p.sound {
		return llmtest.Late(time.Duration(rand.IntN(4000))*time.Millisecond, llmtest.Says("a whole answer"))(ctx, q)
	}
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

// handle refuses to run when its result is in the log.
func (p *randomAgent) work(conversation string) func(context.Context, json.RawMessage) (string, error) {
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

// storeConfig is where a process has its store.
type storeConfig struct {
	Dir   string        // of its store; "": that of a cluster
	Node  natstest.Node // which the process runs
	URL   string        // of the cluster
	Sound bool          // the turns of the process end well, if it lives
	Deaf  bool          // its agent is deafAgent
	Steer string        // the conversation whose turn it steers in its wait; "": none

	Cuts   string // the directory for what cuts of power leave of its store; "": none
	Stalls bool   // its disk stalls when its input says so
}

func (p storeConfig) directory() bolt.Config {
	return bolt.Config{Dir: p.Dir, Lease: time.Second, Reserve: 1}
}

// remote uses the cluster at a URL.
func remote(url string) nats.Remote {
	return nats.Remote{URL: url, Replicas: 3, Lease: time.Second}
}

// open opens the process's store, and runs its node of the cluster until the process ends.
func (p storeConfig) open(ctx context.Context) (store.Store, error) {
	if p.Dir != "" {
		return bolt.Open(ctx, p.directory())
	}
	if _, err := natstest.Start(p.Node.Options()); err != nil {
		return nil, err
	}
	return nats.Dial(ctx, remote(p.URL))
}

// launch starts a process on a store.
func launch(t *testing.T, c storeConfig) *process {
	t.Helper()
	store, err := json.Marshal(c)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), storeVariable+"="+string(store))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("stdout pipe: %v", err)
	}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		t.Fatalf("stdin pipe: %v", err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	p.said = bufio.NewReader(out)
	t.Cleanup(p.kill)
	return p
}

// expect waits for what the process says next, for two minutes at most.
func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	p.expectWithin(t, 2*time.Minute, want)
}

// expectWithin waits for what the process says next for a while.
func (p *process) expectWithin(t *testing.T, bound time.Duration, want string) {
	t.Helper()
	slow := time.AfterFunc(bound, p.kill)
	defer slow.Stop()
	if line, err := p.said.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the process says %q instead of %q, %v", line, want, err)
	}
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

// accept takes turns for the processes to work on. None begins before all are there, so that work is left for a
// process that is killed afterwards, however long a cluster takes to store them.
func accept(t *testing.T, e store.Store, conversations, turns int) map[string][]string {
	t.Helper()
	desk := conversation.New(conversation.Config{Store: e})
	accepted := map[string][]string{}
	for n := range conversations {
		id := fmt.Sprint("talk-", n)
		if _, err := desk.Create(t.Context(), id, conversation.Settings{Title: id}); err != nil {
			t.Fatalf("create: %v", err)
		}
		if err := desk.Pause(t.Context(), id); err != nil {
			t.Fatalf("pause: %v", err)
		}
		for range turns {
			said, err := desk.Submit(t.Context(), id, "", "go on")
			if err != nil {
				t.Fatalf("submit: %v", err)
			}
			accepted[id] = append(accepted[id], said)
		}
	}
	for id := range accepted {
		if err := desk.Resume(t.Context(), id); err != nil {
			t.Fatalf("resume: %v", err)
		}
	}
	return accepted
}

// Processes are killed at random moments while they work on 200 turns with
// faults. Then every turn is sealed once, no log has a hole, no tool was run
// again after its result was logged, and tries are counted through it all.
func TestRunner_SurvivesKilledProcesses(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("it kills processes for some seconds, without the race detector")
	}
	kills, turns := 8, 5
	if *long {
		kills, turns = 200, 100
	}
	store := storeConfig{Dir: t.TempDir()}
	e := opened(t, store.directory())
	accepted := accept(t, e, 40, turns)
	shut(t, e)
	for range kills {
		p := launch(t, store)
		p.expect(t, "ready")
		_ = pause(t.Context(), time.Duration(200+rand.IntN(600))*time.Millisecond)
		p.kill()
	}
	p := launch(t, store)
	p.expect(t, "ready")
	p.expect(t, "settled")
	p.end(t)
	wantEverything(t, review(t, opened(t, store.directory()), accepted))
}

// A process that is killed in the wait of a turn that was steered has not lost what was said: the next one hears
// it, once, and it has no turn of its own.
func TestSteer_SurvivesAKilledProcess(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("it kills a process, without the race detector")
	}
	store := storeConfig{Dir: t.TempDir(), Deaf: true}
	e := opened(t, store.directory())
	accepted := accept(t, e, 1, 1)
	shut(t, e)
	steering := store
	steering.Steer = "talk-0"
	p := launch(t, steering)
	p.expect(t, "ready")
	p.expect(t, "steered")
	p.kill()
	p = launch(t, store)
	p.expect(t, "ready")
	p.expect(t, "settled")
	p.end(t)
	e = opened(t, store.directory())
	count := review(t, e, accepted)
	if count["turn-sealed"] != 1 || count["user-message"] != 2 {
		t.Errorf("%d turns and %d messages, want 1 and 2", count["turn-sealed"], count["user-message"])
	}
	for r, err := range e.Read(t.Context(), "talk-0", 0) {
		if err == nil && r.Type == "assistant-message" && !strings.Contains(string(r.Body), "heard 1") {
			t.Errorf("the model answers %s, want that it has heard it once", r.Body)
		}
	}
}

// A process that is killed half a second to two after each start has turns that need longer than that. That
// is not their fault: all of them are done in the end.
func TestRunner_CrashLoopOfProcessFailsNoTurn(t *testing.T) {
	if !*loop || raced() {
		t.Skip("it takes five minutes: -args -crashloop, without the race detector")
	}
	store := storeConfig{Dir: t.TempDir(), Sound: true}
	e := opened(t, store.directory())
	accepted := accept(t, e, 60, 5)
	shut(t, e)
	began := time.Now()
	for range 80 {
		p := launch(t, store)
		p.expect(t, "ready")
		_ = pause(t.Context(), time.Duration(500+rand.IntN(1500))*time.Millisecond)
		p.kill()
	}
	killed := time.Since(began).Round(time.Second)
	p := launch(t, store)
	p.expect(t, "ready")
	p.expectWithin(t, 5*time.Minute, "settled")
	p.end(t)
	e = opened(t, store.directory())
	count, ends := review(t, e, accepted), map[string]int{}
	for id := range accepted {
		for _, status := range turns(t, conversation.New(conversation.Config{Store: e}), id) {
			ends[string(status)]++
		}
	}
	t.Logf("80 kills in %v, then %v until all was sealed; %d deaths counted; ends %v", killed, time.Since(began).Round(time.Second)-killed, count["turn-crashed"], ends)
	if ends["done"] != 300 {
		t.Errorf("got ends %v, want 300 done", ends)
	}
}

// opened opens a store until the test is over.
func opened(t *testing.T, c bolt.Config) store.Store {
	t.Helper()
	e, err := bolt.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { shut(t, e) })
	return e
}

func shut(t *testing.T, e store.Store) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// The same with three nodes of a cluster, of which one after the other is
// killed and comes back.
func TestRunner_SurvivesKilledClusterNodes(t *testing.T) {
	if !*cluster && !*long || raced() {
		t.Skip("it takes a minute: -args -cluster, without the race detector")
	}
	kills, turns := 3, 12
	if *long {
		kills, turns = 60, 40
	}
	nodes := natstest.Nodes(t, 3)
	url := natstest.URLs(nodes)
	start := func(i int) *process { return launch(t, storeConfig{Node: nodes[i], URL: url}) }
	var alive []*process
	for i := range nodes {
		alive = append(alive, start(i))
	}
	for _, p := range alive {
		p.expect(t, "ready")
	}
	e, err := nats.Dial(t.Context(), remote(url))
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { shut(t, e) })
	accepted := accept(t, e, 30, turns)
	for range kills {
		victim := rand.IntN(3)
		alive[victim].kill()
		_ = pause(t.Context(), time.Duration(rand.IntN(2000))*time.Millisecond)
		alive[victim] = start(victim)
		alive[victim].expect(t, "ready")
	}
	for left := int64(1); left > 0 && pause(t.Context(), 200*time.Millisecond) == nil; {
		if h, err := e.Health(t.Context()); err == nil {
			left = h.Scheduled + h.Due + h.Leased
		}
	}
	wantEverything(t, review(t, e, accepted))
	for _, p := range alive {
		p.end(t)
	}
}

// review looks at what has become of the turns. It returns how many records of each type there are.
func review(t *testing.T, e store.Store, accepted map[string][]string) map[string]int {
	t.Helper()
	c := &chaos{t: t, engine: e}
	c.check(accepted)
	count := map[string]int{}
	for id := range accepted {
		for r, err := range e.Read(t.Context(), id, 0) {
			if err != nil {
				t.Errorf("read: %v", err)
			}
			count[r.Type]++
			if strings.Contains(string(r.Body), "AGAIN") {
				t.Errorf("a tool was run again after its result was logged: %s", r.Body)
			}
		}
	}
	t.Logf("%d turns, %d restarts, %d waits, %d tool results", count["turn-sealed"], count["turn-restarted"], count["turn-parked"], count["tool-result"])
	if len(c.wrong) > 0 {
		t.Errorf("%d wrong, such as %.2000q", len(c.wrong), c.wrong)
	}
	return count
}

// wantEverything checks that what could go wrong has happened.
func wantEverything(t *testing.T, count map[string]int) {
	t.Helper()
	for _, kind := range []string{"turn-restarted", "turn-parked", "tool-result"} {
		if count[kind] == 0 {
			t.Errorf("got no %s, want some: nothing has happened that could go wrong", kind)
		}
	}
}
