// Package mcp connects to MCP servers and makes their tools callable by a model, as values of package tool.
//
// It is the only package that imports the MCP SDK, since servers are tested against that: a program without MCP
// servers does not link it.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/tool"
)

// Server is where an MCP server is: a program to start, used over its standard input and output, or a URL
// that serves streamable HTTP.
type Server struct {
	// Name prefixes the names of its tools, which become mcp__name__tool as in other clients. They do not
	// depend on what else is connected, so that a stored conversation stays valid. "": the tools keep their
	// own names.
	Name string

	Command string                   // the program; "": use URL
	Args    []string                 // of the program
	Env     []string                 // KEY=value, beside HOME, PATH and the like; no other variable of this process is passed
	Secrets func() ([]string, error) // more of Env, asked for at each start; nil: none
	Dir     string                   // working directory; "": this process's
	Stderr  io.Writer                // its standard error; nil: discarded

	URL    string                      // if there is no Command
	Header func() (http.Header, error) // is asked for each request to the URL's host, and for no other host; nil: none
	Client *http.Client                // nil: one without a timeout

	ConnectTimeout time.Duration // 0: one minute
	StopTimeout    time.Duration // for a program to end once its input is closed, and once signaled; 0: two seconds
	Timeout        time.Duration // of each tool; see [tool.Tool]

	// Retry says how often and after which waits a server is tried again that was not reached, has ended or has
	// failed, as [turn.MCPRetry] tells. All waits of a call stay within three quarters of Timeout. A call that may
	// have been carried out is sent again only if its tool is repeatable. Zero: never.
	Retry policy.Policy
}

// Client is a connection to an MCP server. Where it is lost, it reconnects as Server.Retry says, and restarts a
// server that was started. Its methods may run concurrently.
type Client struct {
	server  Server
	ctx     context.Context
	cancel  context.CancelCauseFunc
	session chan *session // holds the session; its holder may reconnect, and use listed
	listed  *session      // whose tools were listed last; nil: none were

	mu    sync.Mutex // guards tools
	tools []tool.Tool
}

const (
	defaultConnectTimeout = time.Minute
	defaultStopTimeout    = 2 * time.Second
	maxTools              = 10_000 // limit of a server's tools
)

var errClosed = errors.New("the connection to the server is closed")

// Open returns a client that connects when it is first used. It lasts until Close.
func Open(s Server) *Client {
	m := &Client{server: s, session: make(chan *session, 1)}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	m.session <- nil
	return m
}

// Connect connects to a server and lists its tools. ctx applies to connecting only: the connection lasts
// until Close.
func Connect(ctx context.Context, s Server) (*Client, error) {
	m := Open(s)
	if _, err := m.List(ctx); err != nil {
		_ = m.Close() // the first error is the one to report
		return nil, err
	}
	return m, nil
}

// List returns the server's tools, and connects to it if necessary. Where that fails they are those of the
// connection before; without one it is an error. A tool is taken to write unless the server declares it
// read-only; that is not verified.
func (m *Client) List(ctx context.Context) ([]tool.Tool, error) {
	tools, err := withRetries(ctx, m, func(ctx context.Context) ([]tool.Tool, error) {
		err := m.withSession(ctx, func(l *session, err error) error {
			if err == nil && l != m.listed {
				err = m.listTools(ctx, l)
			}
			if m.listed != nil {
				return nil // what the server listed last is better than nothing
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return m.Tools(), nil
	})
	if err != nil {
		return nil, m.named(err)
	}
	return tools, nil
}

// Tools returns the server's tools as they were listed last.
func (m *Client) Tools() []tool.Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.tools)
}

// named returns an error with the name of the server.
func (m *Client) named(err error) error {
	return fmt.Errorf("mcp server %s: %w", cmp.Or(m.server.Name, m.server.Command, m.server.URL), err)
}

// listTools lists the tools of a session, page after page.
func (m *Client) listTools(ctx context.Context, l *session) error {
	ctx, cancel := l.server.connectContext(ctx)
	defer cancel()
	var tools []tool.Tool
	taken := map[string]bool{}
	for t, err := range l.client.Tools(ctx, nil) {
		if err == nil && len(tools) == maxTools {
			err = fmt.Errorf("more than %d tools", maxTools)
		}
		if err != nil {
			return l.explain(ctx, err)
		}
		tools = append(tools, m.tool(t, taken))
	}
	m.listed = l
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools = tools
	return nil
}

// connectContext returns a context for connecting.
func (s Server) connectContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(s.ConnectTimeout, defaultConnectTimeout)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %v", limit))
}

// liveSession returns a session that is alive as far as is known.
func (m *Client) liveSession(ctx context.Context) (alive *session, err error) {
	err = m.withSession(ctx, func(l *session, err error) error {
		alive = l
		return err
	})
	return alive, err
}

// withSession calls use, one call at a time, with a session that is alive as far as is known, or with the
// error of connecting.
func (m *Client) withSession(ctx context.Context, use func(*session, error) error) error {
	select {
	case l := <-m.session:
		defer func() { m.session <- l }()
		err := m.reconnect(ctx, &l)
		return use(l, err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reconnect replaces a session that is dead or was never there.
func (m *Client) reconnect(ctx context.Context, l **session) error {
	switch {
	case m.ctx.Err() != nil:
		return errClosed
	case *l != nil && (*l).alive():
		return nil
	case *l != nil:
		_ = (*l).close() // it is dead already
	}
	fresh, err := dial(ctx, m.server)
	switch {
	case err != nil && *l != nil:
		return fmt.Errorf("reconnect: %w", err)
	case err != nil:
		return err
	}
	*l = fresh
	return nil
}

// Close ends the connection: calls in progress fail, and a started server is ended with all its child
// processes, by force if necessary. It returns an error only if even that fails.
func (m *Client) Close() error {
	m.cancel(errClosed)
	l := <-m.session
	defer func() { m.session <- l }()
	if l == nil {
		return nil
	}
	return l.close()
}
