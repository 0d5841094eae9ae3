package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The checks of streamed answers.

const (
	stepLimit      = 3 * time.Second  // in which an event reaches the client
	firstByteLimit = 20 * time.Second // far below the 300 s of Claude Code's watchdog
	pingPause      = time.Second      // between the pings before an answer
	steps          = 4
)

// stream checks an answer from its first event to its last.
func (t *trial) stream() (string, error) {
	return t.streamOf(opening + delta("Hi") + delta(" there.") + ending)
}

// unknownEvents checks what a gateway cannot know.
func (t *trial) unknownEvents() (string, error) {
	return t.streamOf(opening + delta("Hi.") + strangeEvents + ending)
}

// streamOf checks that a stream arrives event for event.
func (t *trial) streamOf(sent string) (string, error) {
	_, a, err := t.exchange(streams(sent), t.bodyOf(true, "", ""), nil)
	if err != nil {
		return "", err
	}
	return "", errors.Join(hasType(eventsType, a.header), compare(sent, a.body))
}

// unbuffered checks that events of an answer do not wait for later ones.
func (t *trial) unbuffered() (string, error) {
	return t.inStep(func(i int) string { return delta("step " + strconv.Itoa(i)) },
		func(got []byte, i int) bool { return bytes.Contains(got, []byte("step "+strconv.Itoa(i))) })
}

// pings checks that pings in an answer arrive, or something in their place.
func (t *trial) pings() (string, error) {
	return t.inStep(func(int) string { return ping }, func(got []byte, i int) bool { return pingsIn(got) > i })
}

// inStep has the provider send a stream in steps, each once the client has the one before.
func (t *trial) inStep(part func(i int) string, has func(got []byte, i int) bool) (string, error) {
	got := make(chan struct{}, steps)
	var arrived atomic.Int64
	t.provider.expect(t.mark, func(w http.ResponseWriter, r received) {
		stream(w, opening+delta("Hi."))
		for i := 0; i < steps; i++ {
			stream(w, part(i))
			if !comes(r.ctx, got, stepLimit) {
				break
			}
			arrived.Add(1)
		}
		stream(w, ending)
	})
	resp, err := t.client.Do(t.newRequest(http.MethodPost, messagesPath, t.bodyOf(true, "", "")))
	if err != nil {
		return "", t.noAnswer(err)
	}
	defer resp.Body.Close()
	next := 0
	_, err = read(resp.Body, func(all []byte) bool {
		for next < steps && has(all, next) {
			got <- struct{}{}
			next++
		}
		return false
	})
	switch n := int(arrived.Load()); {
	case n < steps:
		return "", fmt.Errorf("%s had not arrived %v after it was sent", quote(part(n)), stepLimit)
	case err != io.EOF:
		return "", fmt.Errorf("the answer broke off: %w", err)
	}
	return "", nil
}

// comes reports whether something is received within a time, and while ctx lasts.
func comes(ctx context.Context, c <-chan struct{}, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// firstByte checks an answer for which the model takes its time.
func (t *trial) firstByte() (string, error) {
	seen := make(chan struct{})
	t.provider.expect(t.mark, func(w http.ResponseWriter, r received) {
		stream(w, event("message_start", `,"message":{"id":"msg_conform","type":"message","role":"assistant","content":[]}`))
		for begun := time.Now(); r.ctx.Err() == nil && time.Since(begun) < firstByteLimit+stepLimit && !comes(r.ctx, seen, pingPause); {
			stream(w, ping)
		}
		stream(w, strings.TrimPrefix(opening, frames([]byte(opening))[0])+delta("Hi.")+ending)
	})
	defer close(seen)
	defer t.within(firstByteLimit)()
	begun := time.Now()
	resp, err := t.client.Do(t.newRequest(http.MethodPost, messagesPath, t.bodyOf(true, "", "")))
	if err == nil {
		defer resp.Body.Close()
		_, err = read(resp.Body, func(got []byte) bool { return len(got) > 0 })
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("no byte within %v, while the provider sent a ping every second", firstByteLimit)
	case err != nil:
		return "", t.noAnswer(err)
	}
	return fmt.Sprintf("after %v", time.Since(begun).Round(time.Millisecond)), nil
}

// errorEvent checks an error inside an answer.
func (t *trial) errorEvent() (string, error) {
	sent := opening + delta("Hi.") + event("error", `,"error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_conform"`)
	_, a, err := t.exchange(streams(sent), t.bodyOf(true, "", ""), nil)
	if a.status != http.StatusOK {
		return "", err
	}
	return "", compare(sent, a.body) // after which the connection may be cut
}

// brokenStream checks that an answer that breaks off does not look complete.
func (t *trial) brokenStream() (string, error) {
	half := opening + delta("Hi.")
	got, a, err := t.exchange(func(w http.ResponseWriter, r received) {
		stream(w, half)
		if r.number == 0 {
			panic(http.ErrAbortHandler)
		}
		stream(w, ending)
	}, t.bodyOf(true, "", ""), nil)
	last := strings.Join(events(a.body), "")
	switch {
	case a.err != nil:
		return "the connection is cut", nil
	case err != nil:
		return "", err
	case strings.Contains(last, "event: error"):
		return "an error event", nil
	case got.number > 0 && strings.Contains(last, "message_stop"):
		return "the gateway asked again", nil
	}
	return "", fmt.Errorf("a clean end after %s", quote(frames(a.body)[len(frames(a.body))-1]))
}
