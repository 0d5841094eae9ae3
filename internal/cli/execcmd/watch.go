package execcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/sse"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// watcher follows what a gateway waits for while a program runs.
type watcher struct {
	g      gateway
	screen *screen
	stop   context.CancelFunc
	ended  chan struct{}
	quiet  chan struct{} // gets one when nothing waits any more

	mu    sync.Mutex
	waits map[int64]running.Wait
	held  held          // the calls that have waited and are over
	spent time.Duration // for which calls waited
	since time.Time     // from which on calls wait without a break; zero: none waits
}

// held counts calls that have waited.
type held struct {
	calls int
	lost  int // of these, that are known to have ended without an answer
}

// watch follows the waits of a gateway and shows them on a screen; nil: nowhere.
func watch(ctx context.Context, g gateway, s *screen) *watcher {
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{g: g, screen: s, stop: stop, ended: make(chan struct{}), quiet: make(chan struct{}, 1), waits: map[int64]running.Wait{}}
	go func() {
		defer close(w.ended)
		w.follow(ctx)
	}()
	return w
}

// endTime is how long a gateway may take to say how the last calls have ended.
const endTime = time.Second

// end ends it, and returns what was held; "": nothing.
func (w *watcher) end() string {
	w.awaitQuiet()
	w.stop()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waits) == 0 {
		w.screen.show(nil, w.held, time.Now())
	}
	w.screen.end()
	w.held.calls += len(w.waits) // of other programs too, or the stream does not say how they have ended
	clear(w.waits)
	w.settle(time.Now())
	if w.held.calls == 0 {
		return ""
	}
	which := ""
	if w.held.lost > 0 {
		which = fmt.Sprintf(" (%d not answered)", w.held.lost)
	}
	if !w.g.own {
		which += " at " + w.g.URL + ", for this and other programs"
	}
	return fmt.Sprintf("held %s%s, %s", plural.Count(w.held.calls, "call", "calls"), which, display.Duration(max(time.Second, w.spent)))
}

// awaitQuiet waits until nothing waits any more at a gateway that no other program uses.
func (w *watcher) awaitQuiet() {
	w.mu.Lock()
	wait := w.g.own && len(w.waits) > 0
	select {
	case <-w.quiet: // of an earlier wait
	default:
	}
	w.mu.Unlock()
	if !wait {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	select {
	case <-w.quiet:
	case <-ctx.Done():
	}
}

// follow reads the stream of waits until ctx ends, and shows them every second: the time that is left changes. A
// stream that has ended is opened again then.
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
		w.screen.show(w.waits, w.held, time.Now())
		w.mu.Unlock()
	}
}

// read reads one stream of waits to its end.
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

// maxEvent bounds an event: a list of many thousand waits.
const maxEvent = 64 << 20

// take takes an event of the stream.
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
			one.Heard = now
			all[one.ID] = one
		}
		for id := range w.waits {
			if _, still := all[id]; !still {
				w.held.calls++
			}
		}
		w.waits = all
	case "wait":
		var one running.Wait
		if json.Unmarshal(data, &one) != nil {
			return
		}
		one.Heard = now
		w.waits[one.ID] = one
	case "gone":
		var gone struct {
			Wait int64
			How  string
		}
		if json.Unmarshal(data, &gone) != nil {
			return
		}
		if _, known := w.waits[gone.Wait]; known {
			delete(w.waits, gone.Wait)
			w.held.calls++
			if gone.How == "failed" || gone.How == "left" {
				w.held.lost++
			}
		}
	}
	w.settle(now)
}

// settle counts the time in which a call has waited.
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
