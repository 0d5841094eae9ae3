package conversations

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/wire"
)

// openSocket streams the events of a conversation on a WebSocket and carries out the commands that arrive on it.
func (a *API) openSocket(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	after, err := rest.Number("after", r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	if _, err := a.viewAfter(r.Context(), id, after); err != nil {
		return err
	}
	switch {
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		w.Header().Set("Upgrade", "websocket")
		return rest.Problem(http.StatusUpgradeRequired, "this address is for WebSockets; use %s/events without one", strings.TrimSuffix(rest.Clip(r.URL.Path), "/socket"))
	case !a.Readers.Admit(w):
		return nil
	}
	defer a.Readers.Leave()
	defer a.Readers.KeepSocket()()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the server has verified it
	if err != nil {
		return nil // Accept has answered
	}
	conn.SetReadLimit(turnBound)
	// The request's context ends with the handshake.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &socket{api: a, r: r, conn: conn, id: id, answers: make(chan any, answersBuffered)}
	s.serve(ctx, cancel, after)
	return nil
}

// answersBuffered is how many answers may be queued for a client before its next command is read.
const answersBuffered = 16

type socket struct {
	api     *API
	r       *http.Request
	conn    *websocket.Conn
	id      string // of the conversation
	answers chan any
}

func (s *socket) serve(ctx context.Context, cancel context.CancelFunc, after int64) {
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		s.read(ctx)
	})
	events, stop := rest.Subscribe(ctx, func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return s.api.attach(ctx, s.id, after)
	})
	status, reason := s.write(ctx, events)
	if ctx.Err() == nil {
		_ = s.conn.Close(status, reason)
	}
	cancel()
	_ = s.conn.CloseNow()
	stop()
	reading.Wait()
}

// read carries out commands in order, until the client leaves.
func (s *socket) read(ctx context.Context) {
	for {
		kind, text, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		select {
		case s.answers <- s.do(ctx, kind, text):
		case <-ctx.Done():
			return
		}
	}
}

func (s *socket) do(ctx context.Context, kind websocket.MessageType, text []byte) any {
	var c api.Command
	var err error
	if kind != websocket.MessageText || !utf8.Valid(text) {
		err = rest.Problem(http.StatusBadRequest, "a message must be UTF-8 text")
	} else {
		err = rest.Decode(text, &c)
	}
	var d api.Done
	if err == nil {
		rest.Record(s.r.Context(), "socket "+rest.Clip(c.Do), "conversation", s.id)
		d, err = s.api.do(conversation.WithParent(ctx, cmp.Or(c.Parent, parentOf(s.r))), s.id, c)
	}
	if err != nil {
		return api.Rejected{Do: rest.Clip(c.Do), Problem: rest.ProblemOf(s.api.Log, s.r, views.Explain(err))}
	}
	return d
}

// write sends events and answers until they end, and returns how to close the connection.
func (s *socket) write(ctx context.Context, events <-chan rest.Item) (status websocket.StatusCode, reason string) {
	beat := time.NewTicker(rest.BeatTime)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return websocket.StatusNormalClosure, ""
		case <-s.api.Readers.Draining():
			return websocket.StatusGoingAway, "the server is shutting down"
		case a := <-s.answers:
			err = s.send(ctx, rest.JSON(a))
		case <-beat.C:
			err = s.ping(ctx)
		case e := <-events:
			if e.Err != nil {
				return s.sendEnd(ctx, e.Err)
			}
			err = s.send(ctx, e.JSON)
		}
		if err != nil {
			return websocket.StatusPolicyViolation, "too slow"
		}
	}
}

func (s *socket) send(ctx context.Context, text []byte) error {
	ctx, cancel := exchange.WithTimeout(ctx, rest.StallTime)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// ping checks that the client is still there.
func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := exchange.WithTimeout(ctx, rest.StallTime)
	defer cancel()
	return s.conn.Ping(ctx)
}

// sendEnd sends why there are no more events, and returns how to close the connection.
func (s *socket) sendEnd(ctx context.Context, err error) (status websocket.StatusCode, reason string) {
	if rest.Ended(err) {
		return websocket.StatusGoingAway, "the server is shutting down"
	}
	p := rest.ProblemOf(s.api.Log, s.r, err)
	_ = s.send(ctx, rest.JSON(api.Rejected{Problem: p}))
	return websocket.StatusNormalClosure, p.Code
}
