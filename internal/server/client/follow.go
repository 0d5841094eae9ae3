package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Say adds a user message and yields the events of its turn. The caller chooses the turn's id: the same message
// under the same id is added once, so Say reconnects after a lost connection. After the first event the message is
// durable. The error is last.
func (c Client) Say(ctx context.Context, conversation, turnID, text string, images ...llm.Image) iter.Seq2[wire.Event, error] {
	return c.turn(ctx, conversation, turnID, true, func(ctx context.Context, _ int64) (io.ReadCloser, error) {
		body, err := json.Marshal(api.NewTurn{Text: text, ID: turnID, Images: views.NewImages(images)})
		if err != nil {
			return nil, err
		}
		return c.stream(ctx, http.MethodPost, pathOf(conversation)+"/turns", body)
	})
}

// Watch yields the events of a turn that has begun.
func (c Client) Watch(ctx context.Context, conversation, turnID string) iter.Seq2[wire.Event, error] {
	return c.turn(ctx, conversation, turnID, false, c.attach(conversation))
}

// turn yields the events of a turn until it is sealed, and the pauses of its conversation meanwhile. open makes the
// first connection. began includes the pauses before the turn's first event.
func (c Client) turn(ctx context.Context, conversation, turnID string, began bool, open opener) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f := &follower{policy: policy.Interactive(), open: open, reopen: c.attach(conversation)}
		f.yield = func(e wire.Event) bool {
			switch e.Body.(type) {
			case wire.ConversationPaused, wire.ConversationResumed:
				return !began || yield(e, nil)
			}
			if wire.TurnOf(e.Body) != turnID {
				return true
			}
			began = true
			return yield(e, nil) && !sealed(e.Body)
		}
		if err := f.follow(ctx); err != nil && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

func sealed(b wire.Body) bool {
	t, _ := b.(wire.Turn)
	_, ok := t.Event.(turn.Sealed)
	return ok
}

// Attach yields the past events of a conversation after a number, 0 for all, and then the new ones, until ctx ends.
// It reconnects without limit, and yields each stored event once. It yields a wire.ConnectionLost for each failed
// try and then a wire.ConnectionBack. A refusal of the server is the last error.
func (c Client) Attach(ctx context.Context, conversation string, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f := &follower{policy: persistent(), open: c.attach(conversation), reopen: c.attach(conversation), seen: after, reports: true}
		f.yield = func(e wire.Event) bool { return yield(e, nil) }
		if err := f.follow(ctx); err != nil && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

// persistent is the policy of Attach: a server that restarts is back within seconds.
func persistent() policy.Policy {
	return policy.Policy{
		Retries: policy.Unlimited, RetryOn: fault.Transient,
		Backoff: policy.Backoff{Steps: []time.Duration{time.Second / 4, time.Second / 2, time.Second, 2 * time.Second, 5 * time.Second}},
	}
}

type opener func(ctx context.Context, after int64) (io.ReadCloser, error)

// follower yields the events of a stream, over as many connections as necessary.
type follower struct {
	policy  policy.Policy
	open    opener // makes the next connection
	reopen  opener // makes those after the first
	yield   func(wire.Event) bool
	reports bool // yields lost connections

	seen int64     // the number of the last event: the server continues after it
	lost time.Time // when the connection was lost; zero: it was not
	over bool      // the caller wants no more
}

// follow yields events until the caller stops, or the server refuses.
func (f *follower) follow(ctx context.Context) error {
	for !f.over && ctx.Err() == nil {
		ctx, leave := context.WithCancel(ctx)
		_, err := retry.Do(ctx, retry.Retrier{Policy: f.policy, OnWait: func(w policy.Wait) {
			if !f.failed(w) {
				leave()
			}
		}}, f.connect)
		leave()
		if err != nil && !f.over {
			return err
		}
	}
	return nil
}

// failed reports a connection that could not be made; false: the caller has stopped.
func (f *follower) failed(w policy.Wait) bool {
	now := time.Now()
	if f.lost.IsZero() {
		f.lost = now
	}
	return f.report(now, wire.ConnectionLost{
		Message: w.Fault.Message, Retry: wire.Ordinal(w.Retry()), Delay: wire.Millis(w.Verdict.Wait),
	})
}

// report yields an event about the connection, if requested; false: the caller has stopped.
func (f *follower) report(now time.Time, b wire.Body) bool {
	if f.reports && !f.over {
		f.over = !f.yield(wire.Event{Seq: f.seen, Time: now, Body: b})
	}
	return !f.over
}

// silenceTimeout is how long a connection may be silent: the server sends something every 15 s.
const silenceTimeout = 45 * time.Second

var (
	errSilent error = &fault.Error{Kind: fault.Unavailable, Message: "the server is silent"}
	errEnded  error = &fault.Error{Kind: fault.Unavailable, Message: "the server has ended the connection"}
)

// connect makes a connection and yields its events until it ends. It fails if there were none.
func (f *follower) connect(ctx context.Context, _ int) (struct{}, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silenceTimeout, func() { cancel(errSilent) })
	defer alarm.Stop()
	body, err := f.open(ctx, f.seen)
	if err != nil {
		return struct{}{}, cmp.Or(silent(ctx), err)
	}
	defer body.Close()
	if f.open = f.reopen; !f.lost.IsZero() {
		now := time.Now()
		f.report(now, wire.ConnectionBack{Lost: wire.Millis(now.Sub(f.lost))})
		f.lost = time.Time{}
	}
	if !f.pass(body, func() { alarm.Reset(silenceTimeout) }) && !f.over {
		return struct{}{}, cmp.Or(silent(ctx), errEnded)
	}
	return struct{}{}, nil
}

func silent(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return nil
}

// pass yields events until the connection ends or the caller stops, and reports whether there were any.
func (f *follower) pass(body io.Reader, alive func()) (some bool) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, bound)
	for !f.over && lines.Scan() {
		some = true
		alive()
		var e wire.Event
		if len(bytes.TrimSpace(lines.Bytes())) == 0 || json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a keepalive
		}
		if wire.Kept(e.Body) && e.Seq <= f.seen { // the number of a transient event is that of another
			continue
		}
		f.seen = max(f.seen, e.Seq)
		f.over = !f.yield(e)
	}
	return some
}

func (c Client) attach(conversation string) opener {
	return func(ctx context.Context, after int64) (io.ReadCloser, error) {
		return c.stream(ctx, http.MethodGet, pathOf(conversation)+"/events?after="+strconv.FormatInt(after, 10), nil)
	}
}

func (c Client) stream(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	resp, err := c.do(ctx, method, conversations+path, linesType, jsonType, body)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
