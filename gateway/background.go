package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cursor"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/policy"
)

// BackgroundMode is whether the provider generates an answer of OpenAI's Responses API in the background: without
// a connection, so that one that breaks off is resumed at its next event.
type BackgroundMode string

// The modes.
const (
	BackgroundOff    BackgroundMode = "off"    // as the client asks
	BackgroundStored BackgroundMode = "stored" // streamed answers that the provider stores
)

// BackgroundModes returns all modes.
func BackgroundModes() []BackgroundMode { return []BackgroundMode{BackgroundStored, BackgroundOff} }

// background is an answer that the provider generates in the background.
type background struct {
	at     destination
	answer cursor.Answer // of the goroutine that reads it
	gone   bool          // it cannot be resumed

	mu      sync.Mutex
	sent    *http.Request // the latest, without its body
	held    string        // the id of the answer that a client is sent; "": none
	cancels sync.WaitGroup
}

// cancelTime bounds the request that cancels an answer.
const cancelTime = 10 * time.Second

// maxStored is the largest stored answer that is read.
const maxStored = 32 << 20

// askInBackground makes a request ask for its answer in the background, where the destination is configured so and
// the request allows it. release frees what that takes; call it when no try follows.
func (s *sharedRequest) askInBackground(req *http.Request) (b *background, release func()) {
	c, at := s.leader, s.at
	release = func() {}
	if c.dialect != dialect.OpenAIResponses() || c.parsed.Form != dialect.Events || c.continuing() || c.keepalive == nil ||
		at.BackgroundFor(at.model) != BackgroundStored || at.CompleteFor(at.model) == CompleteOff {
		return nil, release
	}
	text, ok := c.decodedBody(req)
	if ok {
		text, ok = cursor.InBackground(text)
	}
	if !ok {
		return nil, release
	}
	body, err := s.spool.Read(io.NopCloser(bytes.NewReader(text)), int64(len(text)), int64(len(text)))
	if err != nil {
		return nil, release // no room: as the client asks
	}
	body.OnLost = s.cancel
	_ = req.Body.Close()
	delete(req.Header, "Content-Encoding")
	req.ContentLength, req.GetBody = int64(body.Size()), body.Open
	req.Body, _ = body.Open()
	return &background{at: at}, body.Release
}

// base returns what sends the tries of a request at its upstream. release is to be called when no other follows.
//
//go:noinline its frame would be on the stack of every request that waits
func (s *sharedRequest) base(req *http.Request) (base http.RoundTripper, release func()) {
	if s.resumes {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
		return resuming{s.background, s.at.transport, s}, func() {}
	}
	if s.background, release = s.askInBackground(req); s.background == nil {
		return s.at.transport, release
	}
	return beginning{s.background, s.at.transport}, release
}

// resumable reports whether the rest of the answer can be asked for.
func (c *call) resumable() bool {
	b := c.background
	return b != nil && !b.gone && b.answer.Resumable() && c.prelude.Follows()
}

// goOn asks for the rest of the answer that has broken off, and sends the client what comes. false: the provider
// does not have it.
func (c *call) goOn(wait policy.Wait) bool {
	b := c.background
	c.again++
	c.resumed++
	closeResponse(c.shared.resp)
	if c.lead(wait, func() *sharedRequest {
		s := c.newSharedOn(stayAt(b.at, wait.Run), true)
		s.background, s.resumes = b, true
		return s
	}) {
		return true
	}
	c.again--
	c.resumed--
	return false
}

// endBackground ends an answer in the background that is not read to its end.
func (c *call) endBackground() {
	if b := c.background; b != nil && !b.gone && b.answer.Running() {
		b.cancel(b.answer.ID())
	}
	if s := c.shared; s != nil && s.leader == c && s.background != nil {
		s.background.cancels.Wait()
	}
}

// decodedBody returns the body of a request to an upstream.
func (c *call) decodedBody(req *http.Request) (text []byte, ok bool) {
	if req.Header.Get("Content-Encoding") != "" {
		ok = c.eachPart(func(part []byte) (more bool) { text = append(text, part...); return true })
		return text, ok
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	defer body.Close()
	text, err = io.ReadAll(body)
	return text, err == nil
}

// use notes the latest request, whose headers those about the answer have too: its key is the fresh one.
func (b *background) use(req *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = req
}

// request returns a request about the answer with an id.
func (b *background) request(ctx context.Context, method, rest string, query url.Values) *http.Request {
	b.mu.Lock()
	sent := b.sent
	b.mu.Unlock()
	req := sent.Clone(ctx)
	req.Method, req.Body, req.GetBody, req.ContentLength = method, http.NoBody, nil, 0
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Length", "Idempotency-Key"} {
		delete(req.Header, name)
	}
	all := req.URL.Query()
	for name, values := range query {
		all[name] = values
	}
	req.URL = req.URL.JoinPath(rest)
	req.URL.RawQuery = all.Encode()
	return req
}

// cancel has the provider end an answer that no client reads. It may have ended.
func (b *background) cancel(id string) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTime)
	defer stop()
	resp, err := b.at.transport.RoundTrip(b.request(ctx, http.MethodPost, url.PathEscape(id)+"/cancel", nil))
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, maxStored)
		_ = resp.Body.Close()
	}
}

// add takes the next bytes of the answer that a client is sent, and returns the events of which it consists.
func (b *background) add(part []byte, last bool) []byte {
	part = b.answer.Add(part, last)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = b.answer.ID()
	return part
}

// left ends an answer whose connection is closed, unless a client is sent it.
func (b *background) left(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id != "" && id != b.held {
		b.cancels.Go(func() { b.cancel(id) })
	}
}

// beginning sends the tries that begin an answer.
type beginning struct {
	*background
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t beginning) RoundTrip(req *http.Request) (*http.Response, error) {
	t.use(req)
	resp, err := t.base.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && resp.Body != nil {
		resp.Body = &begunBody{ReadCloser: resp.Body, background: t.background}
	}
	return resp, err
}

// begunBody is the first connection of an answer. When it is closed and no client is sent the answer, that ends too.
type begunBody struct {
	io.ReadCloser
	*background
	begin []byte // until the id is known

	close sync.Mutex
	id    string
	over  bool
}

// maxBegin is how much of an answer is searched for its id.
const maxBegin = 64 << 10

// Read implements io.Reader.
func (b *begunBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.close.Lock()
	defer b.close.Unlock()
	b.over = b.over || err == io.EOF
	if b.id == "" && len(b.begin) < maxBegin {
		b.begin = append(b.begin, p[:n]...)
		var a cursor.Answer
		a.Add(b.begin, false)
		if b.id = a.ID(); b.id != "" {
			b.begin = nil
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *begunBody) Close() error {
	err := b.ReadCloser.Close()
	b.close.Lock()
	defer b.close.Unlock()
	if !b.over {
		b.over = true
		b.left(b.id)
	}
	return err
}

// resuming sends the tries that ask for the rest of an answer.
type resuming struct {
	*background
	base http.RoundTripper
	s    *sharedRequest
}

// RoundTrip implements http.RoundTripper.
func (t resuming) RoundTrip(req *http.Request) (*http.Response, error) {
	t.use(req)
	t.answer.Drop()
	id := url.PathEscape(t.answer.ID())
	resp, err := t.base.RoundTrip(t.request(req.Context(), http.MethodGet, id, url.Values{
		"stream": {"true"}, "starting_after": {strconv.Itoa(t.answer.Last())},
	}))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		_ = resp.Body.Close()
		return nil, t.lost("the provider has it no more")
	case resp.StatusCode == http.StatusBadRequest: // it is streamed for five minutes
		_ = resp.Body.Close()
		ctx, stop := context.WithCancel(req.Context())
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {dialect.Events.ContentType()}}, Request: req,
			Body: &polled{resuming: t, ctx: ctx, stop: stop, id: id},
		}, nil
	case resp.StatusCode == http.StatusOK:
		resp.Body = &restBody{ReadCloser: resp.Body, resuming: t}
	}
	return resp, nil
}

// lost returns the end of an answer that cannot be resumed. It is no fault of the upstream's, which has answered:
// the request that may follow is not to wait for it.
func (b *background) lost(why string) error {
	b.gone = true
	return &fault.Error{
		Kind: fault.Invalid, Status: http.StatusNotFound, Rule: "gateway/background", Err: errLocal,
		Message: "the answer broke off, and cannot be resumed: " + why,
	}
}

// restBody is the rest of an answer as it is streamed. It ends with an error where that does not go on with what the
// client has.
type restBody struct {
	io.ReadCloser
	resuming
	begin  []byte
	joined bool
}

// Read implements io.Reader.
func (b *restBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.joined {
		return n, err
	}
	b.begin = append(b.begin, p[:n]...)
	known, wrong := b.answer.Joins(b.begin)
	if wrong != nil {
		return 0, b.lost(wrong.Error())
	}
	if b.joined = known || len(b.begin) > maxBegin; b.joined {
		b.begin = nil
	}
	return n, err
}

// The time between two questions whether an answer is complete grows from the first to the second.
const (
	firstPoll = 2 * time.Second
	lastPoll  = 10 * time.Second
)

// polled is the rest of an answer that is streamed no more. It comes when the answer is complete.
type polled struct {
	resuming
	ctx  context.Context
	stop context.CancelFunc
	id   string
	wait time.Duration // before the next question
	next []byte
	over bool
}

// Read implements io.Reader.
func (p *polled) Read(to []byte) (int, error) {
	for len(p.next) == 0 {
		if p.over {
			return 0, io.EOF
		}
		if err := p.ask(); err != nil {
			return 0, err
		}
	}
	n := copy(to, p.next)
	p.next = p.next[n:]
	return n, nil
}

// Close implements io.Closer.
func (p *polled) Close() error {
	p.stop()
	return nil
}

// ask asks once. An answer that is not complete is a comment.
func (p *polled) ask() error {
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	p.wait = min(lastPoll, max(firstPoll, p.wait*3/2))
	resp, err := p.base.RoundTrip(p.request(p.ctx, http.MethodGet, p.id, nil))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStored))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return p.lost("the provider has it no more")
	case resp.StatusCode != http.StatusOK:
		return p.s.setup.faultsOf(p.at.upstream).FromResponse(resp.StatusCode, resp.Header, body, time.Now())
	}
	switch status := cursor.Status(body); status {
	case "queued", "in_progress":
		p.next = []byte(": the answer is " + status + "\n\n")
		return nil
	case "completed", "incomplete":
		p.over = true
		if p.next, err = p.answer.Rest(body); err != nil {
			return p.lost(err.Error())
		}
		return nil
	}
	return p.lost(cursor.ErrFailed.Error())
}
