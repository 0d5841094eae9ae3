package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Bounds of councils.
const (
	councilBound  = 8                      // that sit at a time
	memberBound   = 16                     // of one
	questionBound = conversation.TextBound // in bytes, and of the standing orders as well
	summonsBound  = 12*questionBound + settingsBound
	termBound     = 24 * time.Hour // of each time that is asked for
)

// errLeft stops a council that nobody listens to any more.
var errLeft = errors.New("nobody listens any more")

// convening are all that can be done with councils.
func (s *Server) convening() []operation {
	const what = "ask several models the same and have one of them make one answer of it, as a stream; as application/json: all of it at the end"
	return []operation{{http.MethodPost, "/-/councils", "convene", what, s.convene}}
}

// summons is what a council is convened with.
type summons struct {
	Question         string   `json:"question"`
	Models           []string `json:"models"`                    // the members, from 2 to 16; the same one may have several voices
	Judge            string   `json:"judge,omitzero"`            // the model that makes one answer of theirs; "": that of the first member
	System           string   `json:"system,omitzero"`           // standing orders to the members and the judge
	Quorum           int      `json:"quorum,omitzero"`           // how many answers are enough; 0: 2
	BudgetMs         int64    `json:"budgetMs,omitzero"`         // of each member over all its tries; 0: 270000
	ReserveMs        int64    `json:"reserveMs,omitzero"`        // how much of it must be left for another try; 0: 30000
	GraceMs          int64    `json:"graceMs,omitzero"`          // for the rest, once there are enough; 0: 30000
	JudgeBudgetMs    int64    `json:"judgeBudgetMs,omitzero"`    // of the judge over all its tries; 0: 120000
	CapMs            int64    `json:"capMs,omitzero"`            // of the whole, the judge's budget included; 0: 420000
	AttemptsInPrompt bool     `json:"attemptsInPrompt,omitzero"` // the judge reads in how many tries each member has answered
}

// voice is a member or the judge, as it has ended, as JSON.
type voice struct {
	Model   string `json:"model"`
	State   string `json:"state"` // "answered", "failed" or "cut-off"
	Tries   int    `json:"tries"`
	TookMs  int64  `json:"tookMs"`
	Answer  string `json:"answer,omitzero"`
	Reason  string `json:"reason,omitzero"`  // what has cut it off: "grace", "cap" or "stopped"
	Kind    string `json:"kind,omitzero"`    // of the fault that it has met last
	Code    string `json:"code,omitzero"`    // of that fault
	Message string `json:"message,omitzero"` // of that fault, in the provider's words
}

// minutes are a council that is over, as JSON.
type minutes struct {
	ID      string      `json:"id"`
	Status  turn.Status `json:"status"`
	Answer  string      `json:"answer,omitzero"`  // left out: there is none
	Message string      `json:"message,omitzero"` // what it has failed of
	TookMs  int64       `json:"tookMs"`
	Members []voice     `json:"members"`
	Judge   *voice      `json:"judge,omitzero"` // left out: it was not asked
}

// convene holds a council for as long as the client listens.
func (s *Server) convene(w http.ResponseWriter, r *http.Request) error {
	b, err := read[summons](w, r, summonsBound)
	if err != nil {
		return err
	}
	c, err := s.summoned(b)
	if err != nil {
		return err
	}
	if n := s.councils.Add(1); n > councilBound {
		s.councils.Add(-1)
		w.Header().Set("Retry-After", "30")
		return wrong(http.StatusServiceUnavailable, "%d councils sit already; try again later", councilBound)
	}
	defer s.councils.Add(-1)
	if !s.seat(w) {
		return nil
	}
	kind := cmp.Or(streamed(r), ndjson)
	if streamed(r) == "" && strings.Contains(r.Header.Get("Accept"), wholly) {
		kind = wholly
	}
	out := s.begin(w, r, kind)
	defer out.close()
	s.hold(out, c, b.Question, &hearing{id: conversation.NewID(), whole: kind == wholly, news: make(chan struct{}, 1)})
	return nil
}

// wholly is the kind of an answer that comes at the end.
const wholly = "application/json"

// summoned gives the council that a client asks for.
func (s *Server) summoned(b summons) (c council.Council, err error) {
	times := []int64{b.BudgetMs, b.ReserveMs, b.GraceMs, b.JudgeBudgetMs, b.CapMs}
	switch {
	case strings.TrimSpace(b.Question) == "":
		return c, wrong(http.StatusBadRequest, "there is no question")
	case max(len(b.Question), len(b.System)) > questionBound:
		return c, wrong(http.StatusRequestEntityTooLarge, "a question, and standing orders, are not longer than %d KiB", questionBound>>10)
	case len(b.Models) < 2 || len(b.Models) > memberBound:
		return c, wrong(http.StatusBadRequest, "models: want from 2 to %d, and there are %d", memberBound, len(b.Models))
	case slices.Min(times) < 0 || slices.Max(times) > termBound.Milliseconds():
		return c, wrong(http.StatusBadRequest, "a time is from 0 to %d ms", termBound.Milliseconds())
	}
	if c, err = s.config.Council(b.Models, b.Judge); err != nil {
		return c, wrong(http.StatusBadRequest, "%v", err)
	}
	for i := range c.Members {
		c.Members[i].System = b.System
	}
	c.Aggregator.System = b.System
	c.Quorum, c.Attempts = b.Quorum, b.AttemptsInPrompt
	c.Budget, c.Reserve, c.Grace = after(b.BudgetMs), after(b.ReserveMs), after(b.GraceMs)
	c.AggregatorBudget, c.Cap = after(b.JudgeBudgetMs), after(b.CapMs)
	if err := c.Check(); err != nil {
		return c, wrong(http.StatusBadRequest, "%s", strings.TrimPrefix(err.Error(), "council: "))
	}
	return c, nil
}

func after(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// hold holds a council and tells of it, until it is over. It is stopped when
// the client leaves or the server ends.
func (s *Server) hold(out *stream, c council.Council, question string, h *hearing) {
	ctx, stop := context.WithCancelCause(out.r.Context())
	defer stop(nil)
	c.OnEvent = h.add
	var sitting sync.WaitGroup
	sitting.Go(func() { _, _ = c.Run(ctx, question) }) // what it returns is its last event
	for listens := out.push() == nil; listens && !h.tell(out); {
		listens = out.flush() == nil && await(out, h.news)
	}
	stop(errLeft)
	sitting.Wait()
	h.tell(out)
	_ = out.flush() // who has left misses it
	end := h.end
	s.config.Log.Info("a council has sat", "id", h.id, "status", string(end.Status()), "members", len(end.Members),
		"answered", end.Count(council.Answered), "took", end.Took)
}

// hearing is what is to be told of a council.
type hearing struct {
	id    string
	whole bool          // all at its end
	news  chan struct{} // something has been added

	mu   sync.Mutex
	seq  int64
	told []wire.Event // but not yet
	end  *council.Closed
}

// add notes what happens. There is no more of it than the answers are long.
func (h *hearing) add(e council.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end, ok := e.(council.Closed); ok {
		h.end = &end
	}
	if !h.whole {
		h.seq++
		h.told = append(h.told, wire.Event{Seq: h.seq, Time: time.Now(), Body: council.Body(h.id, e)})
	}
	if !h.whole || h.end != nil {
		select {
		case h.news <- struct{}{}:
		default: // nobody has looked since the last
		}
	}
}

// tell adds what has happened to a stream, and tells whether that was all.
func (h *hearing) tell(out *stream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.told {
		out.tell(e)
	}
	h.told = nil
	if h.whole && h.end != nil {
		out.buf.Write(append(encode(h.minutes()), '\n'))
		h.whole = false
	}
	return h.end != nil
}

// minutes gives all of it, once it is over.
func (h *hearing) minutes() minutes {
	end := council.Body(h.id, *h.end).(wire.CouncilEnd)
	m := minutes{
		ID: h.id, Status: h.end.Status(), Answer: h.end.Answer(), Message: end.Message, TookMs: end.TookMs,
		Members: make([]voice, len(h.end.Members)),
	}
	for i, v := range h.end.Members {
		m.Members[i] = viewVoice(v)
	}
	if h.end.Aggregator.State != "" {
		judge := viewVoice(h.end.Aggregator)
		m.Judge = &judge
	}
	return m
}

func viewVoice(v council.Voice) voice {
	b := council.Body("", council.Changed{Voice: v}).(wire.CouncilMember)
	return voice{
		Model: v.Name.String(), State: b.State, Tries: b.Tries, TookMs: b.TookMs, Answer: b.Answer, Reason: b.Reason,
		Kind: b.Kind, Code: b.Code, Message: b.Message,
	}
}
