package gateway

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// brief is for what asks for no answer and may be repeated, such as a list of
// models: nobody waits long for it, and the true outcome is better than a wait.
func brief() policy.Policy {
	return policy.Policy{
		Retries: 3,
		Backoff: policy.Backoff{
			Steps:  []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second},
			Jitter: policy.Jitter{Down: 0.1, Up: 0.1},
		},
		MaxWait: 4 * time.Second,
	}
}

// repeatBound is the largest body that is kept for another try of such a
// request.
const repeatBound = 4 << 20

// passThrough makes the proxy for an upstream's other endpoints.
func (g *Gateway) passThrough(s *setup, up *upstream) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: &transport.Transport{
			Base: up.reach, Faults: s.faults, Resent: true,
			Retry:  retry.Retrier{Policy: brief()},
			Limits: transport.Limits{FirstByte: bound(up.Limits.FirstByte), Idle: bound(up.Limits.Idle)},
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),      // an answer that breaks off is the client's to see
		Rewrite:       func(*httputil.ProxyRequest) {}, // pass has done it
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // the client has left
			}
			f := s.faults.Of(err, time.Now())
			reply(w, http.StatusBadGateway, up.api.own.ErrorBody(f, "ridethrough: "+up.unreachable(f)))
		},
	}
}

// pass hands a request on that asks for no answer.
func (u *upstream) pass(w http.ResponseWriter, r *http.Request, to rest, id string) {
	out := r.WithContext(r.Context())
	out.Header = r.Header.Clone()
	query := r.URL.RawQuery
	if err := u.authorize(out.Header, &query); err != nil {
		_ = r.Body.Close() // the server would stumble over what is left of it
		f := fault.Of(err, time.Now())
		reply(w, http.StatusUnauthorized, u.api.own.ErrorBody(f, "ridethrough: "+f.Error()))
		return
	}
	for name := range out.Header {
		if strings.HasPrefix(name, ours) && name != viaHeader {
			delete(out.Header, name)
		}
	}
	out.Header.Add(viaHeader, id)
	out.URL, out.Host = u.url(to, query), ""
	if dialect.Safe(r.Method, to.path) {
		repeatable(out)
	}
	u.proxy.ServeHTTP(w, out)
}

// repeatable keeps the body of a request, so that it can be sent again. One
// that is too large for that is sent once.
func repeatable(r *http.Request) {
	if r.ContentLength < 0 || r.ContentLength > repeatBound {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
}

// failing is a reader that has failed already.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// unreachable says that an upstream gave no answer, and what to do about it.
func (u *upstream) unreachable(f *fault.Error) string {
	if strings.HasPrefix(f.Rule, "gateway/") { // it is not the upstream's
		return f.Error()
	}
	return fmt.Sprintf("no answer from %s at %s: %v (is the address right? see --upstream)", u.Name, u.target.Redacted(), f)
}

// reply writes a JSON body of ours.
func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left misses it
}

// welcome answers what belongs to no upstream: clients that look whether
// somebody is there, and people who open the address in a browser.
func (s *setup) welcome(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ridethrough is here. Set this address as the base URL of your client; see the README.\n")
		return
	}
	names := make([]string, len(s.upstreams))
	for i, u := range s.upstreams {
		names[i] = u.Name + " (" + u.API + ")"
	}
	reply(w, http.StatusNotFound, dialect.OpenAIChat().ErrorBody(&fault.Error{Kind: fault.Invalid},
		"ridethrough: "+r.Method+" "+r.URL.Path+" belongs to no upstream that it has; there are "+strings.Join(names, ", ")))
}
