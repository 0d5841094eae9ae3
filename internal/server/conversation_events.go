package server

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// utterance is what a user says.
type utterance struct {
	Text string `json:"text"`
	ID   string `json:"id,omitzero"` // the turn's; "": one is made up
}

// say takes what a user says. What has been answered for is durable.
func (s *Server) say(w http.ResponseWriter, r *http.Request) error {
	b, err := read[utterance](w, r, textBound)
	if err != nil {
		return err
	}
	key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
	if key != "" && b.ID != "" && key != b.ID {
		return wrong(http.StatusBadRequest, "the id and the Idempotency-Key are not the same")
	}
	c := command{Do: "say", ID: cmp.Or(b.ID, key), Text: b.Text}
	if kind := streamed(r); kind != "" {
		return s.converse(w, r, kind, c)
	}
	return s.act(w, r, c)
}

// converse takes what a user says and tells what becomes of it.
func (s *Server) converse(w http.ResponseWriter, r *http.Request, kind string, c command) error {
	if !s.seat(w) {
		return nil
	}
	id := r.PathValue("id")
	c.ID = cmp.Or(c.ID, conversation.NewID())
	t := &thread{input: c.ID}
	news, end := gather(r.Context(), func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return t.of(s.config.Conversations.Attach(ctx, id, 0)) // before anything passes by
	})
	defer end()
	if _, err := s.do(r.Context(), id, c); err != nil {
		s.rise()
		return err
	}
	s.show(w, r, kind, news)
	return nil
}

// streamed gives the kind of stream that a request asks for; "": none.
func streamed(r *http.Request) string {
	for _, kind := range []string{ndjson, eventStream} {
		if strings.Contains(r.Header.Get("Accept"), kind) {
			return kind
		}
	}
	return ""
}

// thread picks what becomes of one input: its turn, or the one that it steers.
type thread struct {
	input string
	turn  string // "": none has taken it up
}

// of gives the events about the input, until it is sealed or taken back.
func (t *thread) of(all iter.Seq2[wire.Event, error]) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range all {
			if err == nil && !t.wants(e.Body) {
				continue
			}
			if !yield(e, err) || t.ends(e.Body) {
				return
			}
		}
	}
}

func (t *thread) wants(b wire.Body) bool {
	whose := wire.TurnOf(b)
	if e, ok := b.(wire.Turn); ok {
		m, _ := e.Event.(turn.UserMessage)
		_, starts := e.Event.(turn.Start)
		if starts && whose == t.input || m.ID == t.input {
			t.turn = whose
		}
	}
	return whose == cmp.Or(t.turn, t.input)
}

func (t *thread) ends(b wire.Body) bool {
	if e, ok := b.(wire.Turn); ok {
		_, sealed := e.Event.(turn.Sealed)
		return sealed
	}
	removed, ok := b.(wire.InputRemoved)
	return ok && !removed.Steers
}

// followConversation tells what has happened in a conversation behind the last
// event that the reader has seen, and what happens.
func (s *Server) followConversation(w http.ResponseWriter, r *http.Request) error {
	id, q := r.PathValue("id"), r.URL.Query()
	after, err := number("after", cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")))
	if err != nil {
		return err
	}
	if end := q.Get("until"); end != "" && end != "sealed" {
		return wrong(http.StatusBadRequest, "until: want sealed, and not %q", clip(end))
	}
	v, err := s.config.Conversations.Get(r.Context(), id)
	switch {
	case err != nil:
		return err
	case after > v.Last:
		return beyond(after, v.Last)
	case !s.seat(w):
		return nil
	}
	news, end := gather(r.Context(), func(ctx context.Context) iter.Seq2[wire.Event, error] {
		if q.Get("until") == "" {
			return s.config.Conversations.Attach(ctx, id, after)
		}
		return s.untilIdle(ctx, v, after)
	})
	defer end()
	s.show(w, r, cmp.Or(streamed(r), ndjson), news)
	return nil
}

// beyond refuses a reader who has seen what never happened.
func beyond(after, last int64) *problem {
	p := wrong(http.StatusConflict, "there is no event %d yet, the last one is %d", after, last)
	p.Code = "wrong-sequence"
	return p
}

// untilIdle gives the events of a conversation until nothing is left to do.
func (s *Server) untilIdle(ctx context.Context, v conversation.View, after int64) iter.Seq2[wire.Event, error] {
	host := s.config.Conversations
	idle := func(v conversation.View) bool { return v.Turn == "" && len(v.Inputs) == 0 }
	if idle(v) {
		return host.History(ctx, v.ID, after)
	}
	return func(yield func(wire.Event, error) bool) {
		whichever := &thread{}
		for e, err := range host.Attach(ctx, v.ID, after) {
			if !yield(e, err) || err != nil {
				return
			}
			if e.Seq <= v.Last || !whichever.ends(e.Body) {
				continue
			}
			if now, err := host.Get(ctx, v.ID); err != nil || idle(now) && e.Seq >= now.Last {
				return
			}
		}
	}
}

// told is an event on its way to a reader.
type told struct {
	wire.Event
	err error // errOver at the end
}

// errOver: there will be no more events.
var errOver = errors.New("over")

// show sends events to a reader who has a place, until they end or the reader
// leaves.
func (s *Server) show(w http.ResponseWriter, r *http.Request, kind string, news <-chan told) {
	out := s.begin(w, r, kind)
	if out == nil {
		return
	}
	defer out.close()
	if out.push() != nil { // the header: the reader is in, whatever there is to tell
		return
	}
	for {
		if !out.bears(len(news) > 0) {
			return
		}
		e, ok := receive(out, news)
		switch {
		case !ok:
			return
		case e.err != nil:
			out.last(e.err)
			return
		}
		out.tell(e.Event)
	}
}

// behind is how many events may be on their way to a reader.
const behind = 64

// gather attaches somebody to events and reads them on the side, so that one
// can wait for something else as well, until ctx ends or end is called.
func gather(ctx context.Context, attach func(context.Context) iter.Seq2[wire.Event, error]) (news <-chan told, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	events := attach(ctx)
	c := make(chan told, behind)
	send := func(t told) bool {
		select {
		case c <- t:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for e, err := range events {
			if !send(told{e, err}) || err != nil {
				return
			}
		}
		send(told{err: errOver})
	})
	return c, func() { cancel(); reading.Wait() }
}

// tell adds an event to what is sent with the next flush. Of server-sent events
// only those that are kept have an id: behind it a reader can go on.
func (o *stream) tell(e wire.Event) {
	text := encode(e)
	if o.lines {
		o.buf.Write(append(text, '\n'))
		return
	}
	id := ""
	if wire.Kept(e.Body) {
		id = strconv.FormatInt(e.Seq, 10)
	}
	o.event(id, e.Body.Type(), text)
}

// over tells whether events have come to an end that needs no words.
func over(err error) bool { return errors.Is(err, errOver) || errors.Is(err, store.ErrClosed) }

// last ends a stream, and says why where that is no good end.
func (o *stream) last(err error) {
	if !over(err) {
		text := encode(o.server.problemOf(o.r, err))
		if o.lines {
			o.buf.Write(append(text, '\n'))
		} else {
			o.event("", "problem", text)
		}
	}
	_ = o.flush()
}
