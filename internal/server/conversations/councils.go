package conversations

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

const (
	councilsBound = 8                    // councils in progress
	membersBound  = 16                   // of one council
	questionBound = conversation.MaxText // in bytes, and of the system prompt as well
	bodyBound     = 12*questionBound + 512<<10
	durationBound = 24 * time.Hour // of each duration
)

// wholeAnswer is the media type of an answer that comes at the end.
const wholeAnswer = "application/json"

var errLeft = errors.New("the client has left")

// Councils answers the operations on councils. Its methods may be called concurrently.
type Councils struct {
	// New returns a council of models by name, with a judge that may be "".
	New func(models []string, judge string) (council.Council, error)
	// Watch returns the OnReport of a council by its id and the traceparent of its client, and a function to call
	// at its end. If it is nil, councils are not watched.
	Watch func(id, parent string) (report func(member int, r agent.Report), end func(turn.Status))
	rest.Server

	running atomic.Int64
}

// Operations returns all operations for a server.
func (a *Councils) Operations(of rest.Server) []rest.Operation {
	a.Server = of
	const summary = "ask several models the same and have one of them combine the answers, as a stream; as application/json: all of it at the end"
	return []rest.Operation{{Method: http.MethodPost, Path: "/-/councils", Name: "convene", Summary: summary, Serve: a.ask}}
}

// ask runs a council for as long as the client is connected.
func (a *Councils) ask(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.NewCouncil](w, r, bodyBound)
	if err != nil {
		return err
	}
	c, err := a.council(b)
	if err != nil {
		return err
	}
	if n := a.running.Add(1); n > councilsBound {
		a.running.Add(-1)
		w.Header().Set("Retry-After", "30")
		return rest.Problem(http.StatusServiceUnavailable, "%d councils are in progress; try again later", councilsBound)
	}
	defer a.running.Add(-1)
	if !a.Readers.Admit(w) {
		return nil
	}
	kind := cmp.Or(rest.Accepted(r), rest.NDJSON)
	if rest.Accepted(r) == "" && strings.Contains(r.Header.Get("Accept"), wholeAnswer) {
		kind = wholeAnswer
	}
	out := a.Readers.Begin(w, r, kind)
	defer out.Close()
	rec := &recorder{id: conversation.NewID(), whole: kind == wholeAnswer, news: make(chan struct{}, 1)}
	if c.Log = a.Log; a.Watch != nil {
		report, end := a.Watch(rec.id, r.Header.Get("Traceparent"))
		c.OnReport = report
		defer func() { end(rec.end.Ended.Status) }()
	}
	a.run(r.Context(), out, c, b.Question, rec)
	return nil
}

func (a *Councils) council(b api.NewCouncil) (c council.Council, err error) {
	durations := []wire.Millis{b.Budget, b.Reserve, b.Grace, b.JudgeBudget, b.Cap}
	switch {
	case strings.TrimSpace(b.Question) == "":
		return c, rest.Problem(http.StatusBadRequest, "there is no question")
	case max(len(b.Question), len(b.System)) > questionBound:
		return c, rest.Problem(http.StatusRequestEntityTooLarge, "the question and the system prompt may have %d KiB each", questionBound>>10)
	case len(b.Models) < 2 || len(b.Models) > membersBound:
		return c, rest.Problem(http.StatusBadRequest, "models: want 2 to %d, got %d", membersBound, len(b.Models))
	case slices.Min(durations) < 0 || slices.Max(durations) > wire.Millis(durationBound):
		return c, rest.Problem(http.StatusBadRequest, "want each duration from 0 to %d ms", durationBound.Milliseconds())
	}
	if c, err = a.New(b.Models, b.Judge); err != nil {
		return c, rest.Problem(http.StatusBadRequest, "%v", err)
	}
	for i := range c.Members {
		c.Members[i].System = b.System
	}
	c.Aggregator.System = b.System
	c.Quorum, c.ShowTries = b.Quorum, b.AttemptsInPrompt
	c.Budget, c.Reserve, c.Grace = time.Duration(b.Budget), time.Duration(b.Reserve), time.Duration(b.Grace)
	c.AggregatorBudget, c.Cap = time.Duration(b.JudgeBudget), time.Duration(b.Cap)
	if err := c.Check(); err != nil {
		return c, rest.Problem(http.StatusBadRequest, "%s", strings.TrimPrefix(err.Error(), "council: "))
	}
	return c, nil
}

// run runs a council and streams its events until it ends. A client that leaves, or the server's shutdown, stops
// it.
func (a *Councils) run(ctx context.Context, out *rest.Stream, c council.Council, question string, rec *recorder) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.OnEvent = rec.add
	var running sync.WaitGroup
	running.Go(func() { _, _ = c.Run(ctx, question) }) // what it returns is its last event
	for listens := out.Send() == nil; listens && !rec.writeTo(out); {
		listens = out.Flush() == nil && rest.Await(out, rec.news)
	}
	stop(errLeft)
	running.Wait()
	rec.writeTo(out)
	_ = out.Flush() // a client that left misses it
	end := rec.ended()
	a.Log.Info("council ended", "id", rec.id, "status", end.Status, "members", len(rec.end.Ended.Members),
		"answered", end.Answered, "took", text.Exact(rec.end.Ended.Took))
}

type recorder struct {
	id    string
	whole bool          // all of it at the end
	news  chan struct{} // something was added

	mu     sync.Mutex
	seq    int64
	unsent []wire.Event
	end    council.Event // the last one; zero: it has not ended
}

// add keeps an event. The answers' size bounds the total.
func (rec *recorder) add(e council.Event) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if e.Ended != nil {
		rec.end = e
	}
	if !rec.whole {
		rec.seq++
		rec.unsent = append(rec.unsent, wire.Event{Seq: rec.seq, Time: time.Now(), Body: council.Body(rec.id, e)})
	}
	if !rec.whole || e.Ended != nil {
		select {
		case rec.news <- struct{}{}:
		default: // the reader knows already
		}
	}
}

// writeTo writes the unsent events to a stream, and reports whether the council has ended.
func (rec *recorder) writeTo(out *rest.Stream) (ended bool) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, e := range rec.unsent {
		out.WriteItem(rest.NewItem(e))
	}
	rec.unsent = nil
	if rec.whole && rec.end.Ended != nil {
		out.Buffer.Write(append(rest.JSON(rec.council()), '\n'))
		rec.whole = false
	}
	return rec.end.Ended != nil
}

func (rec *recorder) ended() wire.CouncilEnd { return council.Body(rec.id, rec.end).(wire.CouncilEnd) }

func (rec *recorder) council() api.Council {
	end, r := rec.ended(), rec.end.Ended
	c := api.Council{
		ID: rec.id, Status: r.Status, Answer: r.Answer, Message: end.Message, Took: end.Took,
		Members: make([]api.CouncilMember, len(r.Members)),
	}
	for i, v := range r.Members {
		c.Members[i] = memberOf(v)
	}
	if r.Aggregator.State != "" {
		judge := memberOf(r.Aggregator)
		c.Judge = &judge
	}
	return c
}

func memberOf(v council.Member) api.CouncilMember {
	b := council.Body("", council.Event{Member: &v}).(wire.CouncilMember)
	return api.CouncilMember{
		Model: v.Name.String(), State: b.State, Tries: b.Tries, Took: b.Took, Answer: b.Answer, Reason: b.Reason,
		Kind: b.Kind, Code: b.Code, Message: b.Message,
	}
}
