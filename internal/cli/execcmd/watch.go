package execcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/sse"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/text"
)

// watcher follows the waits of a gateway while a program runs.
type watcher struct {
	g     gateway
	shown shower
	stop  context.CancelFunc
	ended chan struct{}
	quiet chan struct{} // gets one when nothing waits any more

	mu    sync.Mutex
	waits map[int64]running.Wait
	held  held          // the calls that have waited and are over
	spent time.Duration // for which calls waited
	since time.Time     // from which on calls wait without a break; zero: none waits
}

type held struct {
	calls int
	lost  int // of these, that are known to have ended without an answer
	tries int // of all these calls, that have failed
}

func (h held) since(before held) held {
	return held{h.calls - before.calls, h.lost - before.lost, h.tries - before.tries}
}

func watch(ctx context.Context, g gateway, s shower) *watcher {
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{g: g, shown: s, stop: stop, ended: make(chan struct{}), quiet: make(chan struct{}, 1), waits: map[int64]running.Wait{}}
	go func() {
		defer close(w.ended)
		w.follow(ctx)
	}()
	return w
}

// endTime is how long a gateway may take to count the last calls.
const endTime = time.Second

// quietTime is how long it may take to report how those that waited have ended. It takes milliseconds, but on a busy
// machine; all of it passes only if a child of the program still asks.
const quietTime = 3 * time.Second

// end stops the watcher, and returns a summary of the calls that were held, or "".
func (w *watcher) end() string {
	w.awaitQuiet()
	w.stop()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	now, how := time.Now(), "" // of other programs too, or the stream does not say how they have ended
	if w.g.own {
		how = "left" // by the program, or by a child of it that outlives it: the gateway ends
	}
	still := len(w.waits)
	for _, one := range w.waits {
		w.over(one, how)
	}
	clear(w.waits)
	w.settle(now)
	if still == 0 || w.g.own {
		w.shown.show(nil, w.held, now)
	}
	w.shown.end(now)
	if w.held.calls == 0 {
		return ""
	}
	said := fmt.Sprintf("held %s, %s; %d lost", text.Count(w.held.calls, "call", "calls"), display.Duration(max(time.Second, w.spent)), w.held.lost)
	if !w.g.own {
		said += ", at " + w.g.URL + ", for this and other programs"
	}
	return said
}

// awaitQuiet waits a moment until nothing waits any more, since a gateway reports the end of a call a little later.
func (w *watcher) awaitQuiet() {
	w.mu.Lock()
	wait := len(w.waits) > 0
	select {
	case <-w.quiet: // of an earlier wait
	default:
	}
	w.mu.Unlock()
	if !wait {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), quietTime)
	defer cancel()
	select {
	case <-w.quiet:
	case <-ctx.Done():
	}
}

// follow reads the stream of waits until ctx ends, and shows them every second, since the remaining time changes.
// It reopens a stream that has ended.
func (w *watcher) follow(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	changed, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	read := func() {
		w.read(ctx, changed)
		ended <- struct{}{}
	}
	go read()
	over := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			over = true
			continue
		case <-changed:
		case <-tick.C:
			if over {
				over = false
				go read()
			}
		}
		w.mu.Lock()
		w.shown.show(w.waits, w.held, time.Now())
		w.mu.Unlock()
	}
}

func (w *watcher) read(ctx context.Context, changed chan<- struct{}) {
	answer, err := w.g.Get(ctx, "/-/waits", "text/event-stream")
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return
	}
	var text []byte
	part := make([]byte, 16<<10)
	for {
		n, err := answer.Body.Read(part)
		text = append(text, part[:n]...)
		for end := sse.Cut(text, 0); end > 0; end = sse.Cut(text, 0) {
			w.take(sse.Parse(text[:end]))
			text = text[end:]
		}
		select {
		case changed <- struct{}{}:
		default:
		}
		if err != nil || len(text) > maxEvent {
			return
		}
	}
}

// maxEvent bounds an event, which may list many thousand waits.
const maxEvent = 64 << 20

func (w *watcher) take(name, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch string(name) {
	case "snapshot":
		var list struct{ Waits []running.Wait }
		if json.Unmarshal(data, &list) != nil {
			return
		}
		all := map[int64]running.Wait{}
		for _, one := range list.Waits {
			if one.Heard = now; one.Turn == "" {
				all[one.ID] = one
			}
		}
		for id, one := range w.waits {
			if _, still := all[id]; !still {
				w.over(one, "")
			}
		}
		w.waits = all
	case "wait":
		var one running.Wait
		if json.Unmarshal(data, &one) != nil || one.Turn != "" {
			return
		}
		one.Heard = now
		w.waits[one.ID] = one
	case "gone":
		var gone struct {
			Wait    int64
			How     string
			Retries int
		}
		if json.Unmarshal(data, &gone) != nil {
			return
		}
		if one, known := w.waits[gone.Wait]; known {
			delete(w.waits, gone.Wait)
			one.Retries = max(one.Retries, gone.Retries)
			w.over(one, gone.How)
		}
	}
	w.settle(now)
}

// over counts a call whose wait is over.
func (w *watcher) over(one running.Wait, how string) {
	w.held.calls++
	w.held.tries += one.Retries
	if how == "failed" || how == "left" {
		w.held.lost++
	}
	if how != "recovered" && one.Cause != "" { // the last try has failed too
		w.held.tries++
	}
}

func (w *watcher) settle(now time.Time) {
	switch {
	case len(w.waits) > 0 && w.since.IsZero():
		w.since = now
	case len(w.waits) == 0 && !w.since.IsZero():
		w.spent += now.Sub(w.since)
		w.since = time.Time{}
		select {
		case w.quiet <- struct{}{}:
		default:
		}
	}
}
