package classify_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// must fails the test unless the response is of this kind.
func must(t *testing.T, status int, body string, want fault.Kind) *fault.Error {
	t.Helper()
	f := classify.FromResponse(status, nil, []byte(body), start)
	if f.Kind != want {
		t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", status, body, f.Kind, f.Rule, want)
	}
	return f
}

func TestFromResponse_429SpentAccountIsQuota(t *testing.T) {
	must(t, 429, openAIBody("insufficient_quota", "insufficient_quota", "You exceeded your current quota"), fault.Quota)
	must(t, 429, openAIBody("insufficient_quota", "credit_balance_exhausted", "no"), fault.Quota)
	must(t, 429, openAIBody("requests", "rate_limit_exceeded", "no"), fault.RateLimited)
}

func TestFromResponse_429RequestAboveBudgetIsInvalid(t *testing.T) {
	above := openAIBody("tokens", "rate_limit_exceeded", "Request too large for o9 on tokens per min (TPM): Limit 30000, Requested 45000.")
	within := openAIBody("tokens", "rate_limit_exceeded", "Rate limit reached on tokens per min (TPM): Limit 30000, Used 20000, Requested 15000. Please try again in 10s.")
	if f := must(t, 429, above, fault.Invalid); f.Retryable() {
		t.Error("a request above the budget is retryable, want final")
	}
	if f := must(t, 429, within, fault.RateLimited); f.RetryAfter(start) != 10*time.Second {
		t.Errorf("wait %v, want 10s", f.RetryAfter(start))
	}
}

func TestFromResponse_SameTextDiffersByVendor(t *testing.T) {
	const sentence = "You exceeded your current quota, please check your plan and billing details."
	must(t, 429, openAIBody("insufficient_quota", "insufficient_quota", sentence), fault.Quota)
	if f := must(t, 429, google("RESOURCE_EXHAUSTED", sentence, minuteQuota+","+inThirty), fault.RateLimited); f.RetryAfter(start) != 30*time.Second {
		t.Errorf("wait %v, want 30s", f.RetryAfter(start))
	}
}

func TestFromResponse_LongestQuotaWindowDecides(t *testing.T) {
	must(t, 429, google("RESOURCE_EXHAUSTED", currentSaid, minuteQuota+","+dayQuota), fault.Quota)
	must(t, 429, google("RESOURCE_EXHAUSTED", currentSaid, dayQuota+","+minuteQuota), fault.Quota)
	// A stated wait says more than the names of the windows.
	must(t, 429, google("RESOURCE_EXHAUSTED", currentSaid, minuteQuota+","+dayQuota+","+inThirty), fault.RateLimited)
}

func TestFromEvent_OverloadInside200(t *testing.T) {
	f := classify.FromEvent([]byte("event: error\ndata: "+anthropicBody("overloaded_error", "Overloaded")), start)
	if f.Kind != fault.Overloaded || f.Status != 200 || !f.Retryable() {
		t.Errorf("overload event: kind %v, status %d; want overloaded, 200, retryable", f.Kind, f.Status)
	}
	must(t, 200, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, fault.Overloaded)
}

func TestFromResponse_400AroundOverloadIsTransient(t *testing.T) {
	must(t, 400, `Bad response: {'headers': {':exception-type': 'serviceUnavailableException'}, 'body': b'{"message":"no"}'}`, fault.Overloaded)
	must(t, 400, `{"error":{"message":"upstream said: {\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"}}`, fault.Overloaded)
}

func TestFromResponse_502AroundDeniedKeyIsFinal(t *testing.T) {
	must(t, 502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"code\":\"invalid_api_key\"}}"}}}`, fault.Auth)
	must(t, 502, `relay: Model access is denied due to IAM user or service role is not authorized`, fault.Refused)
	must(t, 502, `All providers failed: Invalid status code: 401 Unauthorized`, fault.Auth)
}

// ask calls a server, runs leave once the request has arrived, and returns the client's error.
func ask(ctx context.Context, t *testing.T, leave func()) error {
	t.Helper()
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leave()
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	defer s.Close()
	defer close(done)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatalf("new request with context: %v", err)
	}
	response, err := s.Client().Do(request)
	if err == nil {
		response.Body.Close()
	}
	return err
}

func TestOf_CustomCancelCauseIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	err := ask(ctx, t, func() { cancel(errors.New("user pressed ctrl-c")) })
	if errors.Is(err, context.Canceled) {
		t.Fatalf("client error %v is context.Canceled, want the caller's cause", err)
	}
	if f := classify.Of(err, start); f.Kind != fault.Unknown {
		t.Errorf("kind %v by %s for %q, want unknown", f.Kind, f.Rule, err)
	}
	if context.Cause(ctx) == nil {
		t.Error("context.Cause is nil, want the caller's cause")
	}
}

func TestOf_ContextCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if f := classify.Of(ask(ctx, t, cancel), start); f.Kind != fault.Canceled {
		t.Errorf("canceled context: kind %v by %s, want canceled", f.Kind, f.Rule)
	}
}

func TestOf_ClientTimeoutWhileReadingBody(t *testing.T) {
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		<-done
	}))
	defer s.Close()
	defer close(done)
	client := &http.Client{Timeout: 50 * time.Millisecond}
	response, err := client.Get(s.URL)
	if err != nil {
		t.Skip("too slow to get a header in time:", err)
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	if f := classify.Of(err, start); f.Kind != fault.Timeout || f.Class() != fault.ClassTimeout {
		t.Errorf("%v: kind %v by %s, want timeout", err, f.Kind, f.Rule)
	}
	if f := classify.Of(errors.New(err.Error()), start); f.Kind != fault.Timeout {
		t.Errorf("its text alone: kind %v by %s, want timeout", f.Kind, f.Rule)
	}
}

// frame makes an HTTP/2 frame.
func frame(kind, flags, stream byte, payload ...byte) []byte {
	return append([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, stream}, payload...)
}

// answer waits for the header of a call, sends the frames and closes.
func answer(c net.Conn, frames [][]byte) {
	defer c.Close()
	if _, err := io.CopyN(io.Discard, c, 24); err != nil { // the preface
		return
	}
	c.Write(frame(4, 0, 0)) // our settings
	for head := make([]byte, 9); head[3] != 1; {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		io.CopyN(io.Discard, c, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
	}
	for _, f := range frames {
		c.Write(f)
	}
}

// speakHTTP2 answers the first call on each connection with the frames.
func speakHTTP2(t *testing.T, frames ...[]byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback here:", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c, frames)
		}
	}()
	return "http://" + l.Addr().String()
}

func TestOf_HTTP2ResetsAreTransient(t *testing.T) {
	const goAway, reset = 7, 3
	tests := []struct {
		name  string
		frame []byte
		want  fault.Kind
	}{
		{"GOAWAY", frame(goAway, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2), fault.Unavailable},
		{"CANCEL", frame(reset, 0, 1, 0, 0, 0, 8), fault.Unavailable},
		{"REFUSED_STREAM", frame(reset, 0, 1, 0, 0, 0, 7), fault.Unavailable},
		{"INTERNAL_ERROR", frame(reset, 0, 1, 0, 0, 0, 2), fault.Unavailable},
		{"ENHANCE_YOUR_CALM", frame(reset, 0, 1, 0, 0, 0, 11), fault.RateLimited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			protocols := new(http.Protocols)
			protocols.SetUnencryptedHTTP2(true)
			transport := &http.Transport{Protocols: protocols}
			defer transport.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, speakHTTP2(t, tt.frame), io.NopCloser(io.MultiReader()))
			if err != nil {
				t.Fatalf("new request with context: %v", err)
			}
			response, err := transport.RoundTrip(request)
			if err == nil {
				response.Body.Close()
				t.Fatal("the call got a response, want an error")
			}
			if f := classify.Of(err, start); f.Kind != tt.want {
				t.Errorf("%v: kind %v by %s, want %v", err, f.Kind, f.Rule, tt.want)
			}
		})
	}
}

func TestOf_CertificatesAndSchemesAreFinal(t *testing.T) {
	for _, text := range []string{
		"tls: failed to verify certificate: x509: certificate signed by unknown authority",
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
		"http: server gave HTTP response to HTTPS client",
		"tls: first record does not look like a TLS handshake",
		`unsupported protocol scheme "localhost"`,
	} {
		if f := classify.Of(errors.New(text), start); f.Kind != fault.Invalid || f.Retryable() {
			t.Errorf("Of(%s): kind %v by %s, want invalid and final", text, f.Kind, f.Rule)
		}
	}
	must(t, 400, "<html><body><h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port</body></html>", fault.Invalid)
}

func TestOf_RuleMakesUnknownFinal(t *testing.T) {
	f := classify.Of(errors.New("invalid character '<' looking for beginning of value"), start)
	if f.Kind != fault.Unknown || !f.Final {
		t.Errorf("page instead of JSON: kind %v, final %v by %s; want unknown, true", f.Kind, f.Final, f.Rule)
	}
}
