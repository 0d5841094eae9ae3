package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	patience = 15 * time.Second       // how long an operation waits for an answer; a cluster chooses a leader in a third of it
	again    = 200 * time.Millisecond // how long until a question that nobody was there for is asked again
)

// store is an engine on JetStream, wherever its servers are.
type store struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	form  form
	life  context.Context // ends with ErrClosed
	end   context.CancelCauseFunc
	own   *host // nil: the servers are not ours
	pulls pulls
	ears  ears
	busy  sync.WaitGroup // goroutines that end with life
}

// form is how the streams of a store are made.
type form struct {
	replicas int // of each; 0: as they are, or 1
	lease    time.Duration
	alone    bool // nobody else can hold a claim or know more than the server that is asked
}

// start makes the streams and gives the engine on them.
func start(ctx context.Context, nc *nats.Conn, f form, own *host) (*store, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancelCause(context.Background())
	s := &store{nc: nc, js: js, form: f, life: life, end: end, own: own, pulls: pulls{anew: make(chan struct{}, 1)}}
	err = s.lay(ctx)
	if err == nil && own != nil {
		err = s.compare(ctx)
	}
	if err != nil {
		end(ErrClosed)
		return nil, err
	}
	nc.SetReconnectHandler(func(*nats.Conn) { s.ears.lose(); s.pulls.afresh() })
	return s, nil
}

// enter bounds an operation by the life of the engine. What comes back ends it.
func (s *store) enter(ctx context.Context) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return ctx, nil, context.Cause(ctx)
	}
	if s.life.Err() != nil {
		return ctx, nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// publish stores a message. A leader that is being chosen is waited for.
func (s *store) publish(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer cancel()
	opts = append(opts, jetstream.WithRetryWait(again), jetstream.WithRetryAttempts(int(patience/again)))
	ack, err := s.js.PublishMsg(ctx, m, opts...)
	switch {
	case err != nil && s.own != nil && s.own.log.broken.Load():
		return 0, fmt.Errorf("%w: a write has failed", ErrFull)
	case err != nil:
		return 0, explain(ctx, err)
	case s.own != nil:
		s.own.witness.saw(ack.Stream, ack.Sequence)
	}
	return ack.Sequence, nil
}

// ask sends a request and gives the answer. A leader that is being chosen is
// waited for.
func (s *store) ask(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer cancel()
	for {
		m, err := s.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: data})
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, nats.ErrNoResponders) || !pause(ctx, again) {
			return nil, explain(ctx, err)
		}
	}
}

// api asks the servers for something, in JSON.
func (s *store) api(ctx context.Context, subject string, request, answer any) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := s.ask(ctx, "$JS.API."+subject, data)
	if err != nil {
		return err
	}
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		return explain(ctx, failed.Error)
	}
	return json.Unmarshal(m.Data, answer)
}

// pause waits, and tells whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// explain says in our words why something failed.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return explained(api)
	}
	switch {
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrBadSubscription):
		return ErrClosed
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("store: %w", err)
}

// explained says in our words what a server has refused.
func explained(api *jetstream.APIError) error {
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return ErrConflict
	case 10002, 10023, 10028, 10047: // resources of the account, the server, its memory or its disk
		return fmt.Errorf("%w: %s", ErrFull, api.Description)
	case 10004, 10005, 10007, 10008, 10009: // not all nodes have been heard, too few are there, or none leads
		return fmt.Errorf("%w: %s", ErrUnavailable, api.Description)
	}
	if strings.Contains(api.Description, "no space left") || strings.Contains(api.Description, "maximum bytes exceeded") {
		return fmt.Errorf("%w: %s", ErrFull, api.Description)
	}
	return fmt.Errorf("store: %w", api)
}

func (s *store) Close(context.Context) error {
	if s.life.Err() != nil {
		return nil
	}
	s.end(ErrClosed)
	s.busy.Wait()
	s.nc.Close()
	if s.own != nil {
		return s.own.stop()
	}
	return nil
}
