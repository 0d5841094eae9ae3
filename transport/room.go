package transport

import (
	"context"
	"io"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// room is what a request needs to wait for room below the limits of its upstream; nil: it waits for none.
type room struct {
	*Transport
	req  *http.Request
	key  ratelimit.Key
	call *ratelimit.Call // of the latest try
}

// newRoom returns the room of a request for an answer.
func (t *Transport) newRoom(req *http.Request, d *api.API) *room {
	if t.Room == nil || d == nil {
		return nil
	}
	return &room{Transport: t, req: req, key: ratelimit.Key{
		Upstream: req.URL.Host, Credential: breaker.Credential(req.Header, req.URL), Model: parse(req, d).Model,
	}}
}

// acquire waits until there is room for a try.
func (r *room) acquire(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.call = &ratelimit.Call{Key: r.key, Request: r}
	return r.Room.Acquire(ctx, r.call)
}

// responded notes what a response states, and has its body note what it has cost.
func (r *room) responded(resp *http.Response) {
	if r == nil {
		return
	}
	r.Room.Observe(r.call, resp.StatusCode, resp.Header)
	if resp.Body == http.NoBody || !r.call.Paced() {
		r.Room.Close(r.call)
		return
	}
	resp.Body = &chargedBody{ReadCloser: resp.Body, table: r.Room, call: r.call}
}

// failed notes that a try has failed.
func (r *room) failed(f *fault.Error) {
	if r != nil {
		r.Room.Failed(r.call, f)
	}
}

// unanswered notes that a try has had no response.
func (r *room) unanswered() {
	if r != nil {
		r.Room.Close(r.call)
	}
}

// Flow implements ratelimit.Request.
func (r *room) Flow() (name string, agent bool) { return ratelimit.FlowOf(r.req.Context()) }

// Bytes implements ratelimit.Request.
func (r *room) Bytes() int64 { return max(0, r.req.ContentLength) }

// MaxTokens implements ratelimit.Request.
func (r *room) MaxTokens() int64 {
	if r.req.GetBody == nil {
		return 0
	}
	body, err := r.req.GetBody()
	if err != nil {
		return 0
	}
	defer body.Close()
	text, _ := io.ReadAll(io.LimitReader(body, maxAhead))
	return api.MaxTokens(text)
}

// Waits implements ratelimit.Request.
func (r *room) Waits(p ratelimit.Place) {
	if r.Queued != nil {
		r.Queued(r.req, p)
	}
}

// chargedBody is the body of an answer whose usage is noted.
type chargedBody struct {
	io.ReadCloser
	table *ratelimit.Table
	call  *ratelimit.Call
	used  ratelimit.Charged
}

func (b *chargedBody) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.used.Scan(p[:n])
	if err != nil {
		b.table.Used(b.call, b.used)
		b.table.Close(b.call)
	}
	return n, err
}

// Close ends the request's place. A watchdog calls it while the body is being read.
func (b *chargedBody) Close() error {
	b.table.Close(b.call)
	return b.ReadCloser.Close()
}
