package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

const jobVariable = "RIDETHROUGH_ENGINE_JOB"

// job is what a process does until it is killed: it accepts turns, parks each
// once and seals it, and writes a diary. What was acknowledged it says.
type job struct {
	Dir             string
	Node            string // "": it is alone
	Listen, Clients string
	Peers           []string
	Name            string // of the process, in the ids of its turns
	Turns           int    // how many it accepts
}

// jobFor is a job on a store.
func jobFor(c store.Config, name string, turns int) job {
	j := job{Dir: c.Dir, Name: name, Turns: turns}
	if n := c.Cluster; n != nil {
		j.Node, j.Listen, j.Clients, j.Peers = n.Node, n.Listen, n.Clients, n.Peers
	}
	return j
}

// config is that of the store.
func (j job) config() store.Config {
	c := store.Config{Dir: j.Dir, Lease: shortLease}
	if j.Node != "" {
		c.Cluster = &store.Cluster{Name: "test", Node: j.Node, Listen: j.Listen, Peers: j.Peers, Clients: j.Clients, Secret: secret}
	}
	return c
}

// labour is the main function of a process that has a job.
func labour(encoded string) int {
	var j job
	if err := json.Unmarshal([]byte(encoded), &j); err != nil {
		fmt.Println("broken", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	e, err := store.Open(ctx, j.config())
	if err != nil {
		fmt.Println("broken", err)
		return 1
	}
	l := &labourer{Store: e, out: os.Stdout}
	l.say("started")
	var all sync.WaitGroup
	all.Go(func() { l.accept(ctx, j) })
	all.Go(func() { l.write(ctx, "diary-"+j.Name) })
	for range 4 {
		all.Go(func() { l.work(ctx) })
	}
	all.Wait()
	return 0
}

// labourer does a job on an engine.
type labourer struct {
	store.Store
	mu  sync.Mutex
	out io.Writer
}

func (l *labourer) say(what string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(l.out, append([]any{what}, args...)...)
}

// wish is the body of a ticket.
type wish struct {
	At     time.Time `json:"at"`
	Parked bool      `json:"parked"`
}

func (w wish) ticket(turn string) store.Job {
	body, _ := json.Marshal(w)
	return store.Job{Conversation: turn, Turn: turn, Body: body}
}

// accept accepts turns that will be parked for a short while.
func (l *labourer) accept(ctx context.Context, j job) {
	began := time.Now().UnixNano()
	for i := range j.Turns {
		turn := fmt.Sprintf("%s-%d-%d", j.Name, began, i)
		w := wish{At: time.Now().Add(time.Duration(100+rand.IntN(600)) * time.Millisecond)}
		t := w.ticket(turn)
		t.Key = "accept"
		if l.Enqueue(ctx, t) == nil {
			l.say("accepted", turn, w.At.UnixNano())
		}
	}
}

// write appends to a diary for as long as it can.
func (l *labourer) write(ctx context.Context, diary string) {
	for ctx.Err() == nil {
		at, err := l.End(ctx, diary)
		for err == nil {
			if at, err = l.Append(ctx, diary, at, records(day(at.N+1))...); err == nil {
				l.say("wrote", diary, at.N)
			}
		}
	}
}

// day is what a diary says. Some days fill several messages.
func day(n int64) string {
	if n%25 == 0 {
		return fmt.Sprint("day ", n, strings.Repeat(" and so on", 60<<10))
	}
	return fmt.Sprint("day ", n)
}

// work takes tickets until ctx ends.
func (l *labourer) work(ctx context.Context) {
	for {
		c, err := l.Take(ctx)
		if err != nil {
			return
		}
		for err = l.handle(ctx, c); errors.Is(err, store.ErrConflict); err = l.handle(ctx, c) {
			l.say("conflict", c.Job().Turn)
		}
		if err == nil {
			err = c.Done()
		}
		if err != nil && ctx.Err() == nil {
			l.say("failed", c.Job().Turn, err)
			_ = c.Nack(0)
		}
	}
}

// handle does what a turn's log asks for.
func (l *labourer) handle(ctx context.Context, c store.Lease) error {
	turn := c.Job().Turn
	var w wish
	if err := json.Unmarshal(c.Job().Body, &w); err != nil {
		return err
	}
	log, end, err := store.Load(ctx, l, turn, 0)
	switch {
	case err != nil:
		return err
	case len(log) == 0:
		if _, err := l.Append(ctx, turn, end, store.Record{Time: time.Now(), Turn: turn, Type: "parked"}); err != nil {
			return err
		}
		return l.Schedule(ctx, wish{w.At, true}.ticket(turn), w.At)
	case log[len(log)-1].Type == "sealed":
		return nil
	case time.Now().Before(w.At):
		if w.Parked {
			l.say("early", turn, time.Until(w.At))
		}
		return l.Schedule(ctx, wish{w.At, true}.ticket(turn), w.At)
	}
	_, err = l.Append(ctx, turn, end, store.Record{Time: time.Now(), Turn: turn, Type: "sealed"})
	return err
}
