package transport_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// compress returns a text as gzip, flushed in the middle.
func compress(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text[:len(text)/2]))
	w.Flush()
	w.Write([]byte(text[len(text)/2:]))
	w.Close()
	return b.String()
}

var gzipped = http.Header{"Content-Encoding": {"gzip"}, "Accept-Ranges": {"bytes"}}

func TestTransport_AnswerCompressedUnaskedIsDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &upstream{replies: []reply{
			{status: 429, header: http.Header{"Content-Encoding": {"gzip"}}, body: compress(overloadJSON)},
			{status: 200, kind: "text/event-stream", header: gzipped, body: compress(oops)},
			{status: 200, header: gzipped, body: compress(answerJSON)[:40], cut: io.ErrUnexpectedEOF},
			{status: 200, header: gzipped, body: compress(answerJSON)},
		}}
		req := post(t.Context())
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := (&transport.Transport{Base: up, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(req)
		if err != nil {
			t.Fatalf("RoundTrip: %v", err)
		}
		got, err := io.ReadAll(resp.Body)
		if string(got) != answerJSON || err != nil || resp.Header.Get("Content-Encoding") != "" || len(up.bodies) != 4 {
			t.Errorf("after %d tries: %q, error %v, header %v; want after 4 the plain answer", len(up.bodies), got, err, resp.Header)
		}
	})
}

func TestTransport_AnswerCompressedAsAskedIsUntouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &upstream{replies: []reply{{status: 200, header: gzipped, body: compress(answerJSON)}}}
		req := post(t.Context())
		req.Header.Set("Accept-Encoding", "gzip, br")
		resp, err := (&transport.Transport{Base: up, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(req)
		if err != nil {
			t.Fatalf("RoundTrip: %v", err)
		}
		got, _ := io.ReadAll(resp.Body)
		if string(got) != compress(answerJSON) || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("body %q, header %v; want what the server sent", got, resp.Header)
		}
	})
}

func TestTransport_CompressedErrorIsReadAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tooLong = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`
		up := &upstream{replies: []reply{{status: 400, header: gzipped, body: compress(tooLong)}}}
		req := post(t.Context())
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := (&transport.Transport{Base: up, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(req)
		if err != nil {
			t.Fatalf("RoundTrip: %v", err)
		}
		got, _ := io.ReadAll(resp.Body)
		if string(got) != compress(tooLong) || len(up.bodies) != 1 {
			t.Errorf("after %d tries: %q; want the compressed error after one", len(up.bodies), got)
		}
	})
}

// An error in br, which some proxies use unasked, is final or not by its words, and is handed on plain.
func TestTransport_ErrorInBrotliIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const spent = `{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details."}}`
		var packed bytes.Buffer
		w := brotli.NewWriter(&packed)
		_, _ = io.WriteString(w, spent)
		_ = w.Close()
		for _, accepted := range []string{"identity", "br"} {
			up := &upstream{replies: []reply{{status: 429, header: http.Header{"Content-Encoding": {"br"}}, body: packed.String()}}}
			req := post(t.Context())
			req.Header.Set("Accept-Encoding", accepted)
			resp, err := (&transport.Transport{Base: up, Retry: retry.Retrier{Policy: policy.Simple()}}).RoundTrip(req)
			if err != nil {
				t.Fatalf("RoundTrip: %v", err)
			}
			got, _ := io.ReadAll(resp.Body)
			want := map[string]string{"identity": spent, "br": packed.String()}[accepted]
			if string(got) != want || len(up.bodies) != 1 {
				t.Errorf("%s is accepted: after %d tries %q; want %q after one", accepted, len(up.bodies), got, want)
			}
		}
	})
}

func TestTransport_ErrorWhoseReasonIsLostIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &upstream{replies: []reply{
			reply{status: 400, body: `{"error":{"mess`}.ends(syscall.ECONNRESET),
			ok(answerJSON),
		}}
		resp, err := (&transport.Transport{Base: up, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 200 || len(up.bodies) != 2 {
			t.Errorf("after %d tries: %v, error %v; want 200 after two", len(up.bodies), resp, err)
		}

		up = &upstream{replies: []reply{reply{status: 401, body: `{"err`}.ends(syscall.ECONNRESET)}}
		resp, err = (&transport.Transport{Base: up, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
		failed, ok := errors.AsType[*retry.Error](err)
		if len(up.bodies) != 1 || err != nil && (!ok || failed.Last.Kind != fault.Auth) {
			t.Errorf("after %d tries: %v, error %v; want one try: the status says enough", len(up.bodies), resp, err)
		}
	})
}
