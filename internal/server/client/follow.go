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
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Say says something in a conversation and yields the events of its turn, whose
// id the caller chooses: to say the same again under the same id changes
// nothing, so a connection that is lost is made again. Once the first event is
// there, the server will see to it. The error is last.
func (c Client) Say(ctx context.Context, conversation, turnID, text string) iter.Seq2[wire.Event, error] {
	return c.turn(ctx, conversation, turnID, func(ctx context.Context, _ int64) (io.ReadCloser, error) {
		body, err := json.Marshal(api.NewTurn{Text: text, ID: turnID})
		if err != nil {
			return nil, err
		}
		return c.stream(ctx, http.MethodPost, pathOf(conversation)+"/turns", body)
	})
}

// Watch yields the events of a turn that is there already.
func (c Client) Watch(ctx context.Context, conversation, turnID string) iter.Seq2[wire.Event, error] {
	return c.turn(ctx, conversation, turnID, c.attach(conversation))
}

// turn yields the events of a turn until it is sealed, the first of them from a
// connection that open opens.
func (c Client) turn(ctx context.Context, conversation, turnID string, open opener) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		l := &line{policy: policy.Interactive(), open: open, again: c.attach(conversation)}
		l.hand = func(e wire.Event) bool {
			if wire.TurnOf(e.Body) != turnID {
				return true
			}
			return yield(e, nil) && !sealed(e.Body)
		}
		if err := l.follow(ctx); err != nil && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

func sealed(b wire.Body) bool {
	t, _ := b.(wire.Turn)
	_, ok := t.Event.(turn.Sealed)
	return ok
}

// Attach yields what has happened in a conversation behind a number, 0 for all,
// and then what happens, until ctx ends. A connection that is lost is made again
// for as long as it takes, and nothing that is kept is missed, or yielded twice;
// meanwhile there are events with a wire.ConnectionLost for each try that fails,
// and a wire.ConnectionBack. The error is last: the server refuses.
func (c Client) Attach(ctx context.Context, conversation string, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		l := &line{policy: persistent(), open: c.attach(conversation), again: c.attach(conversation), seen: after, tells: true}
		l.hand = func(e wire.Event) bool { return yield(e, nil) }
		if err := l.follow(ctx); err != nil && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

// persistent is the policy of somebody who looks at a conversation: a server that
// is started anew is there within seconds.
func persistent() policy.Policy {
	return policy.Policy{
		Retries: policy.Unlimited, RetryOn: fault.Transient,
		Backoff: policy.Backoff{Steps: []time.Duration{time.Second / 4, time.Second / 2, time.Second, 2 * time.Second, 5 * time.Second}},
	}
}

// opener opens a stream of the events behind a number.
type opener func(ctx context.Context, after int64) (io.ReadCloser, error)

// line is a stream of events over as many connections as it takes.
type line struct {
	policy policy.Policy
	open   opener // the connection to begin with
	again  opener // those that follow
	hand   func(wire.Event) bool
	tells  bool // the reader is told of connections that are lost

	seen int64     // the number of the last kept event
	lost time.Time // since when there is no connection; zero: there is one, or there was none yet
	over bool      // nobody wants more
}

// follow hands on events until nobody wants more, or the server refuses.
func (l *line) follow(ctx context.Context) error {
	for !l.over && ctx.Err() == nil {
		ctx, leave := context.WithCancel(ctx)
		_, err := retry.Do(ctx, retry.Retrier{Policy: l.policy, OnWait: func(w policy.Wait) {
			if !l.miss(w) {
				leave()
			}
		}}, l.connect)
		leave()
		if err != nil && !l.over {
			return err
		}
	}
	return nil
}

// miss tells of a connection that could not be made; false: nobody wants more.
func (l *line) miss(w policy.Wait) bool {
	now := time.Now()
	if l.lost.IsZero() {
		l.lost = now
	}
	return l.tell(now, wire.ConnectionLost{
		Message: w.Fault.Message, Attempt: w.Retry() - 1, DelayMs: w.Verdict.Wait.Milliseconds(),
	})
}

// tell tells the reader of the connection, if he is to know.
func (l *line) tell(now time.Time, b wire.Body) bool {
	if l.tells && !l.over {
		l.over = !l.hand(wire.Event{Seq: l.seen, Time: now, Body: b})
	}
	return !l.over
}

// silence is how long a connection may have nothing to say: the server gives a
// sign of life every 15 s.
const silence = 45 * time.Second

// What becomes of connections.
var (
	errSilent error = &fault.Error{Kind: fault.Unavailable, Message: "the server is silent"}
	errEnded  error = &fault.Error{Kind: fault.Unavailable, Message: "the server has ended the connection"}
)

// connect makes a connection, and hands on what comes until it ends. One that
// has brought nothing counts as one that could not be made.
func (l *line) connect(ctx context.Context, _ int) (struct{}, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	body, err := l.open(ctx, l.seen)
	if err != nil {
		return struct{}{}, cmp.Or(heard(ctx), err)
	}
	defer body.Close()
	if l.open = l.again; !l.lost.IsZero() {
		now := time.Now()
		l.tell(now, wire.ConnectionBack{LostMs: now.Sub(l.lost).Milliseconds()})
		l.lost = time.Time{}
	}
	if !l.pass(body, func() { alarm.Reset(silence) }) && !l.over {
		return struct{}{}, cmp.Or(heard(ctx), errEnded)
	}
	return struct{}{}, nil
}

// heard gives errSilent if that has ended a connection.
func heard(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return nil
}

// pass hands events on until the connection ends or nobody wants more, and tells
// whether anything has come.
func (l *line) pass(body io.Reader, alive func()) (some bool) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, bound)
	for !l.over && lines.Scan() {
		some = true
		alive()
		var e wire.Event
		if len(bytes.TrimSpace(lines.Bytes())) == 0 || json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a sign of life
		}
		if wire.Kept(e.Body) { // of what passes by the number is that of another event
			if e.Seq <= l.seen {
				continue
			}
			l.seen = e.Seq
		}
		l.over = !l.hand(e)
	}
	return some
}

// attach opens the stream of a conversation's events.
func (c Client) attach(conversation string) opener {
	return func(ctx context.Context, after int64) (io.ReadCloser, error) {
		return c.stream(ctx, http.MethodGet, pathOf(conversation)+"/events?after="+strconv.FormatInt(after, 10), nil)
	}
}

// stream opens a stream of events.
func (c Client) stream(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	resp, err := c.do(ctx, method, path, "application/x-ndjson", body)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
