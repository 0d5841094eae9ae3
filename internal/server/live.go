package server

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/wire"
)

// hello is the first event of /-/live.
type hello struct {
	Version       string `json:"version,omitzero"`
	Boot          string `json:"boot"`          // another one: the process is another
	Token         bool   `json:"token"`         // requests have to bring it
	Conversations bool   `json:"conversations"` // there are some
}

// lists are those that /-/live shows, in this order.
func (s *Server) lists() []followed {
	return []followed{&s.waits, &s.turns, &s.tallies, &s.upstreams, &s.incidents, &s.recent}
}

// serveLive shows all that there is to see, and what changes, in one stream: a
// browser has only so many connections to a server.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	talk, err := s.overhear(r)
	if err != nil {
		s.problemOf(r, err).serve(w)
		return
	}
	out := s.open(w, r)
	if out == nil {
		return
	}
	defer out.close()
	news, end := gather(r.Context(), talk)
	defer end()
	out.event("", "hello", encode(hello{s.config.Version, s.config.Feed.boot, s.config.Token != "", s.config.Conversations != nil}))
	lists := s.lists()
	seen := make([]int, len(lists))
	for i, l := range lists {
		seen[i] = l.begin(&out.buf, l.name())
		defer l.leave()
	}
	out.live(lists, seen, news)
}

// live tells what changes until the reader leaves.
func (o *stream) live(lists []followed, seen []int, news <-chan told) {
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for o.bears(len(news) > 0) {
		e, came, ok := either(o, ticker.C, news)
		switch {
		case !ok:
			return
		case !came:
			for i, l := range lists {
				seen[i] = l.more(&o.buf, l.name(), seen[i])
			}
		case e.err == nil:
			o.tell(e.Event)
		default:
			news = nil
			o.hush(e.err)
		}
	}
}

// hush says that nothing more comes of the conversation that the reader follows.
func (o *stream) hush(err error) {
	if !over(err) {
		o.event("", "talk-problem", encode(o.server.problemOf(o.r, err)))
	}
}

// overhear gives the events of the conversation that a request follows: none
// where it names none. One that is not there is told of in the stream, which
// has other things to show.
func (s *Server) overhear(r *http.Request) (attach func(context.Context) iter.Seq2[wire.Event, error], err error) {
	q := r.URL.Query()
	after, err := number("after", cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")))
	if err != nil {
		return nil, err
	}
	id, host := q.Get("conversation"), s.config.Conversations
	return func(ctx context.Context) iter.Seq2[wire.Event, error] {
		switch {
		case id == "":
			return silence(errOver)
		case host == nil:
			return silence(conversation.ErrNone)
		}
		if v, err := host.Get(ctx, id); err != nil {
			return silence(err)
		} else if after > v.Last {
			return silence(beyond(after, v.Last))
		}
		return host.Attach(ctx, id, after)
	}, nil
}

// silence is a sequence of nothing but the reason for that.
func silence(err error) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if !errors.Is(err, errOver) {
			yield(wire.Event{}, err)
		}
	}
}
