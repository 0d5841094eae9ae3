// Package mcp connects to MCP servers and makes their tools callable by a model, as values of package tool.
//
// It is the only package that imports the MCP SDK: a program without MCP servers does not link it.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/tool"
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
	Timeout time.Duration // of each tool; see [tool.Tool]
	Bound   int           // of each tool's output; see [tool.Tool]
}

// Client is a connection to an MCP server. One that is lost is a failed result for
// the calls under way; the next call connects anew, and starts the server again
// if we have started it. Its methods may run concurrently.
type Client struct {
	server Server
	tools  []tool.Tool
	open   context.Context
	leave  context.CancelCauseFunc
	line   chan *line // holds the connection; who has taken it out connects anew
}

const (
	start = time.Minute
	stop  = 2 * time.Second
	most  = 10_000 // tools of one server; beyond it something is wrong
)

var errClosed = errors.New("the connection to the server is closed")

// Connect connects to a server and asks for its tools. The context is about
// connecting only: the connection lasts until Close.
func Connect(ctx context.Context, s Server) (*Client, error) {
	m := &Client{server: s, line: make(chan *line, 1)}
	m.open, m.leave = context.WithCancelCause(context.Background())
	l, err := dial(ctx, s)
	if err == nil {
		m.line <- l
		err = m.list(ctx, l)
	}
	if err != nil {
		m.leave(err)
		return nil, fmt.Errorf("mcp server %s: %w", cmp.Or(s.Name, s.Command, s.URL), err)
	}
	return m, nil
}

// list asks for the tools, page after page.
func (m *Client) list(ctx context.Context, l *line) error {
	ctx, cancel := l.server.begin(ctx)
	defer cancel()
	taken := map[string]bool{}
	for t, err := range l.session.Tools(ctx, nil) {
		if err == nil && len(m.tools) == most {
			err = fmt.Errorf("more than %d tools", most)
		}
		if err != nil {
			err = l.why(ctx, err)
			_ = m.Close() // the first error is the one to know
			return err
		}
		m.tools = append(m.tools, m.tool(t, taken))
	}
	return nil
}

// begin gives a context for connecting.
func (s Server) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(s.Start, start)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %v", limit))
}

// Tools gives the server's tools as they were when it was connected. They write
// unless the server says that they only read, and its word is all there is.
func (m *Client) Tools() []tool.Tool { return slices.Clone(m.tools) }

// living gives a connection that lasts, as far as is known.
func (m *Client) living(ctx context.Context) (*line, error) {
	var l *line
	select {
	case l = <-m.line:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { m.line <- l }()
	if m.open.Err() != nil {
		return nil, errClosed
	}
	if l.alive() {
		return l, nil
	}
	_ = l.close() // it is dead already
	fresh, err := dial(ctx, m.server)
	if err != nil {
		return nil, fmt.Errorf("the server is gone: %w", err)
	}
	l = fresh
	return l, nil
}

// Close ends the connection: calls under way fail, and a server that was
// started is ended with all that it has started, by force if need be. Its error
// says that even this was in vain.
func (m *Client) Close() error {
	m.leave(errClosed)
	l := <-m.line
	defer func() { m.line <- l }()
	return l.close()
}
