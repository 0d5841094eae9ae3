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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/fault"
)

// line is one connection to a server. When it is dead, it stays so.
type line struct {
	server  Server
	session *sdk.ClientSession
	process *process      // nil: the server is spoken to over HTTP
	calls   sync.RWMutex  // held for reading by each call under way
	dead    chan struct{} // closed by bury
	bury    func()        // called when the session is over
}

// dial connects to a server.
func dial(ctx context.Context, s Server) (*line, error) {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	l := &line{server: s, dead: make(chan struct{})}
	l.bury = sync.OnceFunc(func() { close(l.dead) })
	if err := l.connect(ctx); err != nil {
		err = l.why(ctx, err)
		_ = l.close() // the first error is the one to know
		return nil, err
	}
	go func() {
		_ = l.session.Wait() // why is what the calls tell
		l.bury()
	}()
	return l, nil
}

// connect opens the session.
func (l *line) connect(ctx context.Context) error {
	transport, err := l.transport()
	if err != nil {
		return err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ridethrough", Version: "0"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, // it calls again by itself
	})
	l.session, err = client.Connect(ctx, transport, nil)
	return err
}

func (l *line) transport() (sdk.Transport, error) {
	switch {
	case l.server.Command != "" && l.server.URL != "":
		return nil, errors.New("both a command and a URL")
	case l.server.URL != "":
		return l.server.web()
	case l.server.Command == "":
		return nil, errors.New("neither a command nor a URL")
	}
	p, err := launch(l.server)
	l.process = p
	if err != nil {
		return nil, err
	}
	return &sdk.IOTransport{Reader: p.out, Writer: p}, nil
}

// call has the server run a tool.
func (l *line) call(ctx context.Context, p *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	l.calls.RLock()
	defer l.calls.RUnlock()
	result, err := l.session.CallTool(ctx, p)
	if err != nil {
		return nil, l.why(ctx, err)
	}
	return result, nil
}

// alive tells whether calls have a chance.
func (l *line) alive() bool {
	select {
	case <-l.dead:
		return false
	default:
		return true
	}
}

// close ends the connection, when calls under way have been told to end.
func (l *line) close() error {
	var err error
	if l.process != nil {
		err = l.process.Close()
	}
	if l.session == nil {
		return err
	}
	parted, cancel := context.WithTimeout(context.Background(), cmp.Or(l.server.Stop, stop))
	defer cancel()
	go func() {
		defer cancel()
		l.calls.Lock() // while the session says goodbye it does not let go of calls
		defer l.calls.Unlock()
		_ = l.session.Close() // politeness: the server may be gone
	}()
	<-parted.Done()
	return err
}

// why says what an error of the session comes from, without secrets.
func (l *line) why(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.process != nil && over(err):
		l.bury() // before the next call
		return fmt.Errorf("the server has ended: %w", l.process.ending(ctx))
	case errors.Is(err, sdk.ErrConnectionClosed):
		return errors.New("the connection is lost: " + fault.Scrub(err.Error()))
	}
	return errors.New(fault.Scrub(strings.TrimPrefix(err.Error(), `calling "tools/call": `)))
}

// over tells whether an error of the session says that a program has ended.
func over(err error) bool {
	for _, sign := range []error{sdk.ErrConnectionClosed, io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
