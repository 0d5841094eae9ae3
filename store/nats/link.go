package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/store"
)

// errLost reports that the connection was lost during an operation.
var errLost = errors.New("the connection was lost")

// link is the state of the connection with the servers. Operations ask it before they use the connection,
// whose lock a reconnection may hold for seconds.
type link struct {
	log     *slog.Logger
	timeout time.Duration // of operations that wait for a connection

	mu    sync.Mutex
	alive context.Context // ends with errLost when the connection does
	end   context.CancelCauseFunc
	since time.Time     // when the connection was lost
	back  chan struct{} // closed when there is a connection again
}

func newLink(log *slog.Logger, timeout time.Duration) *link {
	l := &link{log: log, timeout: timeout}
	l.alive, l.end = context.WithCancelCause(context.Background())
	return l
}

// lost ends the operations that use the connection.
func (l *link) lost(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive.Err() != nil {
		return
	}
	l.since, l.back = time.Now(), make(chan struct{})
	l.end(errLost)
	l.log.Warn("connection with the NATS servers lost", "error", reason)
}

// restored lets operations use the connection again.
func (l *link) restored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive.Err() == nil {
		return
	}
	l.alive, l.end = context.WithCancelCause(context.Background())
	close(l.back)
	l.log.Info("connection with the NATS servers restored", "after", time.Since(l.since).Round(time.Millisecond).String())
}

// state returns the context of the connection and, if that is lost, since when and what announces the next.
func (l *link) state() (alive context.Context, since time.Time, back <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alive, l.since, l.back
}

// check returns an error if there is no connection.
func (l *link) check() error {
	alive, _, _ := l.state()
	return context.Cause(alive)
}

// await waits for a connection and returns its context. It returns ErrUnavailable when there has been none
// for the timeout.
func (l *link) await(ctx context.Context) (context.Context, error) {
	for {
		alive, since, back := l.state()
		if alive.Err() == nil {
			return alive, nil
		}
		timer := time.NewTimer(l.timeout - time.Since(since))
		select {
		case <-back:
			timer.Stop()
		case <-timer.C:
			return nil, fmt.Errorf("%w: no connection since %s", store.ErrUnavailable, since.Format(time.TimeOnly))
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// while calls do when there is a connection. Its context ends with ctx and, with errLost, with the connection.
func (l *link) while(ctx context.Context, do func(context.Context) error) error {
	alive, err := l.await(ctx)
	if err != nil {
		return err
	}
	bound, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(alive, func() { cancel(errLost) })()
	err = do(bound)
	if err != nil && errors.Is(context.Cause(bound), errLost) {
		return errLost
	}
	return err
}

// isDisconnected reports whether an operation failed because there was no connection. The library says of a
// flush that the connection is closed if it is only lost; one that this package has closed ends the context. A large
// message is written at once, and its error is the network's own.
func isDisconnected(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, errLost) || errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, nats.ErrStaleConnection) || errors.Is(err, nats.ErrConnectionClosed)
}
