package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The checks of what comes back to the client, other than streams.

// wholeAnswer checks an answer that is not streamed.
func (t *trial) wholeAnswer() (string, error) {
	_, a, err := t.exchange(sendWhole, t.bodyOf(false, "", ""), nil)
	switch {
	case err != nil:
		return "", err
	case string(a.body) != wholeBody:
		return "", fmt.Errorf("the provider sent %s, the client got %s", quote(wholeBody), quote(a.body))
	}
	return "", hasType(jsonType, a.header)
}

// hasType returns an error if an answer has another type.
func hasType(want string, h http.Header) error {
	if kind := h.Get("Content-Type"); !strings.HasPrefix(kind, want) {
		return fmt.Errorf("the content type is %s, not %s", quote(kind), want)
	}
	return nil
}

const (
	jsonType   = "application/json"
	eventsType = "text/event-stream"
)

// errors checks that errors of the provider arrive as they are: those on which Claude Code acts by their words, or which
// it shows.
func (t *trial) errors() (string, error) {
	for _, e := range []struct {
		status int
		body   string
	}{
		{400, errorBody("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block")},
		{401, errorBody("authentication_error", "invalid x-api-key")},
		{403, errorBody("permission_error", "This feature is not available to your organization.")},
		{404, errorBody("not_found_error", "model: claude-conform")},
		{413, errorBody("request_too_large", "Request exceeds the maximum size")},
	} {
		t.provider.expect(t.mark, func(w http.ResponseWriter, _ received) { send(w, e.status, e.body) })
		a, err := t.send(t.newRequest(http.MethodPost, messagesPath, t.bodyOf(true, fmt.Sprint(e.status), "")))
		switch {
		case err != nil:
			return "", err
		case a.status != e.status || string(a.body) != e.body:
			return "", fmt.Errorf("the provider answered %d %s, the client got %s", e.status, quote(e.body), a.describe())
		}
		if err := hasType(jsonType, a.header); err != nil {
			return "", fmt.Errorf("HTTP %d: %w", e.status, err)
		}
	}
	return "", nil
}

// overload checks an error that passes. A gateway may ask again by itself.
func (t *trial) overload() (string, error) {
	overloaded, whole := errorBody("overloaded_error", "Overloaded"), opening+delta("Hi.")+ending
	s := t.provider.expect(t.mark, func(w http.ResponseWriter, r received) {
		if r.number == 0 {
			w.Header().Set("Retry-After", "1")
			send(w, 529, overloaded)
			return
		}
		stream(w, whole)
	})
	a, err := t.send(t.newRequest(http.MethodPost, messagesPath, t.bodyOf(true, "", "")))
	switch last, _ := s.last(); {
	case err != nil:
		return "", err
	case a.status == http.StatusOK && last.number > 0:
		return "the gateway asked again", compare(whole, a.body)
	case a.status != 529 || string(a.body) != overloaded:
		return "", fmt.Errorf("the provider answered 529 %s, the client got %s", quote(overloaded), a.describe())
	}
	return "it is passed on", sameHeaders(a.header, http.Header{"Retry-After": {"1"}})
}

// responseHeaders checks the headers of both kinds of answer.
func (t *trial) responseHeaders() (string, error) {
	for _, streamed := range []bool{false, true} {
		play := sendWhole
		if streamed {
			play = streams(opening + delta("Hi.") + ending)
		}
		_, a, err := t.exchange(play, t.bodyOf(streamed, "", ""), nil)
		if err != nil {
			return "", err
		}
		if err := sameHeaders(a.header, answerHeaders); err != nil {
			return "", fmt.Errorf("of an answer that is streamed=%v: %w", streamed, err)
		}
	}
	return "", nil
}

// compression checks an answer to a client that reads gzip.
func (t *trial) compression() (string, error) {
	_, a, err := t.exchange(sendCompressed, t.bodyOf(false, "", ""), func(h http.Header) { h.Set("Accept-Encoding", "gzip") })
	if err != nil {
		return "", err
	}
	body, coding := a.body, a.header.Get("Content-Encoding")
	switch coding {
	case "", "identity":
		coding = "no coding"
	case "gzip":
		if body, err = unzip(body); err != nil {
			return "", fmt.Errorf("the headers say gzip, and the body is none: %w", err)
		}
	default:
		return "", fmt.Errorf("the coding is %s, which the client did not accept", quote(coding))
	}
	if string(body) != wholeBody {
		return "", fmt.Errorf("with %s the client got %s", coding, quote(body))
	}
	return coding, nil
}

// sendCompressed answers with gzip, if that is asked for.
func sendCompressed(w http.ResponseWriter, r received) {
	if !strings.Contains(r.header.Get("Accept-Encoding"), "gzip") {
		sendWhole(w, r)
		return
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, wholeBody)
	_ = z.Close()
	w.Header().Set("Content-Encoding", "gzip")
	send(w, http.StatusOK, packed.String())
}

func unzip(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// leaveLimit is how long the provider may continue for a client that has left.
const leaveLimit = 5 * time.Second

// cancel checks that the provider learns when the client leaves.
func (t *trial) cancel() (string, error) {
	var leave context.CancelFunc
	t.ctx, leave = context.WithCancel(t.ctx)
	defer leave()
	noticed := make(chan bool, 1)
	t.provider.expect(t.mark, func(w http.ResponseWriter, r received) {
		stream(w, opening+delta("Hi."))
		leave()
		select {
		case noticed <- comes(context.Background(), r.ctx.Done(), leaveLimit):
		default: // asked again
		}
	})
	a, err := t.send(t.newRequest(http.MethodPost, messagesPath, t.bodyOf(true, "", "")))
	switch {
	case t.ctx.Err() == nil:
		return "", errors.Join(err, fmt.Errorf("the request did not reach the provider; the client got %s", a.describe()))
	case !<-noticed:
		return "", fmt.Errorf("%v after the client left, the provider still had the connection", leaveLimit)
	}
	return "", nil
}
