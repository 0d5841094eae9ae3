package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/fault"
)

// Server says where an MCP server is: a program that is started and spoken to
// over its standard input and output, or a URL that speaks streamable HTTP.
type Server struct {
	// Name stands in front of the names of its tools, which become
	// mcp__name__tool as other clients have it. They keep that name whatever
	// else is connected, so that a stored conversation stays true. "": the
	// tools keep their own names.
	Name string

	Command string    // the program; "": there is a URL
	Args    []string  // of the program
	Env     []string  // its environment, KEY=value, beside the few names that a program needs to start, such as HOME and PATH: what else is in ours, such as keys, is not for it
	Dir     string    // where it runs; "": where we do
	Stderr  io.Writer // what it says on standard error; nil: nobody reads it

	URL    string       // where there is no Command
	Header http.Header  // sent with every request to the URL's host, and to no other
	Client *http.Client // nil: one without a limit of time

	Start   time.Duration // how long connecting may take; 0: one minute
	Stop    time.Duration // how long a program may take to end once its input is closed, and again once it is told to; 0: two seconds
	Timeout time.Duration // of each tool; see Tool
	Bound   int           // of each tool's output; see Tool
}

// MCP is a connection to an MCP server. Its methods may run concurrently.
type MCP struct {
	server  Server
	session *mcp.ClientSession
	process *process // nil: it is spoken to over HTTP
	open    context.Context
	leave   context.CancelCauseFunc
	calls   sync.RWMutex // held for reading by each call under way
	tools   []Tool
}

const (
	start = time.Minute
	stop  = 2 * time.Second
	most  = 10_000 // tools of one server; beyond it something is wrong
)

var errClosed = errors.New("the connection to the server is closed")

// Connect connects to a server and asks for its tools. The context is about
// connecting only: the connection lasts until Close.
func Connect(ctx context.Context, s Server) (*MCP, error) {
	limit := cmp.Or(s.Start, start)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %v", limit))
	defer cancel()
	m := &MCP{server: s}
	m.open, m.leave = context.WithCancelCause(context.Background())
	err := m.connect(ctx)
	if err == nil {
		err = m.list(ctx)
	}
	if err != nil {
		err = m.why(ctx, err)
		_ = m.Close() // the first error is the one to know
		return nil, fmt.Errorf("mcp server %s: %w", cmp.Or(s.Name, s.Command, s.URL), err)
	}
	return m, nil
}

// connect opens the session.
func (m *MCP) connect(ctx context.Context) error {
	transport, err := m.transport()
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "ridethrough", Version: "0"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // it calls again by itself
	})
	m.session, err = client.Connect(ctx, transport, nil)
	return err
}

func (m *MCP) transport() (mcp.Transport, error) {
	switch {
	case m.server.Command != "" && m.server.URL != "":
		return nil, errors.New("both a command and a URL")
	case m.server.URL != "":
		return m.server.web()
	case m.server.Command == "":
		return nil, errors.New("neither a command nor a URL")
	}
	p, err := launch(m.server)
	m.process = p
	if err != nil {
		return nil, err
	}
	return &mcp.IOTransport{Reader: p.out, Writer: p}, nil
}

// list asks for the tools, page after page.
func (m *MCP) list(ctx context.Context) error {
	taken := map[string]bool{}
	for t, err := range m.session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if len(m.tools) == most {
			return fmt.Errorf("more than %d tools", most)
		}
		m.tools = append(m.tools, m.tool(t, taken))
	}
	return nil
}

// Tools gives the server's tools as they were when it was connected. They write
// unless the server says that they only read, and its word is all there is.
func (m *MCP) Tools() []Tool { return append([]Tool(nil), m.tools...) }

// Close ends the connection: calls under way fail, and a server that was
// started is ended with all that it has started, by force if need be. Its error
// says that even this was in vain.
func (m *MCP) Close() error {
	m.leave(errClosed)
	var err error
	if m.process != nil {
		err = m.process.Close()
	}
	if m.session == nil {
		return err
	}
	parted, cancel := context.WithTimeout(context.Background(), cmp.Or(m.server.Stop, stop))
	defer cancel()
	go func() {
		defer cancel()
		m.calls.Lock() // while the session says goodbye it does not let go of calls
		defer m.calls.Unlock()
		_ = m.session.Close() // politeness: the server may be gone
	}()
	<-parted.Done()
	return err
}

// why says what an error of the session comes from, without secrets.
func (m *MCP) why(ctx context.Context, err error) error {
	switch {
	case m.open.Err() != nil:
		return context.Cause(m.open)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case m.process != nil && over(err):
		return fmt.Errorf("the server has ended: %w", m.process.ending(ctx))
	case errors.Is(err, mcp.ErrConnectionClosed):
		return reason("the connection is lost: " + fault.Scrub(err.Error()))
	}
	return reason(fault.Scrub(strings.TrimPrefix(err.Error(), `calling "tools/call": `)))
}

// over tells whether an error of the session says that a program has ended.
func over(err error) bool {
	for _, sign := range []error{mcp.ErrConnectionClosed, io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
