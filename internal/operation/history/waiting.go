package history

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/turn"
)

// waitingFile is the file beside the history's for the next process. It lists the requests that wait, or that were
// left or given up a moment ago, and the clients that wait. It has no body, answer or credential; a request is
// named by a digest.
const waitingFile = "waiting.jsonl"

const (
	waitingTime  = time.Second // between two writes of the file, if it changes
	waitingSlow  = 500         // requests in it for which that takes a second more
	waitingBound = 32 << 10    // requests in it
	askerBound   = 1000        // clients in it
	lostTime     = time.Hour   // for which it is said what an earlier process has lost
	lostNamed    = 4           // callers that are named
)

// waiting is the content of the file. A process that shuts down hands its calls back; a killed one leaves them in
// the file: the next process recognizes them, and names those that no client has sent again.
type waiting struct {
	told   map[string]told // by the key of the request
	before atomic.Int64    // how many of these an earlier process has told
	asks   map[int64]asker // by the number of the call
	dirty  bool
	due    time.Time // of the next write
	failed bool      // the last write

	lost []asker // by an earlier process, without those that have come again
	of   int     // with them
	mine bool    // the file is this process's, and so was what it has left
}

type told struct {
	at, until time.Time
	outcome   gateway.Outcome
	earlier   bool // it was told by an earlier process
}

type asker struct {
	Client  string `json:"client,omitzero"`
	Session string `json:"session,omitzero"`
	Model   string `json:"model,omitzero"`
}

func askerOf(c *gateway.Call) asker { return asker{c.Client, c.Session, c.Model} }

type waitingLine struct {
	At      time.Time       `json:"at,omitzero"`
	Until   time.Time       `json:"until,omitzero"`
	Key     string          `json:"key,omitzero"`
	Outcome gateway.Outcome `json:"outcome,omitzero"`
	Asker   *asker          `json:"asker,omitempty"`
}

func (w *waiting) watch(e *gateway.Event) {
	_, known := w.asks[e.Call.ID]
	switch e.Event.(type) {
	case turn.Start:
		if i := slices.Index(w.lost, askerOf(&e.Call)); i >= 0 {
			w.lost = slices.Delete(w.lost, i, i+1)
		}
	case turn.Retry:
		if !known && len(w.asks) < askerBound {
			w.asks[e.Call.ID], w.dirty = askerOf(&e.Call), true
		}
	case turn.Recovered, turn.Sealed:
		delete(w.asks, e.Call.ID)
		w.dirty = w.dirty || known
	}
}

// put records an outcome, unless it has expired.
func (w *waiting) put(key string, t told, now time.Time) {
	w.dirty = true
	w.forget(key)
	if t.until.After(now) && len(w.told) < waitingBound {
		w.told[key] = t
		w.count(t, 1)
	}
}

func (w *waiting) forget(key string) {
	w.count(w.told[key], -1)
	delete(w.told, key)
}

func (w *waiting) count(t told, by int64) {
	if t.earlier {
		w.before.Add(by)
	}
}

// Fleet returns the fleet of a gateway on its own, whose only other member is its next process, which reads the
// file; nil: the history has no directory.
func (h *History) Fleet() *gateway.Fleet {
	if h.path == "" {
		return nil
	}
	if n := h.waiting.before.Load(); n > 0 {
		h.log.Info("remembered requests of an earlier process", "requests", n)
	}
	return &gateway.Fleet{Replica: rand.Text(), Outcomes: (*outcomes)(h)}
}

// outcomes are those of the gateway and its earlier process. It implements gateway.Outcomes.
type outcomes History

func (h *outcomes) Put(key string, outcome gateway.Outcome, ttl time.Duration) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting.put(key, told{now, now.Add(ttl), outcome, false}, now)
}

func (h *outcomes) Delete(key string) { h.Put(key, gateway.Outcome{}, 0) }

func (h *outcomes) Lookup(key string) (outcome gateway.Outcome, at time.Time, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.waiting.told[key]
	return t.outcome, t.at, t.until.After(time.Now())
}

func (h *outcomes) Knows(string) bool { return h.waiting.before.Load() > 0 }

func (h *History) waitingPath() string { return filepath.Join(filepath.Dir(h.path), waitingFile) }

func (h *History) readWaiting(now time.Time) {
	f, err := os.Open(h.waitingPath())
	if err == nil {
		defer f.Close()
		w := &h.waiting
		for d := json.NewDecoder(bufio.NewReader(f)); err == nil; {
			var l waitingLine
			if err = d.Decode(&l); err == nil && l.Asker != nil {
				w.lost = append(w.lost, *l.Asker)
			} else if err == nil {
				w.put(l.Key, told{l.At, l.Until, l.Outcome, true}, now)
			}
		}
		w.of = len(w.lost)
	}
	if err != io.EOF && !errors.Is(err, fs.ErrNotExist) {
		h.log.Warn("what waited in an earlier process cannot be read", "error", err)
	}
}

// saveWaiting writes the file if it has changed: every waitingTime, less often the more requests wait, and at the
// end.
func (h *History) saveWaiting(now time.Time, atEnd bool) {
	h.mu.Lock()
	w := &h.waiting
	w.mine = true
	if !w.dirty || now.Before(w.due) && !atEnd {
		h.mu.Unlock()
		return
	}
	lines := make([]waitingLine, 0, len(w.told)+len(w.asks))
	for key, t := range w.told {
		if t.until.After(now) {
			lines = append(lines, waitingLine{At: t.at.UTC().Round(0), Until: t.until.UTC().Round(0), Key: key, Outcome: t.outcome})
		} else {
			w.forget(key)
		}
	}
	for _, a := range w.asks {
		lines = append(lines, waitingLine{Asker: &a})
	}
	w.dirty, w.due = false, now.Add(waitingTime*time.Duration(1+len(lines)/waitingSlow))
	h.mu.Unlock()
	err := disk.Replace(h.waitingPath(), func(out io.Writer) error {
		b := bufio.NewWriter(out)
		for e := json.NewEncoder(b); len(lines) > 0; lines = lines[1:] {
			if err := e.Encode(&lines[0]); err != nil {
				return err
			}
		}
		return b.Flush()
	})
	h.mu.Lock()
	failedBefore := w.failed
	w.failed, w.dirty = err != nil, w.dirty || err != nil
	h.mu.Unlock()
	switch {
	case err == nil && failedBefore:
		h.log.Info("what waits is kept again", "file", h.waitingPath())
	case err != nil && !failedBefore:
		h.log.Warn("what waits is not kept: a restart would forget it", "file", h.waitingPath(), "error", err)
	}
}

// Lost says in a sentence which calls an earlier process has lost because it was killed, or returns "".
func (h *History) Lost(now time.Time) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &h.waiting
	if !w.mine || len(w.lost) == 0 || now.Sub(h.started) > lostTime {
		return ""
	}
	callers := map[string]int{}
	for _, a := range w.lost {
		callers[a.name()]++
	}
	var names []string
	for name, n := range callers {
		names = append(names, fmt.Sprintf("%d of %s", n, name))
	}
	slices.Sort(names)
	if more := len(names) - lostNamed; more > 0 {
		names = append(names[:lostNamed], fmt.Sprintf("%d others", more))
	}
	return fmt.Sprintf("The gateway was ended while %s waited. Their clients have sent %d again since; not yet: %s.",
		text.Count(w.of, "call", "calls"), w.of-len(w.lost), strings.Join(names, ", "))
}

func (a asker) name() string {
	name := cmp.Or(a.Client, "a program without a name")
	if a.Session != "" {
		name += " (session " + a.Session[:min(8, len(a.Session))] + ")"
	}
	return name
}
