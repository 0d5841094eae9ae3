package transport

import (
	"net/http"
	"net/url"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/coding"
)

// sendOnce sends a request that is not tried again here.
func (t *Transport) sendOnce(req *http.Request, d *api.API) (*http.Response, error) {
	room := t.newRoom(req, d)
	if err := room.acquire(req.Context()); err != nil {
		return nil, err
	}
	resp, err := t.sendLimited(req, d)
	if err != nil {
		room.unanswered()
		return nil, err
	}
	room.responded(resp)
	t.watch(resp, req, d)
	return resp, nil
}

// watch has a stream that breaks off end in a fault, in a request that would be tried again if it could be: those of the
// AWS SDK have no GetBody, and it takes the end of a body between two messages for that of the answer.
func (t *Transport) watch(resp *http.Response, req *http.Request, d *api.API) {
	if t.Retry.Policy.Retries == 0 || d == nil || resp.StatusCode != http.StatusOK || coding.Of(resp.Header) != "" {
		return
	}
	if form := d.AnswerForm(req.URL, resp.Header.Get("Content-Type"), nil); form != api.JSON {
		resp.Body = &stream{ahead: ahead{src: resp.Body}, dialect: d, form: form, faults: t.Faults, errLine: t.NoErrorLine}
	}
}

// sendLimited sends a request with the limits that hold for it.
func (t *Transport) sendLimited(req *http.Request, d *api.API) (*http.Response, error) {
	if t.Limits == (Limits{}) {
		return t.observed(t.roundTrip(req, nil))
	}
	l := t.Limits
	l.Content = time.Time{}
	ctx, w := l.start(req.Context(), 1, 0)
	resp, err := t.observed(t.roundTrip(req.WithContext(ctx), w))
	if err != nil {
		w.end()
		return nil, w.cause(err)
	}
	w.wrap(resp)
	if d == nil || resp.Body != w || resp.StatusCode != http.StatusOK || coding.Of(resp.Header) != "" {
		return unlimited(resp), nil
	}
	w.timer.Stop()
	w.waiting.Store(false)
	resp.Body = &opening{watchdog: w, dialect: d, url: req.URL, kind: resp.Header.Get("Content-Type")}
	return resp, nil
}

// opening is the body of an answer that is passed on as it comes. It looks for the first content, which has a limit.
type opening struct {
	*watchdog
	dialect *api.API
	url     *url.URL
	kind    string // the content type
	frame   []byte // what has come of the next frame
}

// Read passes bytes on.
func (o *opening) Read(p []byte) (int, error) {
	n, err := o.watchdog.Read(p)
	if o.outcome.Load() == 0 {
		o.look(p[:n])
	}
	return n, err
}

// look looks for content in the next bytes. An answer that is not streamed is content.
func (o *opening) look(part []byte) {
	o.frame = append(o.frame, part...)
	form := o.dialect.AnswerForm(o.url, o.kind, o.frame)
	if form == api.JSON && len(o.frame) < len("event:") {
		return
	}
	for form != api.JSON && len(o.frame) < maxAhead {
		n := form.FrameLen(o.frame, 0)
		if n == 0 {
			return
		}
		if n < 0 || o.dialect.FrameKind(form, o.frame[:n]) != api.Opening {
			break
		}
		o.frame = o.frame[n:]
	}
	o.answered()
	o.frame = nil
}
