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

	ConnectTimeout time.Duration // how long connecting may take; 0: one minute
	StopTimeout    time.Duration // how long a program may take to end once its input is closed, and again once it is told to; 0: two seconds
	Timeout        time.Duration // of each tool; see [tool.Tool]
	MaxOutput      int           // of each tool's output; see [tool.Tool]
}

// Client is a connection to an MCP server. One that is lost is a failed result for
// the calls under way; the next call connects anew, and starts the server again
// if we have started it. Its methods may run concurrently.
type Client struct {
	server  Server
	tools   []tool.Tool
	ctx     context.Context
	cancel  context.CancelCauseFunc
	session chan *session // holds the connection; who has taken it out connects anew
}

const (
	defaultConnectTimeout = time.Minute
	defaultStopTimeout    = 2 * time.Second
	maxTools              = 10_000 // tools of one server; beyond it something is wrong
)

var errClosed = errors.New("the connection to the server is closed")

// Connect connects to a server and asks for its tools. The context is about
// connecting only: the connection lasts until Close.
func Connect(ctx context.Context, s Server) (*Client, error) {
	m := &Client{server: s, session: make(chan *session, 1)}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	l, err := dial(ctx, s)
	if err == nil {
		m.session <- l
		err = m.listTools(ctx, l)
	}
	if err != nil {
		m.cancel(err)
		return nil, fmt.Errorf("mcp server %s: %w", cmp.Or(s.Name, s.Command, s.URL), err)
	}
	return m, nil
}

// listTools asks for the tools, page after page.
func (m *Client) listTools(ctx context.Context, l *session) error {
	ctx, cancel := l.server.connectContext(ctx)
	defer cancel()
	taken := map[string]bool{}
	for t, err := range l.client.Tools(ctx, nil) {
		if err == nil && len(m.tools) == maxTools {
			err = fmt.Errorf("more than %d tools", maxTools)
		}
		if err != nil {
			err = l.explain(ctx, err)
			_ = m.Close() // the first error is the one to know
			return err
		}
		m.tools = append(m.tools, m.tool(t, taken))
	}
	return nil
}

// connectContext gives a context for connecting.
func (s Server) connectContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(s.ConnectTimeout, defaultConnectTimeout)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %v", limit))
}

// Tools gives the server's tools as they were when it was connected. They write
// unless the server says that they only read, and its word is all there is.
func (m *Client) Tools() []tool.Tool { return slices.Clone(m.tools) }

// liveSession gives a connection that lasts, as far as is known.
func (m *Client) liveSession(ctx context.Context) (*session, error) {
	var l *session
	select {
	case l = <-m.session:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { m.session <- l }()
	if m.ctx.Err() != nil {
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
	m.cancel(errClosed)
	l := <-m.session
	defer func() { m.session <- l }()
	return l.close()
}
