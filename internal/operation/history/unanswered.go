package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/turn"
)

const (
	waitingTime  = 2 * time.Second // between two writes of which calls wait, if they change
	waitingBound = 1000            // of them that are recorded
	lostTime     = time.Hour       // for which it is said what an earlier process has lost
	lostNamed    = 4               // callers that are named
)

// waitingFile is the file beside the history's in which it is recorded which calls of the gateway wait.
const waitingFile = "waiting.json"

// asker is whose call waits.
type asker struct {
	Client  string `json:"client,omitzero"`
	Session string `json:"session,omitzero"`
	Model   string `json:"model,omitzero"`
}

func askerOf(c *gateway.Call) asker { return asker{c.Client, c.Session, c.Model} }

// unanswered records which calls of the gateway wait. A process that ends in an orderly way hands them back; one
// that is killed leaves them in the file, and the next one can name those that no client has sent again.
type unanswered struct {
	waits map[int64]asker
	dirty bool
	lost  []asker // by an earlier process, without those that have come again
	of    int     // with them
	mine  bool    // the file is this process's, and so was what it has left
}

// watch follows an event of the gateway.
func (u *unanswered) watch(e *gateway.Event) {
	switch e.Event.(type) {
	case turn.Start:
		if i := slices.Index(u.lost, askerOf(&e.Call)); i >= 0 {
			u.lost = slices.Delete(u.lost, i, i+1)
		}
	case turn.Retry:
		if _, known := u.waits[e.Call.ID]; !known && len(u.waits) < waitingBound {
			u.waits[e.Call.ID], u.dirty = askerOf(&e.Call), true
		}
	case turn.Recovered, turn.Sealed:
		if _, known := u.waits[e.Call.ID]; known {
			delete(u.waits, e.Call.ID)
			u.dirty = true
		}
	}
}

// readWaiting reads what an earlier process has left.
func (h *History) readWaiting() {
	text, err := os.ReadFile(h.waitingPath())
	if err == nil {
		err = json.Unmarshal(text, &h.unanswered.lost)
	}
	h.unanswered.of = len(h.unanswered.lost)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.log.Warn("it is not known which calls an earlier process has lost", "error", err)
	}
}

func (h *History) waitingPath() string { return filepath.Join(filepath.Dir(h.path), waitingFile) }

// saveWaiting writes which calls wait, if that has changed.
func (h *History) saveWaiting() error {
	h.mu.Lock()
	u := &h.unanswered
	u.mine = true
	all := make([]asker, 0, len(u.waits))
	for _, who := range u.waits {
		all = append(all, who)
	}
	dirty := u.dirty
	u.dirty = false
	h.mu.Unlock()
	if !dirty {
		return nil
	}
	return writeJSON(h.waitingPath(), all)
}

// Lost says in a sentence which calls an earlier process, which was killed, has lost; "": none is known.
func (h *History) Lost(now time.Time) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := &h.unanswered
	if !u.mine || len(u.lost) == 0 || now.Sub(h.started) > lostTime {
		return ""
	}
	callers := map[string]int{}
	for _, who := range u.lost {
		callers[who.name()]++
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
		plural.Count(u.of, "call", "calls"), u.of-len(u.lost), strings.Join(names, ", "))
}

// name returns the program and the beginning of its session.
func (a asker) name() string {
	name := cmp.Or(a.Client, "a program without a name")
	if a.Session != "" {
		name += " (session " + a.Session[:min(8, len(a.Session))] + ")"
	}
	return name
}
