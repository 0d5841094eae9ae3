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

// Server is where an MCP server is: a program to start, used over its standard input and output, or a URL
// that serves streamable HTTP.
type Server struct {
	// Name prefixes the names of its tools, which become mcp__name__tool as in other clients. They do not
	// depend on what else is connected, so that a stored conversation stays valid. "": the tools keep their
	// own names.
	Name string

	Command string    // the program; "": use URL
	Args    []string  // of the program
	Env     []string  // KEY=value, beside HOME, PATH and the like; no other variable of this process is passed
	Dir     string    // working directory; "": this process's
	Stderr  io.Writer // its standard error; nil: discarded

	URL    string       // if there is no Command
	Header http.Header  // sent with every request to the URL's host, and to no other host
	Client *http.Client // nil: one without a timeout

	ConnectTimeout time.Duration // 0: one minute
	StopTimeout    time.Duration // for a program to end once its input is closed, and once signaled; 0: two seconds
	Timeout        time.Duration // of each tool; see [tool.Tool]
	MaxOutput      int           // of each tool's output; see [tool.Tool]
}

// Client is a connection to an MCP server. A lost connection fails the calls in progress; the next call
// reconnects, and restarts a server that Connect started. Its methods may run concurrently.
type Client struct {
	server  Server
	tools   []tool.Tool
	ctx     context.Context
	cancel  context.CancelCauseFunc
	session chan *session // holds the session; its holder may reconnect
}

const (
	defaultConnectTimeout = time.Minute
	defaultStopTimeout    = 2 * time.Second
	maxTools              = 10_000 // limit of a server's tools
)

var errClosed = errors.New("the connection to the server is closed")

// Connect connects to a server and lists its tools. ctx applies to connecting only: the connection lasts
// until Close.
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

// listTools lists the tools, page after page.
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
			_ = m.Close() // the first error is the one to report
			return err
		}
		m.tools = append(m.tools, m.tool(t, taken))
	}
	return nil
}

// connectContext returns a context for connecting.
func (s Server) connectContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(s.ConnectTimeout, defaultConnectTimeout)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %v", limit))
}

// Tools returns the server's tools as they were when it was connected. A tool is taken to write unless the
// server declares it read-only; that is not verified.
func (m *Client) Tools() []tool.Tool { return slices.Clone(m.tools) }

// liveSession returns a session that is alive as far as is known.
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
		return nil, fmt.Errorf("reconnect: %w", err)
	}
	l = fresh
	return l, nil
}

// Close ends the connection: calls in progress fail, and a started server is ended with all its child
// processes, by force if necessary. It returns an error only if even that fails.
func (m *Client) Close() error {
	m.cancel(errClosed)
	l := <-m.session
	defer func() { m.session <- l }()
	return l.close()
}
