package live

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/stream"
)

// hello is the first event of /-/live.
type hello struct {
	Version       string `json:"version,omitzero"`
	Boot          string `json:"boot"`             // names the process
	Replica       string `json:"replica,omitzero"` // this gateway's name in its fleet; left out: it is in none
	Token         bool   `json:"token"`            // requests need a token
	Acts          bool   `json:"acts"`             // that of this one permits actions
	Conversations bool   `json:"conversations"`    // there are conversations
}

// lists returns the lists that /-/live shows, in this order.
func (l *Live) lists() []*list {
	return []*list{&l.waits, &l.turns, &l.tallies, &l.upstreams, &l.incidents, &l.conversations, &l.warnings}
}

// serveLive streams all lists and their changes, and the events of the conversation that the request names: a
// browser has few connections to a server.
func (l *Live) serveLive(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, err := rest.Number("after", cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")))
	if err != nil {
		rest.WriteProblem(w, rest.ProblemOf(l.Log, r, err))
		return
	}
	out := l.Readers.Open(w, r)
	if out == nil {
		return
	}
	defer out.Close()
	events, stop := l.subscribe(r.Context(), q.Get("conversation"), after)
	defer stop()
	out.Write("hello", rest.JSON(hello{l.Version, l.Feed.Boot(), l.Replica, l.Token, access.ScopeOf(r.Context()).Has(access.Act), l.Conversations != nil}))
	lists := l.lists()
	versions := make([]int, len(lists))
	for i, list := range lists {
		versions[i] = list.begin(&out.Buffer, list.all)
		defer list.leave()
	}
	follow(out, lists, versions, events)
}

// follow streams changes and events until the reader leaves.
func follow(out *stream.Stream, lists []*list, versions []int, events <-chan stream.Item) {
	ticker := time.NewTicker(refreshTime)
	defer ticker.Stop()
	for out.FlushBatch(len(events) > 0) {
		e, came, ok := stream.Next(out, ticker.C, events)
		switch {
		case !ok:
			return
		case !came:
			for i, list := range lists {
				versions[i] = list.changesSince(versions[i], &out.Buffer, list.all)
			}
		case e.Err == nil:
			out.WriteItem(e)
		default:
			events = nil
			out.WriteError("conversation-problem", e.Err)
		}
	}
}

// subscribe reads the events of a conversation after one; id "": there are none. A conversation that does not exist is
// an error of the events: the stream has other things to show.
func (l *Live) subscribe(ctx context.Context, id string, after int64) (events <-chan stream.Item, stop func()) {
	switch {
	case id == "":
		return nil, func() {}
	case l.Conversations == nil:
		return stream.Failed(rest.Problem(http.StatusNotFound, "no such conversation"))
	}
	return l.Conversations.Subscribe(ctx, id, after)
}
