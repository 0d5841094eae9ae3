package conversation_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store/bolt"
)

var cuts = flag.Int("cuts", 4, "cuts of power in TestRunner_PowerCutLosesNoAcceptedTurn; 100 take some minutes")

// power is the file of a store as it is on a disk that may lose its power: what was synced is there, and of what was
// written since, any part.
type power struct {
	calls listener
	path  string
	mem   *os.File // the memory of this process

	mu      sync.Mutex
	synced  []byte
	written []change // since the last sync
}

// change is a write to a file, or a change of its size.
type change struct {
	at   int64
	data []byte // nil: at is the new size
}

// newPower has the kernel ask before what this process does to the file of its store.
func newPower(dir string) (*power, error) {
	p := &power{path: filepath.Join(dir, "conversations.db")}
	var err error
	if p.synced, err = os.ReadFile(p.path); err != nil {
		return nil, err
	}
	if p.mem, err = os.Open("/proc/self/mem"); err != nil {
		return nil, err
	}
	p.calls, err = listen(unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC)
	go p.calls.serve(p.handle)
	return p, err
}

// handle notes what a call does. It lets writes proceed, and answers for a sync: the file needs no other disk.
func (p *power) handle(n notification) {
	if path, err := os.Readlink(fmt.Sprint("/proc/self/fd/", n.argument(0))); err != nil || path != p.path {
		p.calls.proceed(n.ID)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n.number() {
	case unix.SYS_PWRITE64:
		data := make([]byte, n.argument(2))
		if _, err := p.mem.ReadAt(data, n.argument(1)); err != nil {
			panic(err)
		}
		p.written = append(p.written, change{n.argument(3), data})
	case unix.SYS_FTRUNCATE:
		p.written = append(p.written, change{at: n.argument(1)})
	default:
		for _, c := range p.written {
			p.synced = c.apply(p.synced, false)
		}
		p.written = nil
		p.calls.succeed(n.ID)
		return
	}
	p.calls.proceed(n.ID)
}

// apply makes the change, or of a write only some sectors.
func (c change) apply(file []byte, torn bool) []byte {
	if c.data == nil {
		return append(file, make([]byte, max(0, int(c.at)-len(file)))...)[:c.at]
	}
	const sector = 512
	file = append(file, make([]byte, max(0, int(c.at)+len(c.data)-len(file)))...)
	for part := range slices.Chunk(c.data, sector) {
		if !torn || rand.IntN(2) == 0 {
			copy(file[c.at:], part)
		}
		c.at += int64(len(part))
	}
	return file
}

// cut returns the file as it may be after a power failure at this moment.
func (p *power) cut() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	file := slices.Clone(p.synced)
	for _, c := range p.written {
		switch rand.IntN(3) {
		case 0:
			file = c.apply(file, false)
		case 1:
			file = c.apply(file, true)
		}
	}
	return file
}

// submitAndCut submits turns in several conversations at once, and writes what a power failure leaves after every
// third one that is accepted: the file, and beside it what was accepted.
func (p *power) submitAndCut(ctx context.Context, runner *conversation.Runner, dir string) {
	var mu sync.Mutex
	accepted, all, n := map[string][]string{}, 0, 0
	accept := func(id, turn string) error {
		mu.Lock()
		defer mu.Unlock()
		accepted[id] = append(accepted[id], turn)
		if all++; all%3 != 0 {
			return nil
		}
		at := filepath.Join(dir, fmt.Sprint("cut-", n))
		n++
		list, err := json.Marshal(accepted)
		if err == nil {
			err = os.Mkdir(at, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(at, "conversations.db"), p.cut(), 0o600)
		}
		if err == nil {
			err = os.WriteFile(at+".json", list, 0o600)
		}
		fmt.Println("cut")
		return err
	}
	for i := range 8 {
		go func() {
			id := fmt.Sprint("talk-", i)
			_, err := runner.Create(ctx, id, conversation.Settings{Title: id})
			for turn := 0; err == nil; turn++ {
				said := ""
				if said, err = runner.Submit(ctx, id, "", strings.Repeat("go on ", 1+rand.IntN(500))); err == nil {
					err = accept(id, said)
				}
				for v, failed := runner.Get(ctx, id); failed == nil && err == nil && len(v.Inputs) > 3; v, failed = runner.Get(ctx, id) {
					err = pause(ctx, 5*time.Millisecond)
				}
			}
			fmt.Println("ended", err)
		}()
	}
}

// The power fails after acknowledgements: what was not synced is gone, or is there in part. Every turn that was
// accepted is there, and done once.
func TestRunner_PowerCutLosesNoAcceptedTurn(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("it starts processes, without the race detector")
	}
	store := storeConfig{Dir: t.TempDir(), Cuts: t.TempDir()}
	shut(t, opened(t, store.directory()))
	p := launch(t, store)
	p.expect(t, "ready")
	for range *cuts {
		p.expect(t, "cut")
	}
	p.kill()
	all := cutsOf(t, store.Cuts)
	for batch := range slices.Chunk(all, 10) {
		finishAll(t, batch)
	}
	acknowledged := 0
	for _, cut := range all {
		e := opened(t, cut.store.directory())
		review(t, e, cut.accepted)
		if h, err := e.Health(t.Context()); err != nil || len(h.Losses) > 0 {
			t.Errorf("health after %s: got %+v, %v; want no loss", cut.store.Dir, h, err)
		}
		shut(t, e)
		for _, turns := range cut.accepted {
			acknowledged += len(turns)
		}
	}
	t.Logf("%d cuts behind %d acknowledgements in all", len(all), acknowledged)
}

// powerCut is what a cut of power has left: a store, and what was accepted before.
type powerCut struct {
	store    storeConfig
	accepted map[string][]string
}

// cutsOf returns the cuts in a directory. None has a file with a problem.
func cutsOf(t *testing.T, dir string) (all []powerCut) {
	t.Helper()
	for i := range *cuts {
		cut := powerCut{store: storeConfig{Dir: filepath.Join(dir, fmt.Sprint("cut-", i))}}
		text, err := os.ReadFile(cut.store.Dir + ".json")
		if err != nil || json.Unmarshal(text, &cut.accepted) != nil {
			t.Fatalf("what was accepted before cut %d: %s, %v", i, text, err)
		}
		if problems, err := bolt.Check(cut.store.Dir); err != nil || len(problems) > 0 {
			t.Errorf("check after cut %d: got %v, %v; want no problem", i, problems, err)
		}
		all = append(all, cut)
	}
	return all
}

// finishAll has a process work on each of some stores until nothing is left to do.
func finishAll(t *testing.T, all []powerCut) {
	t.Helper()
	var started []*process
	for _, cut := range all {
		started = append(started, launch(t, cut.store))
	}
	for _, p := range started {
		p.expect(t, "ready")
		p.expect(t, "settled")
		p.end(t)
	}
}
