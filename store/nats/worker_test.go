package nats_test

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

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

const taskVariable = "RIDETHROUGH_STORE_TASK"

// task is what a worker process does until it is killed: it enqueues turns, each
// of which is scheduled once and then sealed, and appends to a series. It prints
// what was acknowledged.
type task struct {
	Node  natstest.Node
	URL   string // of the cluster, of which the process runs the node
	Name  string // of the process, in the ids of its turns
	Turns int    // how many it enqueues
}

// open opens the store of a task.
func (k task) open(ctx context.Context) (store.Store, error) {
	if _, err := natstest.Start(k.Node.Options()); err != nil {
		return nil, err
	}
	return nats.Dial(ctx, nats.Remote{URL: k.URL, Lease: shortLease})
}

// runTask is the main function of a worker process.
func runTask(encoded string) int {
	var k task
	if err := json.Unmarshal([]byte(encoded), &k); err != nil {
		fmt.Println("broken", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := k.open(ctx)
	if err != nil {
		fmt.Println("broken", err)
		return 1
	}
	w := &worker{Store: s, out: os.Stdout}
	w.print("started")
	var all sync.WaitGroup
	all.Go(func() { w.enqueue(ctx, k) })
	all.Go(func() { w.appendSeries(ctx, "series-"+k.Name) })
	for range 4 {
		all.Go(func() { w.work(ctx) })
	}
	all.Wait()
	return 0
}

// worker works on the turns in a store.
type worker struct {
	store.Store
	mu  sync.Mutex
	out io.Writer
}

func (w *worker) print(what string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Fprintln(w.out, append([]any{what}, args...)...)
}

// turnBody is the body of a job: a turn that is sealed at an instant.
type turnBody struct {
	At        time.Time `json:"at"`
	Scheduled bool      `json:"scheduled"`
}

func (b turnBody) job(turn string) store.Job {
	body, _ := json.Marshal(b)
	return store.Job{Conversation: turn, Turn: turn, Body: body}
}

// enqueue enqueues turns that will be scheduled for a short while.
func (w *worker) enqueue(ctx context.Context, k task) {
	start := time.Now().UnixNano()
	for i := range k.Turns {
		turn := fmt.Sprintf("%s-%d-%d", k.Name, start, i)
		b := turnBody{At: time.Now().Add(time.Duration(100+rand.IntN(600)) * time.Millisecond)}
		if w.Enqueue(ctx, b.job(turn)) == nil {
			w.print("enqueued", turn, b.At.UnixNano())
		}
	}
}

// appendSeries appends the numbers from 1 to a log for as long as it can.
func (w *worker) appendSeries(ctx context.Context, id string) {
	for ctx.Err() == nil {
		at, err := w.End(ctx, id)
		for err == nil {
			if at, err = w.Append(ctx, id, at, storetest.Records(seriesText(at.N+1))...); err == nil {
				w.print("appended", id, at.N)
			}
		}
	}
}

// seriesText is the text of a record in a series. Some fill several messages.
func seriesText(n int64) string {
	if n%25 == 0 {
		return fmt.Sprint("number ", n, strings.Repeat(" and so on", 60<<10))
	}
	return fmt.Sprint("number ", n)
}

// work works on jobs until ctx ends.
func (w *worker) work(ctx context.Context) {
	for {
		l, err := w.Take(ctx)
		if err != nil {
			return
		}
		for err = w.handle(ctx, l); errors.Is(err, store.ErrConflict); err = w.handle(ctx, l) {
			w.print("conflict", l.Job().Turn)
		}
		if err == nil {
			err = l.Ack()
		}
		if err != nil && ctx.Err() == nil {
			w.print("failed", l.Job().Turn, err)
			_ = l.Nack(0)
		}
	}
}

// handle does the next step of a turn.
func (w *worker) handle(ctx context.Context, l store.Lease) error {
	turn := l.Job().Turn
	var b turnBody
	if err := json.Unmarshal(l.Job().Body, &b); err != nil {
		return err
	}
	log, end, err := store.Load(ctx, w, turn, 0)
	switch {
	case err != nil:
		return err
	case len(log) == 0:
		if _, err := w.Append(ctx, turn, end, store.Record{Time: time.Now(), Turn: turn, Type: "scheduled"}); err != nil {
			return err
		}
		return w.Schedule(ctx, turnBody{b.At, true}.job(turn), b.At)
	case log[len(log)-1].Type == "sealed":
		return nil
	case time.Now().Before(b.At):
		if b.Scheduled {
			w.print("early", turn, time.Until(b.At))
		}
		return w.Schedule(ctx, turnBody{b.At, true}.job(turn), b.At)
	}
	_, err = w.Append(ctx, turn, end, store.Record{Time: time.Now(), Turn: turn, Type: "sealed"})
	return err
}
