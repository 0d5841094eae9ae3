// Package responses serves the WebSocket form of OpenAI's Responses API with a handler of its HTTP form.
//
// Codex opens a WebSocket and sends each turn as a frame on it (https://developers.openai.com/api/docs/guides/websocket-mode).
// A proxy that only joins the two connections could retry nothing. Here the socket ends: each
// response.create becomes a POST, the server-sent events of its answer become frames, and an error becomes
// the frame with a status that Codex reads. What the API keeps for a connection, the items behind
// previous_response_id, is kept here, so a lost upstream is no loss for the client.
//
// The package knows the frames, not the gateway, which is its user.
package responses

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/exchange"
)

// Bounds of a connection.
const (
	frameBound  = 32 << 20         // bytes of a frame, like the vendor's of a body
	queueBound  = 16               // requests behind the one in progress; as many more are refused in their turn
	pongTimeout = 30 * time.Second // a client that answers no ping for so long has left
)

// ErrCanceled ends the context of a request that its client has canceled, and not merely left.
var ErrCanceled = errors.New("the client has canceled the request")

// IsHandshake reports whether a request opens a WebSocket.
func IsHandshake(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Serve accepts a WebSocket and answers its requests, one after the other, with the handler, until the client
// leaves. Once draining ends, the request in progress is finished and the socket closed with 1012, service
// restart, on which clients connect again.
//
// What a socket holds of the client's requests is in the budget. A frame that does not fit is answered with 503.
func Serve(w http.ResponseWriter, r *http.Request, handler http.Handler, draining context.Context, budget Budget) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the server has checked the origin
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(frameBound)
	// The request's context ends with the handshake.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	s := &socket{conn: conn, alive: ctx, leave: cancel, opening: r, handler: handler, budget: budget, requests: make(chan request, 2*queueBound), chains: chains{budget: budget}}
	var reading sync.WaitGroup
	defer s.release()
	defer reading.Wait()
	reading.Go(func() {
		defer cancel()
		s.read()
	})
	s.serve(draining)
	_ = conn.CloseNow() // ends read
}

// socket is one client's connection.
type socket struct {
	conn     *websocket.Conn
	alive    context.Context    // until the client leaves; a frame that a shorter one cut would end the connection
	leave    context.CancelFunc // ends it
	opening  *http.Request      // whose headers hold for all requests
	handler  http.Handler
	budget   Budget
	requests chan request
	chains   chains

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // of the request in progress; nil: there is none
	pinging bool
}

// read queues the client's requests until it leaves.
func (s *socket) read() {
	for {
		kind, frame, err := s.receive(s.alive)
		var req request
		switch {
		case err == errFull:
			req.problem = problemf(http.StatusServiceUnavailable, "server_is_overloaded", "%v; try again", err)
		case err != nil:
			return
		default:
			req, req.problem = parse(kind, frame)
			req.held = int64(cap(frame))
		}
		switch {
		case req.cancels:
			s.budget.Return(req.held)
			s.cancelCurrent()
		case !s.queue(req):
			return
		}
	}
}

// queue queues a request after the one in progress, or the error with which it is refused: sent at once, that would
// end the answer in progress. false: the client has sent too many.
func (s *socket) queue(req request) bool {
	if req.problem == nil && len(s.requests) >= queueBound {
		req.problem = problemf(http.StatusTooManyRequests, "rate_limit_exceeded", "%d requests wait on this socket already", queueBound)
	}
	if p := req.problem; p != nil {
		s.budget.Return(req.held)
		if !p.endsAnswer() {
			return s.send(p.frame())
		}
		req = request{problem: p} // nothing of the frame is kept
	}
	select {
	case s.requests <- req:
		return true
	default:
		_ = s.conn.Close(websocket.StatusPolicyViolation, "too many requests wait on this socket")
		return false
	}
}

// serve answers the requests until the client leaves or the gateway drains.
func (s *socket) serve(draining context.Context) {
	for {
		select {
		case <-s.alive.Done():
			return
		case <-draining.Done():
			_ = s.conn.Close(websocket.StatusServiceRestart, "the gateway is restarting; connect again")
			return
		case req := <-s.requests:
			understood := s.answer(req)
			s.budget.Return(req.held)
			if !understood {
				_ = s.conn.Close(websocket.StatusInternalError, "the answer broke off")
				return
			}
		}
	}
}

// answer answers one request. It reports whether the answer has ended in a way that the client understands.
func (s *socket) answer(req request) bool {
	if req.problem != nil {
		return s.send(req.problem.frame())
	}
	chain, problem := s.chains.extend(req)
	switch {
	case problem != nil:
		return s.send(problem.frame())
	case req.warmsUp:
		return s.warmUp(chain)
	}
	ctx, cancel := context.WithCancelCause(s.alive)
	defer cancel(nil)
	s.setCancel(cancel)
	defer s.setCancel(nil)
	w := &frameWriter{socket: s, header: http.Header{}, chain: chain}
	if !s.handle(w, s.post(ctx, req, chain)) && !w.ended {
		return ctx.Err() != nil && s.send(openai.CanceledFrame(w.responseID))
	}
	return w.finish()
}

// handle lets the handler answer; false: it cut the answer.
func (s *socket) handle(w http.ResponseWriter, r *http.Request) (whole bool) {
	defer func() {
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler {
			panic(cause)
		}
	}()
	s.handler.ServeHTTP(w, r)
	return true
}

// handshakeHeaders are those that belong to the handshake and not to its requests.
var handshakeHeaders = []string{
	"Connection", "Upgrade", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol",
	"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "Openai-Beta",
}

// post returns the request as the HTTP form has it.
func (s *socket) post(ctx context.Context, req request, chain *chain) *http.Request {
	r := s.opening.Clone(ctx)
	r.Method = http.MethodPost
	for _, name := range handshakeHeaders {
		delete(r.Header, name)
	}
	if rest := slices.DeleteFunc(s.opening.Header.Values("Openai-Beta"), isSocketBeta); len(rest) > 0 {
		r.Header["Openai-Beta"] = rest
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	req.setTrace(r.Header)
	setBody(r, req.body(chain))
	return r
}

// isSocketBeta reports whether a beta is that of the WebSocket form.
func isSocketBeta(beta string) bool { return strings.HasPrefix(beta, "responses_websockets") }

// warmUp answers a request that only prepares the next: nothing is sent to the provider.
func (s *socket) warmUp(chain *chain) bool {
	id := s.chains.keep(newID(), chain)
	return s.send(openai.WarmUpFrame("response.created", id, "in_progress")) && s.send(openai.WarmUpFrame("response.completed", id, "completed"))
}

// setCancel sets what ends the request in progress.
func (s *socket) setCancel(cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
}

// cancelCurrent ends the request in progress.
func (s *socket) cancelCurrent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel(ErrCanceled)
	}
}

// send sends one frame; false: the client has left.
func (s *socket) send(frame []byte) bool {
	return s.conn.Write(s.alive, websocket.MessageText, frame) == nil
}

// ping shows that the connection is alive, without waiting for the client's answer.
func (s *socket) ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinging {
		return
	}
	s.pinging = true
	go func() { // ends with the pong, or after pongTimeout
		ctx, cancel := exchange.WithTimeout(s.alive, pongTimeout)
		defer cancel()
		_ = s.conn.Ping(ctx) // a client that has left ends read
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pinging = false
	}()
}
