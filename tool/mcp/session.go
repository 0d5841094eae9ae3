package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/fault"
)

// session is one connection to a server. A dead session stays dead.
type session struct {
	server   Server
	client   *sdk.ClientSession
	proc     *process      // nil: the server is reached over HTTP
	calls    sync.RWMutex  // held for reading by each call in progress
	dead     chan struct{} // closed by markDead
	markDead func()        // called when the session has ended
}

// dial connects to a server.
func dial(ctx context.Context, s Server) (*session, error) {
	ctx, cancel := s.connectContext(ctx)
	defer cancel()
	l := &session{server: s, dead: make(chan struct{})}
	l.markDead = sync.OnceFunc(func() { close(l.dead) })
	if err := l.connect(ctx); err != nil {
		err = l.explain(ctx, err)
		_ = l.close() // the first error is the one to know
		return nil, err
	}
	go func() {
		_ = l.client.Wait() // the calls report the error
		l.markDead()
	}()
	return l, nil
}

// connect opens the SDK's session.
func (l *session) connect(ctx context.Context) error {
	transport, err := l.transport()
	if err != nil {
		return err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ridethrough", Version: "0"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, // it would repeat calls
	})
	client.AddSendingMiddleware(limitDiscovery)
	l.client, err = client.Connect(ctx, transport, nil)
	return err
}

// discoveryTimeout is how long a server may take for the first request, which those of the protocol before 2026-07-28 do
// not know. Some leave it without an answer.
const discoveryTimeout = 10 * time.Second

// limitDiscovery ends that request, after which the SDK sends the one that older servers know.
func limitDiscovery(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "server/discover" {
			limited, cancel := context.WithTimeout(ctx, discoveryTimeout)
			defer cancel()
			ctx = limited
		}
		return next(ctx, method, req)
	}
}

func (l *session) transport() (sdk.Transport, error) {
	switch {
	case l.server.Command != "" && l.server.URL != "":
		return nil, errors.New("both a command and a URL")
	case l.server.URL != "":
		return l.server.httpTransport()
	case l.server.Command == "":
		return nil, errors.New("neither a command nor a URL")
	}
	p, err := launch(l.server)
	l.proc = p
	if err != nil {
		return nil, err
	}
	return &sdk.IOTransport{Reader: p.out, Writer: p}, nil
}

// call runs a tool on the server.
func (l *session) call(ctx context.Context, p *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	l.calls.RLock()
	defer l.calls.RUnlock()
	result, err := l.client.CallTool(ctx, p)
	if err != nil {
		return nil, l.explain(ctx, err)
	}
	return result, nil
}

// alive reports whether calls can succeed.
func (l *session) alive() bool {
	select {
	case <-l.dead:
		return false
	default:
		return true
	}
}

// close ends the connection, when calls in progress have been told to end.
func (l *session) close() error {
	var err error
	if l.proc != nil {
		err = l.proc.Close()
	}
	if l.client == nil {
		return err
	}
	parted, cancel := context.WithTimeout(context.Background(), cmp.Or(l.server.StopTimeout, defaultStopTimeout))
	defer cancel()
	go func() {
		defer cancel()
		l.calls.Lock() // while it closes, the session blocks calls
		defer l.calls.Unlock()
		_ = l.client.Close() // the server may have ended already
	}()
	<-parted.Done()
	return err
}

// explain returns the cause of an error of the session, without secrets; a *lostError is worth another try.
func (l *session) explain(ctx context.Context, err error) error {
	text := fault.Scrub(strings.TrimPrefix(err.Error(), `calling "tools/call": `))
	failed, unanswered := errors.AsType[*requestError](err)
	_, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ctx.Err() != nil:
		return &lostError{context.Cause(ctx), true}
	case l.proc != nil && hasEnded(err):
		l.markDead() // before the next call
		return &lostError{fmt.Errorf("the server has ended: %w", l.proc.exitError(ctx)), true}
	case unanswered:
		if failed.gone {
			l.markDead()
		}
		return &lostError{errors.New(fault.Scrub(failed.Error())), failed.sent}
	case errors.Is(err, sdk.ErrConnectionClosed):
		l.markDead()
		return &lostError{errors.New("the connection is lost: " + text), true}
	case answered:
		return errors.New(text)
	case l.proc == nil && l.client != nil:
		l.markDead()
		return &lostError{errors.New(text), true}
	}
	return errors.New(text)
}

// hasEnded reports whether an error of the session means that a program has ended.
func hasEnded(err error) bool {
	for _, sign := range []error{sdk.ErrConnectionClosed, io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
