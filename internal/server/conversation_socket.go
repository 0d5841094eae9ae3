package server

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/wire"
)

// undone answers a command that cannot be carried out.
type undone struct {
	Do string `json:"do,omitzero"` // what was asked; left out: it could not be read
	*problem
}

// openSocket lets a client see what happens in a conversation and say
// something, on one connection.
func (s *Server) openSocket(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	after, err := number("after", r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	if err := s.reaches(r, id, after); err != nil {
		return err
	}
	acts := *r
	acts.Method = http.MethodPost // a GET of another site is let in, and this is more
	switch {
	case s.origins.Check(&acts) != nil:
		return wrong(http.StatusForbidden, "a page of another site has sent this")
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		w.Header().Set("Upgrade", "websocket")
		return wrong(http.StatusUpgradeRequired, "this address is for WebSockets; %s/events is for others", strings.TrimSuffix(clip(r.URL.Path), "/socket"))
	case !s.seat(w):
		return nil
	}
	defer s.rise()
	s.sockets.Add(1)
	defer s.sockets.Done()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // where it comes from is known
	if err != nil {
		return nil // it has had its answer
	}
	conn.SetReadLimit(textBound)
	// The request's context is of no use any more: the connection is ours.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	k := &socket{server: s, r: r, conn: conn, id: id, answers: make(chan any, answersBehind)}
	k.serve(ctx, cancel, after)
	return nil
}

// reaches tells what is wrong with following a conversation from an event on.
func (s *Server) reaches(r *http.Request, id string, after int64) error {
	v, err := s.config.Conversations.Get(r.Context(), id)
	if err == nil && after > v.Last {
		return beyond(after, v.Last)
	}
	return err
}

// answersBehind is how many answers may be on their way to a client. One that
// does not read them is not heard.
const answersBehind = 16

// socket is a client at a WebSocket.
type socket struct {
	server  *Server
	r       *http.Request
	conn    *websocket.Conn
	id      string // of the conversation
	answers chan any
}

// serve hears and tells until one of both sides ends.
func (k *socket) serve(ctx context.Context, cancel context.CancelFunc, after int64) {
	var hearing sync.WaitGroup
	hearing.Go(func() {
		defer cancel()
		k.hear(ctx)
	})
	news, end := gather(ctx, func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return k.server.config.Conversations.Attach(ctx, k.id, after)
	})
	status, why := k.tell(ctx, news)
	if ctx.Err() == nil {
		_ = k.conn.Close(status, why)
	}
	cancel()
	_ = k.conn.CloseNow()
	end()
	hearing.Wait()
}

// hear carries out what the client says, one after the other, until it leaves.
func (k *socket) hear(ctx context.Context) {
	for {
		kind, text, err := k.conn.Read(ctx)
		if err != nil {
			return
		}
		select {
		case k.answers <- k.obey(ctx, kind, text):
		case <-ctx.Done():
			return
		}
	}
}

// obey gives the answer to what the client says.
func (k *socket) obey(ctx context.Context, kind websocket.MessageType, text []byte) any {
	var c command
	var err error
	if kind != websocket.MessageText || !utf8.Valid(text) {
		err = wrong(http.StatusBadRequest, "a message is text in UTF-8")
	} else {
		err = understand(text, &c)
	}
	var d done
	if err == nil {
		d, err = k.server.do(ctx, k.id, c)
	}
	if err != nil {
		return undone{clip(c.Do), k.server.problemOf(k.r, err)}
	}
	return d
}

// tell sends events and answers until there are none, and gives with what to
// say goodbye.
func (k *socket) tell(ctx context.Context, news <-chan told) (websocket.StatusCode, string) {
	beat := time.NewTicker(beatTime)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return websocket.StatusNormalClosure, ""
		case <-k.server.draining:
			return websocket.StatusGoingAway, "the server is shutting down"
		case a := <-k.answers:
			err = k.send(ctx, a)
		case <-beat.C:
			err = k.ping(ctx)
		case e := <-news:
			if e.err != nil {
				return k.farewell(ctx, e.err)
			}
			err = k.send(ctx, e.Event)
		}
		if err != nil {
			return websocket.StatusPolicyViolation, "too slow"
		}
	}
}

// send sends a message. A client that does not take it for a while is cut off.
func (k *socket) send(ctx context.Context, v any) error {
	ctx, cancel := context.WithTimeout(ctx, stallTime)
	defer cancel()
	return k.conn.Write(ctx, websocket.MessageText, encode(v))
}

// ping asks whether the client is still there.
func (k *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stallTime)
	defer cancel()
	return k.conn.Ping(ctx)
}

// farewell says why there will be no more events.
func (k *socket) farewell(ctx context.Context, err error) (websocket.StatusCode, string) {
	if over(err) {
		return websocket.StatusGoingAway, "the server is shutting down"
	}
	p := k.server.problemOf(k.r, err)
	_ = k.send(ctx, undone{problem: p})
	return websocket.StatusNormalClosure, p.Code
}
