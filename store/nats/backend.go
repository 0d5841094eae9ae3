package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
)

const (
	requestTimeout = 15 * time.Second       // of an operation: three times what a cluster needs to elect a leader
	answerTimeout  = 2 * time.Second        // of a try to read: a server that hangs does not answer, nor does a cluster without a leader
	ackTimeout     = 3 * time.Second        // of a try to write, which waits for a disk
	retryDelay     = 200 * time.Millisecond // before a request that found no server is repeated
)

// backend is a store on JetStream, on servers anywhere.
type backend struct {
	nc            *nats.Conn
	js            jetstream.JetStream
	remote        Remote          // with its defaults
	timeout       time.Duration   // of an operation
	lifetime      context.Context // ends with ErrClosed
	end           context.CancelCauseFunc
	link          *link
	streams       streamStates
	takers        takers
	subscriptions sync.Map       // has each current *subscription as a key
	goroutines    sync.WaitGroup // end with lifetime
}

// newBackend creates the streams and returns the back end on them.
func newBackend(ctx context.Context, nc *nats.Conn, r Remote, timeout time.Duration) (*backend, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	lifetime, end := context.WithCancelCause(context.Background())
	b := &backend{
		nc: nc, js: js, remote: r, timeout: timeout, lifetime: lifetime, end: end, link: newLink(r.Log, timeout),
		streams: streamStates{recheck: make(chan struct{}, 1), known: map[string]streamState{}}, takers: takers{reset: make(chan struct{}, 1)},
	}
	b.followConnection()
	if err := b.createStreams(ctx); err != nil {
		end(store.ErrClosed)
		return nil, err
	}
	if !r.Existing {
		b.goroutines.Go(b.keepStreams)
	}
	return b, nil
}

// followConnection reacts when the connection is lost and when there is another.
func (b *backend) followConnection() {
	b.nc.SetDisconnectErrHandler(func(_ *nats.Conn, err error) {
		if b.lifetime.Err() == nil {
			b.link.lost(err)
		}
	})
	b.nc.SetReconnectHandler(func(*nats.Conn) {
		b.link.restored()
		b.markGaps()
		signal(b.takers.reset) // new servers may not know the current request
		signal(b.streams.recheck)
	})
}

// begin begins an operation with valid arguments, bounded by the life of the back
// end. The returned function ends it.
func (b *backend) begin(ctx context.Context, invalid error) (context.Context, func(), error) {
	if err := b.check(ctx, invalid); err != nil {
		return ctx, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.lifetime, func() { cancel(store.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// check returns why an operation cannot begin; nil: it can.
func (b *backend) check(ctx context.Context, invalid error) error {
	switch {
	case invalid != nil:
		return invalid
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case b.lifetime.Err() != nil:
		return store.ErrClosed
	}
	return nil
}

// errSilent reports that no server has answered a try.
var errSilent = errors.New("no server answered")

// attempt calls do until it ends otherwise than by the loss of the connection or the lack of a server that is
// responsible and answers, as during the election of a leader: for the timeout at most. So do may run several times.
func (b *backend) attempt(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.timeout, store.ErrUnavailable)
	defer cancel()
	for {
		err := b.link.while(ctx, do)
		if err == nil || !isPassing(err) || !sleep(ctx, retryDelay) {
			return translate(ctx, err)
		}
	}
}

// isPassing reports whether an operation may succeed when it is repeated. The two codes are of a server that has the
// same message, or another one of the same subject, and does not know yet what becomes of it.
func isPassing(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == 10158 || api.ErrorCode == 10163
	}
	return isDisconnected(err) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, errSilent)
}

// ask is attempt with a limit on each try, for what may run twice without harm. The server that has it may hang, and the
// next try reaches another one, or the leader elected meanwhile.
func (b *backend) ask(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	return b.attempt(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errSilent)
		defer cancel()
		err := do(ctx)
		if err != nil && errors.Is(context.Cause(ctx), errSilent) {
			return errSilent
		}
		return err
	})
}

// publish stores a message. One that is sent again because the acknowledgement was lost or late is stored once if it
// replaces the former, or names the sequence number that it follows. The last then ends with ErrConflict. One with an id
// ends with a duplicate, unless the servers have forgotten the id. A duplicate was stored once; it may be there no longer.
func (b *backend) publish(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return b.store(ctx, func(ctx context.Context) (*jetstream.PubAck, error) { return b.send(ctx, m, opts...) })
}

// send sends a message once and waits for the acknowledgement.
func (b *backend) send(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return b.js.PublishMsg(ctx, m, append(opts, jetstream.WithRetryAttempts(0))...)
}

// store attempts to send something, and returns the acknowledgement.
func (b *backend) store(ctx context.Context, send func(context.Context) (*jetstream.PubAck, error)) (ack *jetstream.PubAck, err error) {
	err = b.ask(ctx, ackTimeout, func(ctx context.Context) (err error) {
		ack, err = send(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.streams.raise(ack.Stream, ack.Sequence)
	return ack, nil
}

// notify sends data without waiting for an answer.
func (b *backend) notify(ctx context.Context, operation, subject string, data []byte) error {
	err := b.link.check()
	if err == nil {
		err = b.nc.Publish(subject, data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, translate(ctx, err))
	}
	return nil
}

// request sends a request and returns the answer. It may be sent several times.
func (b *backend) request(ctx context.Context, subject string, data []byte) (answer *nats.Msg, err error) {
	err = b.ask(ctx, answerTimeout, func(ctx context.Context) (err error) {
		answer, err = b.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: data})
		return err
	})
	return answer, err
}

// api sends a request to the JetStream API, in JSON.
func (b *backend) api(ctx context.Context, subject string, request, answer any) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := b.request(ctx, "$JS.API."+subject, data)
	if err != nil {
		return err
	}
	var refusal struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &refusal); err != nil {
		return err
	}
	if refusal.Error != nil {
		return translate(ctx, refusal.Error)
	}
	return json.Unmarshal(m.Data, answer)
}

// signal leaves an element in a channel of one, if it is empty.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// translate returns the errors of package store for those of NATS.
func translate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return translateAPI(api)
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, os.ErrDeadlineExceeded), isDisconnected(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// annotate adds the operation to an error. Damage says by itself what it is about.
func annotate(operation string, err error) error {
	if _, damaged := errors.AsType[*store.Damage](err); err == nil || damaged {
		return err
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// translateAPI returns the errors of package store for refusals of a server.
func translateAPI(api *jetstream.APIError) error {
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return store.ErrConflict
	case 10002, 10023, 10028, 10047: // resources of the account, the server, its memory or its disk
		return fmt.Errorf("%w: %s", store.ErrFull, api.Description)
	case 10004, 10005, 10007, 10008, 10009, 10118: // nodes are missing, or there is no leader
		return fmt.Errorf("%w: %s", store.ErrUnavailable, api.Description)
	}
	if strings.Contains(api.Description, "no space left") || strings.Contains(api.Description, "maximum bytes exceeded") {
		return fmt.Errorf("%w: %s", store.ErrFull, api.Description)
	}
	return api
}

// Close implements [store.Lifecycle].
func (b *backend) Close(context.Context) error {
	if b.lifetime.Err() != nil {
		return nil
	}
	b.end(store.ErrClosed)
	b.goroutines.Wait()
	b.nc.Close()
	return nil
}
