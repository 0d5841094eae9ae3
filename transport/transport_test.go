package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

const (
	answerJSON   = `{"id":"msg_1","type":"message","content":[{"type":"text","text":"Hi"}]}`
	overloadJSON = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`

	start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
	hi    = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
	stop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	oops  = "event: error\ndata: " + overloadJSON + "\n\n"
)

// upstream is a scripted RoundTripper: each reply answers one try. It writes
// down what it was sent and how the bodies that it gave were treated.
type upstream struct {
	replies []reply
	bodies  []string      // of the requests
	headers []http.Header // of the requests
	given   []*body       // of the responses
}

type reply struct {
	status int
	kind   string // content type; "": JSON
	header http.Header
	body   string
	cut    error // how the body ends; nil: io.EOF
	err    error // in place of a response
}

func ok(text string) reply     { return reply{status: 200, body: text} }
func events(text string) reply { return reply{status: 200, kind: "text/event-stream", body: text} }
func (r reply) ends(err error) reply {
	r.cut = err
	return r
}

var overload = reply{status: 529, header: http.Header{"Retry-After": {"1"}, "Request-Id": {"req_7"}}, body: overloadJSON}

func (u *upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	r := u.replies[min(len(u.bodies), len(u.replies)-1)]
	sent := ""
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		req.Body.Close()
		sent = string(b)
	}
	u.bodies, u.headers = append(u.bodies, sent), append(u.headers, req.Header)
	if r.err != nil {
		return nil, r.err
	}
	b := &body{Reader: strings.NewReader(r.body), end: r.cut}
	u.given = append(u.given, b)
	h := r.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	if r.kind != "" {
		h.Set("Content-Type", r.kind)
	}
	return &http.Response{StatusCode: r.status, Header: h, Body: b, Request: req}, nil
}

// body counts what is read and how often it is closed.
type body struct {
	io.Reader
	end          error
	read, closed int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	if err == io.EOF && b.end != nil {
		err = b.end
	}
	return n, err
}

func (b *body) Close() error {
	b.closed++
	return nil
}

const prompt = `{"model":"claude","messages":[{"role":"user","content":"Hi"}],"stream":true}`

// post makes a request for an answer.
func post(ctx context.Context) *http.Request {
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://api.test/v1/messages", strings.NewReader(prompt))
	return req
}

// send sends a request through a patient transport and reads the answer.
func send(t *testing.T, u *upstream, p policy.Policy, req *http.Request) (resp *http.Response, text string, err error) {
	t.Helper()
	resp, err = (&transport.Transport{Base: u, Retry: retry.Retrier{Policy: p}}).RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	b, err := io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	return resp, string(b), err
}

func TestTransport_FaultsBeforeContentAreRetried(t *testing.T) {
	reset := errors.New("read: connection reset by peer")
	tests := []struct {
		name  string
		fails reply
		pass  reply
	}{
		{"overload", overload, ok(answerJSON)},
		{"refused", reply{err: syscall.ECONNREFUSED}, ok(answerJSON)},
		{"error object in a 200", ok(overloadJSON), ok(answerJSON)},
		{"page in a 200", reply{status: 200, kind: "text/html", body: "<html>502</html>"}, ok(answerJSON)},
		{"JSON that breaks off", ok(answerJSON[:30]).ends(reset), ok(answerJSON)},
		{"JSON that ends early", ok(answerJSON[:30]), ok(answerJSON)},
		{"empty body", ok(""), ok(answerJSON)},
		{"error first", events(oops), events(start + hi + stop)},
		{"start then error", events(start + oops), events(start + hi + stop)},
		{"start then reset", events(start + "event: cont").ends(reset), events(start + hi + stop)},
		{"start then end", events(start), events(start + hi + stop)},
		{"start then half a frame", events(start + hi[:len(hi)-9]), events(start + hi + stop)},
		{"page of a megabyte", reply{status: 200, body: strings.Repeat("<p>sorry</p>", 90_000)}, ok(answerJSON)},
		{"empty stream", events(""), events(start + hi + stop)},
		{"end without content", events(stop), events(start + hi + stop)},
		{"stream without its type", reply{status: 200, kind: "text/plain", body: start + oops}, events(start + hi + stop)},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{replies: []reply{tt.fails, tt.fails, tt.pass}}
			_, text, err := send(t, u, policy.Patient(), post(t.Context()))
			if err != nil || text != tt.pass.body || len(u.bodies) != 3 {
				t.Fatalf("%s: %q, %v after %d tries", tt.name, text, err, len(u.bodies))
			}
			for i, b := range u.given {
				if b.closed != 1 || b.read > 64<<10 {
					t.Errorf("%s: body %d closed %d times, %d bytes read", tt.name, i, b.closed, b.read)
				}
			}
			if strings.Join(u.bodies, "") != strings.Repeat(prompt, 3) {
				t.Errorf("%s: sent %q", tt.name, u.bodies)
			}
		})
	}
}

func TestTransport_CommittedStreamIsNotRetried(t *testing.T) {
	reset := errors.New("read: connection reset by peer")
	tests := []struct {
		name  string
		reply reply
		text  string
		err   bool
	}{
		{"whole", events(start + hi + stop), start + hi + stop, false},
		{"half a frame at a clean end", events(start + hi + hi[:len(hi)-9]), start + hi, true},
		{"half a terminator", events(start + hi + stop[:len(stop)-9]), start + hi, true},
		{"whole, blank line missing", events(start + hi + stop[:len(stop)-1]), start + hi + stop[:len(stop)-1], false},
		{"reset after the terminator", events(start + hi + stop).ends(reset), start + hi + stop, false},
		{"reset", events(start + hi).ends(reset), start + hi, true},
		{"reset inside a frame", events(start + hi + hi[:20]).ends(reset), start + hi, true},
		{"end without the terminator", events(start + hi), start + hi, true},
		{"error in the provider's words", events(start + hi + oops), start + hi + oops, false},
	}
	for _, tt := range tests {
		u := &upstream{replies: []reply{tt.reply}}
		_, text, err := send(t, u, policy.Patient(), post(t.Context()))
		f, _ := errors.AsType[*fault.Error](err)
		if text != tt.text || (err != nil) != tt.err || (tt.err && (f == nil || f.Kind != fault.Truncated)) {
			t.Errorf("%s: got %q and error %v, want %q, cut: %v", tt.name, text, err, tt.text, tt.err)
		}
		if len(u.bodies) != 1 || u.given[0].closed != 1 {
			t.Errorf("%s: %d tries, closed %d times", tt.name, len(u.bodies), u.given[0].closed)
		}
	}
}

const (
	chunk  = `data: {"choices":[{"delta":{"content":"Hi"}}]}` + "\n\n"
	finish = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

func TestTransport_FinishedAnswerMustEndCleanly(t *testing.T) {
	for end, want := range map[error]bool{nil: false, errors.New("connection reset by peer"): true} {
		u := &upstream{replies: []reply{events(chunk + finish).ends(end)}}
		req := post(t.Context())
		req.URL.Path = "/v1/chat/completions"
		_, text, err := send(t, u, policy.Patient(), req)
		if text != chunk+finish || (err != nil) != want {
			t.Errorf("after %v: %q, %v", end, text, err)
		}
	}
}

func TestWatched_FailureIsTheProvidersError(t *testing.T) {
	u := &upstream{replies: []reply{events(start + hi + oops)}}
	resp, err := (&transport.Transport{Base: u, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	body, ok := resp.Body.(transport.Watched)
	if _, err := io.ReadAll(resp.Body); !ok || err != nil || body.Failure() == nil || body.Failure().Kind != fault.Overloaded {
		t.Errorf("watched %v, %v", ok, err)
	}
	_ = resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("a closed body can be read")
	}
}

func TestTransport_ToleratesUnusualRoundTrippers(t *testing.T) {
	b := &body{Reader: strings.NewReader("")}
	for name, base := range map[string]roundTrip{
		"response and error": func(*http.Request) (*http.Response, error) { return &http.Response{Body: b}, syscall.ECONNRESET },
		"neither":            func(*http.Request) (*http.Response, error) { return nil, nil },
	} {
		e := retry.Retrier{Policy: policy.Policy{Retries: 1}}
		resp, err := (&transport.Transport{Base: base, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 503 {
			t.Errorf("%s: got %v and error %v, want status 503", name, resp, err)
		}
	}
	if b.closed != 2 {
		t.Errorf("closed %d times in 2 tries", b.closed)
	}
}

func TestTransport_IdentityEncodingIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := events(start + oops)
		fails.header = http.Header{"Content-Encoding": {"identity"}}
		u := &upstream{replies: []reply{fails, events(start + hi + stop)}}
		if _, text, err := send(t, u, policy.Simple(), post(t.Context())); text != start+hi+stop || err != nil {
			t.Errorf("answer after a failure: got %q and error %v, want the whole one", text, err)
		}
	})
}

func TestTransport_WholeAnswerHasItsLength(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    reply
		want int64
	}{
		{"JSON", ok(answerJSON), int64(len(answerJSON))},
		{"a stream", events(start + hi + stop), 0},
	} {
		if resp, _, err := send(t, &upstream{replies: []reply{tt.r}}, policy.Patient(), post(t.Context())); err != nil || resp.ContentLength != tt.want {
			t.Errorf("%s: got a ContentLength of %d, error %v; want %d", tt.name, resp.ContentLength, err, tt.want)
		}
	}
}

func TestTransport_ClosesABodyThatIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := post(t.Context())
		b := &body{Reader: strings.NewReader(prompt)}
		req.Body = b
		e := retry.Retrier{Policy: policy.Policy{Retries: 1, RetryOn: fault.Transient}, Breaker: shut{}}
		resp, err := (&transport.Transport{Base: &upstream{}, Retry: e}).RoundTrip(req)
		if err != nil || resp.StatusCode != 503 || b.closed != 1 {
			t.Errorf("%v, %v, closed %d times", resp, err, b.closed)
		}
	})
}

// shut is a breaker that shares a failure with all calls.
type shut struct{}

func (shut) Acquire(context.Context) (retry.Permit, error) {
	return nil, &fault.Error{Kind: fault.Overloaded}
}

func (shut) Wait(_ context.Context, d time.Duration) error {
	<-time.After(max(d, time.Second))
	return nil
}

func TestTransport_ResponseHasTheCallersContext(t *testing.T) {
	u := &upstream{replies: []reply{ok(answerJSON)}}
	resp, _, err := send(t, u, policy.Simple(), post(t.Context()))
	if err != nil || retry.Nested(resp.Request.Context()) {
		t.Errorf("a call made with the response's context would never be tried again: %v", err)
	}
}

func TestTransport_GivingUpReturnsTheLastResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{replies: []reply{{status: 500, body: "no"}, overload}}
		resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
		if err != nil || resp.StatusCode != 529 || text != overloadJSON || len(u.bodies) != 4 {
			t.Fatalf("%v %q, %v after %d tries", resp, text, err, len(u.bodies))
		}
		h := resp.Header
		if h.Get("X-Should-Retry") != "false" || h.Get("Retry-After") != "1" || h.Get("Request-Id") != "req_7" {
			t.Errorf("headers %v", h)
		}
	})
}

func TestTransport_RelaysTheLastOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("connection refused")
		for _, last := range []reply{overload, {err: refused}} {
			u := &upstream{replies: []reply{last}}
			tr := &transport.Transport{Base: u, Retry: retry.Retrier{Policy: policy.Simple()}, Relays: true}
			resp, err := tr.RoundTrip(post(t.Context()))
			switch {
			case len(u.bodies) != 4:
				t.Errorf("%d tries, want 4", len(u.bodies))
			case last.err != nil && !errors.Is(err, refused):
				t.Errorf("response %v and error %v, want the error of the last try", resp, err)
			case last.err == nil && (err != nil || resp.StatusCode != 529 || resp.Header["X-Should-Retry"] != nil):
				t.Errorf("response %v and error %v, want the provider's response", resp, err)
			}
		}
	})
}

func TestTransport_GivingUpKeepsALargeErrorWhole(t *testing.T) {
	page := strings.Repeat("<p>sorry</p>", 20_000)
	u := &upstream{replies: []reply{{status: 400, kind: "text/html", body: page}}}
	_, text, err := send(t, u, policy.Patient(), post(t.Context()))
	if err != nil || text != page || u.given[0].closed != 1 {
		t.Errorf("%d of %d bytes, %v", len(text), len(page), err)
	}
}

func TestTransport_GivingUpReplaysAnErrorInAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{replies: []reply{events(start + oops)}}
		resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
		if err != nil || text != start+oops || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("error first: got %q, error %v and header %v, want the event and X-Should-Retry: false", text, err, resp.Header)
		}
	})
}

func TestTransport_GivingUpOnAnErrorIn200SetsItsStatus(t *testing.T) {
	tests := []struct {
		reply reply
		want  int
	}{
		{ok(overloadJSON), 503},
		{ok(`{"error":{"type":"insufficient_quota","message":"You exceeded your current quota"}}`), 429},
		{ok(`{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`), 401},
		{reply{status: 200, kind: "text/html", body: "<html><h1>Back soon</h1></html>"}, 502},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{replies: []reply{tt.reply}}
			resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
			if err != nil || resp.StatusCode != tt.want || text != tt.reply.body || !strings.HasPrefix(resp.Status, strconv.Itoa(tt.want)) {
				t.Errorf("%s: %s %q, %v; want %d", tt.reply.body, resp.Status, text, err, tt.want)
			}
		})
	}
}

func TestTransport_GivingUpOnHalfAnAnswerNamesTheTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{replies: []reply{ok(answerJSON[:30])}}
		resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
		const want = "no answer from api.test in 4 tries: the answer broke off"
		if err != nil || resp.StatusCode != 503 || !json.Valid([]byte(text)) || !strings.Contains(text, want) {
			t.Errorf("half an answer in each try: got %s %q, error %v; want 503 and JSON with %q", resp.Status, text, err, want)
		}
	})
}

func TestTransport_NetworkFaultsEndInAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{replies: []reply{{err: syscall.ECONNREFUSED}}}
		resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
		want := `{"type":"error","error":{"type":"overloaded_error","message":"no answer from api.test in 4 tries: connection refused"}}`
		if err != nil || resp.StatusCode != 503 || resp.Header.Get("X-Should-Retry") != "false" || text != want {
			t.Errorf("response: got %v %q and error %v, want 503 %q", resp, text, err, want)
		}
	})
}

func TestTransport_OneTryIsNotCounted(t *testing.T) {
	once := policy.Policy{Retries: 1, RetryOn: 1 << fault.Auth}
	_, text, err := send(t, &upstream{replies: []reply{{err: syscall.ECONNREFUSED}}}, once, post(t.Context()))
	if want := `"no answer from api.test: connection refused"`; err != nil || !strings.Contains(text, want) {
		t.Errorf("answer after one try: %q, %v; want %s", text, err, want)
	}
}

func TestTransport_BadRequestIsAFault(t *testing.T) {
	bad := reply{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens"}}`}
	u := &upstream{replies: []reply{bad}}
	resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
	if err != nil || resp.StatusCode != 400 || text != bad.body || len(u.bodies) != 1 {
		t.Errorf("status 400: %v %q, %v after %d tries; want the response after one", resp, text, err, len(u.bodies))
	}
}

// An SDK must not start over what has been tried here. What it does about another answer, such as to renew its key,
// is its own and its provider's to decide.
func TestTransport_ShouldRetryIsSetWhereRetriesHaveEnded(t *testing.T) {
	named := func(kind string) string { return `{"type":"error","error":{"type":"` + kind + `","message":"no"}}` }
	for _, tt := range []struct {
		status           int
		body, said, want string
	}{
		{400, named("invalid_request_error"), "", ""},
		{400, named("invalid_request_error"), "true", "true"},
		{400, `{"error":{"code":"insufficient_quota","message":"no"}}`, "", "false"},
		{401, named("authentication_error"), "", ""},
		{401, named("authentication_error"), "true", "true"},
		{403, named("permission_error"), "", ""},
		{403, `{"error":{"code":"insufficient_quota","message":"no"}}`, "", "false"}, // no other key changes that
		{404, named("not_found_error"), "", ""},
		{422, named("invalid_request_error"), "false", "false"},
		{402, named("billing_error"), "", "false"},
		{408, named("timeout_error"), "", "false"},
		{409, named("conflict_error"), "", "false"},
		{429, named("rate_limit_error"), "", "false"},
		{429, `{"error":{"code":"insufficient_quota","message":"no"}}`, "", "false"},
		{503, "", "", "false"},
		{529, overloadJSON, "", "false"},
		{529, overloadJSON, "true", "true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := reply{status: tt.status, body: tt.body}
			if tt.said != "" {
				r.header = http.Header{"X-Should-Retry": {tt.said}}
			}
			resp, text, err := send(t, &upstream{replies: []reply{r}}, policy.Simple(), post(t.Context()))
			if got := resp.Header.Get("X-Should-Retry"); err != nil || resp.StatusCode != tt.status || text != tt.body || got != tt.want {
				t.Errorf("%d %s, the provider says %q: got %d %q with X-Should-Retry %q, error %v; want %q", tt.status, tt.body, tt.said, resp.StatusCode, text, got, err, tt.want)
			}
		})
	}
}

// A client has no part in the key of a proxy: it is of no use that it sends its request with another one.
func TestTransport_OwnKeyEndsRetriesWhereItIsRefused(t *testing.T) {
	for status, want := range map[int]string{401: "false", 403: "false", 404: ""} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{replies: []reply{{status: status, body: `{"type":"error","error":{"type":"authentication_error","message":"no"}}`}}}
			tr := transport.Transport{Base: u, Retry: retry.Retrier{Policy: policy.Simple()}, OwnKey: true}
			resp, err := tr.RoundTrip(post(t.Context()))
			if err != nil {
				t.Fatalf("send: %v", err)
			}
			_ = resp.Body.Close()
			if got := resp.Header.Get("X-Should-Retry"); resp.StatusCode != status || got != want {
				t.Errorf("%d of the proxy's own key: got %d with X-Should-Retry %q, want %q", status, resp.StatusCode, got, want)
			}
		})
	}
}

func TestTransport_RequestInProgressIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := reply{status: 409, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Another request is in progress for this thread, please try again"}}`}
		u := &upstream{replies: []reply{busy, ok(answerJSON)}}
		resp, text, err := send(t, u, policy.Simple(), post(t.Context()))
		if err != nil || resp.StatusCode != 200 || text != answerJSON || len(u.bodies) != 2 {
			t.Errorf("409 and then an answer: got %v %q, error %v after %d tries; want the answer after 2", resp, text, err, len(u.bodies))
		}
	})
}

func TestTransport_BrokenObjectKeepsItsCause(t *testing.T) {
	cause := errors.New("read: connection reset by peer")
	var faults []*fault.Error
	e := retry.Retrier{Policy: policy.Simple(), OnTry: func(t retry.Try) { faults = append(faults, t.Fault) }}
	u := &upstream{replies: []reply{ok(answerJSON[:20]).ends(cause), ok(answerJSON)}}
	synctest.Test(t, func(t *testing.T) {
		resp, err := (&transport.Transport{Base: u, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		_ = resp.Body.Close()
	})
	if len(faults) != 2 || !errors.Is(faults[0], cause) || faults[1] != nil {
		t.Errorf("faults %v, want one of %v, then none", faults, cause)
	}
}

func TestTransport_SomeRequestsAreSentOnce(t *testing.T) {
	p := policy.Patient()
	with := func(change func(*http.Request)) *http.Request {
		req := post(t.Context())
		change(req)
		return req
	}
	tests := []struct {
		name string
		p    policy.Policy
		req  *http.Request
	}{
		{"zero Transport", policy.Policy{}, post(t.Context())},
		{"body that cannot be had again", p, with(func(r *http.Request) { r.GetBody = nil })},
		{"the SDK above retries", p, with(func(r *http.Request) { r.Header.Set("X-Stainless-Retry-Count", "1") })},
		{"no request for an answer", p, with(func(r *http.Request) { r.URL.Path = "/v1/files" })},
	}
	for _, tt := range tests {
		u := &upstream{replies: []reply{overload}}
		resp, text, err := send(t, u, tt.p, tt.req)
		if err != nil || len(u.bodies) != 1 || text != overloadJSON || resp.Header.Get("X-Should-Retry") != "" {
			t.Errorf("%s: %d tries, %q, %v, %v", tt.name, len(u.bodies), text, resp.Header, err)
		}
	}
}

func TestTransport_UnansweredHasTheFormOfThePath(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/messages":              `{"type":"error","error":{"type":"`,
		"/v1/messages/count_tokens": `{"type":"error","error":{"type":"`,
		"/api/show":                 `{"error":"no answer from`,
		"/v1/embeddings":            `{"error":{"message":"no answer from`,
	} {
		synctest.Test(t, func(t *testing.T) {
			req := post(t.Context())
			req.URL.Path = path
			u := &upstream{replies: []reply{{err: syscall.ECONNREFUSED}}}
			resp, text, err := send(t, u, policy.Simple(), req)
			if err != nil || resp.StatusCode != 503 || !strings.HasPrefix(text, want) {
				t.Errorf("%s: got %q, error %v, want %s", path, text, err, want)
			}
		})
	}
}

// Cohere's SDK sends one request several times, and does not rewind the body.
func TestTransport_BodyThatHasBeenReadIsSentWhole(t *testing.T) {
	large := strings.Repeat("words ", 10<<10)
	for _, tt := range []struct {
		name, body string
		read       int64
	}{
		{"small, read to its end", prompt, int64(len(prompt))},
		{"large, read to its end", large, int64(len(large))},
		{"large, read in part", large, 32 << 10},
		{"small, not read", prompt, 0},
	} {
		u := &upstream{replies: []reply{ok(answerJSON)}}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://api.test/v1/messages", strings.NewReader(tt.body))
		if _, err := io.CopyN(io.Discard, req.Body, tt.read); err != nil {
			t.Fatalf("%s: read: %v", tt.name, err)
		}
		_, text, err := send(t, u, policy.Patient(), req)
		if err != nil || text != answerJSON || len(u.bodies) != 1 || u.bodies[0] != tt.body {
			t.Errorf("%s: got %q after bodies of %d bytes, error %v, want one of %d bytes", tt.name, text, len(strings.Join(u.bodies, "")), err, len(tt.body))
		}
	}
}

func TestTransport_OutcomeInsideARunIsUnchanged(t *testing.T) {
	u := &upstream{replies: []reply{overload}}
	_, err := retry.Do(t.Context(), retry.Retrier{}, func(ctx context.Context, _ int) (int, error) {
		resp, text, err := send(t, u, policy.Patient(), post(ctx))
		if err != nil || text != overloadJSON || len(u.bodies) != 1 || resp.Header.Get("X-Should-Retry") != "" {
			t.Errorf("%d tries, %q, %v", len(u.bodies), text, err)
		}
		return 0, nil
	})
	if err != nil {
		t.Errorf("Do: %v", err)
	}
}

func TestTransport_SafeRequestsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, _ := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/v1/models", nil)
		keyed, _ := http.NewRequestWithContext(t.Context(), "POST", "http://api.test/v1/batches", strings.NewReader("{}"))
		keyed.Header.Set("Idempotency-Key", "k1")
		count, _ := http.NewRequestWithContext(t.Context(), "POST", "http://api.test/v1/messages/count_tokens", strings.NewReader(prompt))
		embed, _ := http.NewRequestWithContext(t.Context(), "POST", "http://api.test/v1beta/models/m:embedContent", strings.NewReader("{}"))
		for _, req := range []*http.Request{list, keyed, count, embed} {
			u := &upstream{replies: []reply{{status: 503}, ok(`{"data":[]}`)}}
			if _, text, err := send(t, u, policy.Simple(), req); text != `{"data":[]}` || err != nil {
				t.Errorf("%s: got %q and error %v, want the second reply", req.URL.Path, text, err)
			}
		}
	})
}

func TestTransport_RetryCountIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ said, want string }{{"0", "0,1,2"}, {"", ",,"}} {
			u := &upstream{replies: []reply{overload, overload, ok(answerJSON)}}
			req := post(t.Context())
			if tt.said != "" {
				req.Header.Set("X-Stainless-Retry-Count", tt.said)
			}
			if _, _, err := send(t, u, policy.Patient(), req); err != nil {
				t.Fatalf("send: %v", err)
			}
			var got []string
			for _, h := range u.headers {
				got = append(got, h.Get("X-Stainless-Retry-Count"))
			}
			if strings.Join(got, ",") != tt.want || req.Header.Get("X-Stainless-Retry-Count") != tt.said {
				t.Errorf("%q: sent %q, want %q", tt.said, got, tt.want)
			}
		}
	})
}

// bare is a RoundTripper that leaves out all it may.
type bare struct{ status int }

func (b bare) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: b.status}, nil
}

func TestTransport_ResponseMayLackBodyAndHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for status, want := range map[int]int{200: 503, 204: 204, 404: 404, 529: 529} { // an empty 200 is no answer
			tr := &transport.Transport{Base: bare{status}, Retry: retry.Retrier{Policy: policy.Simple()}}
			resp, err := tr.RoundTrip(post(t.Context()))
			if err != nil || resp.StatusCode != want {
				t.Fatalf("status %d: got %v and error %v, want %d", status, resp, err, want)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Errorf("body of status %d: got error %v, want none", status, err)
			}
			resp.Body.Close()
		}
	})
}

func TestTransport_StalledErrorBodyIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r, w := io.Pipe()
		stalls := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 401, Body: r}, nil
		})
		resp, err := (&transport.Transport{Base: stalls, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 401 || time.Since(begun) > 10*time.Second {
			t.Errorf("%v, %v after %v", resp, err, time.Since(begun))
		}
		if _, err := w.Write([]byte("late")); err == nil {
			t.Error("the body was not closed")
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestTransport_WaitHoldsNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{replies: []reply{events(start + oops), overload, ok(answerJSON)}}
		var open []int
		e := retry.Retrier{Policy: policy.Patient(), Sleep: func(ctx context.Context, w policy.Wait) error {
			held := 0
			for _, b := range u.given {
				held += 1 - b.closed
			}
			open = append(open, held)
			return retry.Sleep(ctx, w.Verdict.Wait)
		}}
		resp, err := (&transport.Transport{Base: u, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		resp.Body.Close()
		if fmt.Sprint(open) != "[0 0]" {
			t.Errorf("the waits held %v responses open", open)
		}
	})
}

func TestTransport_CancelDuringAWaitReturnsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(7*time.Second, func() { cancel(left) })
		begun := time.Now()
		_, _, err := send(t, &upstream{replies: []reply{overload}}, policy.Patient(), post(ctx))
		if !errors.Is(err, left) || time.Since(begun) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestTransport_WaitBeyondTheSDKsDeadlineIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		begun := time.Now()
		resp, _, err := send(t, &upstream{replies: []reply{overload}}, policy.Patient(), post(ctx))
		if err != nil || resp.StatusCode != 529 || time.Since(begun) != 405*time.Second {
			t.Errorf("%v, %v after %v", resp, err, time.Since(begun))
		}
	})
}

func TestTransport_DeadlineDoesNotEndAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var sent context.Context
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			sent = req.Context()
			context.AfterFunc(sent, func() { w.CloseWithError(sent.Err()) })
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
		})
		go func() {
			io.WriteString(w, start+hi)
			time.Sleep(10 * time.Minute)
			io.WriteString(w, stop)
			w.Close()
		}()
		e := retry.Retrier{Policy: policy.Council(4 * time.Minute)}
		resp, err := (&transport.Transport{Base: base, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		text, err := io.ReadAll(resp.Body)
		if string(text) != start+hi+stop || err != nil || sent.Err() != nil {
			t.Errorf("body: got %q and error %v, want the whole answer and the request alive", text, err)
		}
		resp.Body.Close()
		if sent.Err() == nil {
			t.Error("closing the body did not release the request")
		}
	})
}

func TestTransport_DeadlineDoesNotEndAnErrorBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := strings.Repeat("sorry ", 20_000)
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			stop := context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
			go func() {
				defer stop()
				_, _ = io.WriteString(w, page)
				w.Close()
			}()
			return &http.Response{StatusCode: 401, Body: r}, nil
		})
		e := retry.Retrier{Policy: policy.Council(4 * time.Minute)}
		resp, err := (&transport.Transport{Base: base, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		text, err := io.ReadAll(resp.Body)
		if string(text) != page || err != nil {
			t.Errorf("%d of %d bytes, %v", len(text), len(page), err)
		}
		resp.Body.Close()
	})
}

func TestTransport_DeadlineEndsASilentTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := roundTrip(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		begun := time.Now()
		e := retry.Retrier{Policy: policy.Council(4 * time.Minute)}
		resp, err := (&transport.Transport{Base: silent, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 503 || time.Since(begun) != 4*time.Minute {
			t.Errorf("%v, %v after %v", resp, err, time.Since(begun))
		}
	})
}
