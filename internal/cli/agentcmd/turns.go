package agentcmd

import (
	"cmp"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/turn"
)

// The faces of turns.
const (
	Conversation = telemetry.ConversationFace // of `serve`
	ChatFace     = "chat"
	RunFace      = "run"
	CouncilFace  = "council"
)

// openBound bounds the turns in progress that are tracked. Events of others are reported without their begin.
const openBound = 100_000

// TurnWatcher reports turns as events of the gateway, so that one log, one set of metrics, one kind of traces and
// one feed serve both. The events contain nothing of a conversation. Its methods may be called concurrently.
type TurnWatcher struct {
	// Group begins the span of a council by its face, id and its caller's traceparent, and returns the traceparent
	// of its turns. If it is nil, a council has no span.
	Group func(face, id, parent string) (span string, end func(turn.Status))

	face string
	to   func(*gateway.Event)

	mu   sync.Mutex
	last int64 // the number of the latest turn, from -1 downwards: no request of the gateway has it
	open map[key]*call
}

type key struct {
	conversation, turn string
	member             int // of a council
}

type call struct {
	gateway.Call
	fault *fault.Error // the latest, without its words; nil: it has not failed, or has recovered
}

// NewTurnWatcher returns a watcher of the turns of a face. to gets their events, possibly concurrently; it may be
// nil.
func NewTurnWatcher(face string, to func(*gateway.Event)) *TurnWatcher {
	if to == nil {
		to = func(*gateway.Event) {}
	}
	return &TurnWatcher{face: face, to: to, open: map[key]*call{}}
}

// EventOf returns an event of a conversation as an event of the gateway, without the number of a turn. It still
// contains the provider's text.
func EventOf(e conversation.Event) gateway.Event {
	return gateway.Event{At: e.At, Try: e.Try, Event: e.Event, Call: gateway.Call{
		Face: Conversation, Turn: e.Turn, Session: e.Conversation, API: e.Name.Provider, Upstream: e.Name.Provider, Model: e.Name.Model,
		Stream: true, Parent: e.Parent,
	}}
}

// Watch reports an event of a conversation's turn: it is for conversation.Config.OnEvent.
func (w *TurnWatcher) Watch(e conversation.Event) {
	w.watch(key{conversation: e.Conversation, turn: e.Turn}, e.Parent, e.Report)
}

// Turn returns the OnReport of an agent for one turn. parent is the traceparent of its caller, or "".
func (w *TurnWatcher) Turn(id, parent string) func(agent.Report) {
	return func(r agent.Report) { w.watch(key{turn: id}, parent, r) }
}

// Members returns the OnReport of a council that begins, and a function to call at its end. parent is the
// traceparent of its caller, or "".
func (w *TurnWatcher) Members(id, parent string) (report func(int, agent.Report), end func(turn.Status)) {
	end = func(turn.Status) {}
	if w.Group != nil {
		parent, end = w.Group(w.face, id, parent)
	}
	return func(member int, r agent.Report) { w.watch(key{turn: id, member: member}, parent, r) }, end
}

func (w *TurnWatcher) watch(k key, parent string, r agent.Report) {
	about, known := w.about(k, parent, &r)
	if _, starts := r.Event.(turn.Start); !known && !starts {
		w.to(&gateway.Event{At: r.At, Call: about.Call, Event: turn.Restarted{}}) // it began in another process
	}
	if end, ok := r.Event.(turn.Sealed); ok && end.Status == turn.Aborted {
		w.to(&gateway.Event{At: r.At, Call: about.Call, Event: about.stopped(end)})
	}
	w.to(&gateway.Event{At: r.At, Call: about.Call, Try: r.Try, Event: r.Event})
}

func (c call) stopped(end turn.Sealed) turn.Error {
	f := &fault.Error{Kind: fault.Canceled, Message: "stopped"}
	if c.fault != nil {
		f.Err = c.fault
	}
	return turn.NewError(f, end.RetryCount, end.TotalRetryDelay)
}

// about returns the turn of a report, and whether it was known. It moves the provider's text out of the report.
func (w *TurnWatcher) about(k key, parent string, r *agent.Report) (about call, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.open[k]
	if known = c != nil; !known {
		w.last--
		c = &call{Call: gateway.Call{ID: w.last, Face: w.face, Turn: k.turn, Session: k.conversation, Stream: true, Began: began(r), Parent: parent}}
		if len(w.open) < openBound {
			w.open[k] = c
		}
	}
	c.API, c.Upstream, c.Model = r.Name.Provider, r.Name.Provider, r.Name.Model
	c.takeWords(r)
	if _, ended := r.Event.(turn.Sealed); ended {
		delete(w.open, k)
	}
	return *c, known
}

func began(r *agent.Report) time.Time {
	if r.Try.N > 0 {
		return r.Try.Start
	}
	return r.At
}

func (c *call) takeWords(r *agent.Report) {
	if r.Try.N > 0 {
		r.Try.Fault = r.Try.Fault.WithoutMessage()
		c.fault = r.Try.Fault
	}
	switch e := r.Event.(type) {
	case turn.Retry:
		e.Fault = e.Fault.WithoutMessage()
		r.Event = e
	case turn.Switched:
		if e.Why = ""; c.fault != nil {
			e.Why = c.fault.Redacted()
		}
		r.Event = e
	case turn.Error:
		r.Event = withoutWords(e)
	}
}

func withoutWords(e turn.Error) turn.Error {
	f := e.Fault
	if f == nil { // no model has failed, but its worker
		f = &fault.Error{Kind: fault.KindOf(e.Kind), Code: e.Code}
	}
	silent := turn.NewError(f.WithoutMessage(), e.Retries, e.Waited)
	silent.Name, silent.Upstream, silent.Stop = e.Name, e.Upstream, e.Stop
	silent.RequestID = cmp.Or(e.RequestID, silent.RequestID)
	return silent
}
