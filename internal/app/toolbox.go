package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/tool/mcp"
)

// Toolbox opens the tools of agents. An MCP server is connected when it is first needed, and shared by all turns
// until its configuration changes or Close. Its methods may run concurrently.
type Toolbox struct {
	Agent       func(name string) (config.Agent, error) // returns the agent of a name; "": that of conversations which choose none
	Env         func(string) string
	Stderr      func(server string) io.Writer // where the standard error of an MCP server goes
	StopTimeout time.Duration                 // as of mcp.Server
	AtOnce      bool                          // Open does not try again to connect to an MCP server
	Log         *slog.Logger

	mu      sync.Mutex
	servers map[string]*sharedServer // by name
}

type sharedServer struct {
	*mcp.Client
	of       config.MCPServer
	users    int
	failed   time.Time // when a turn last failed to connect; zero: never
	outdated bool      // another configuration has taken its place: the last user closes it
}

// Check returns why an agent cannot work in a directory; "" stands for the agent's whole directory.
func (b *Toolbox) Check(agent, dir string) error {
	a, err := b.Agent(agent)
	if err != nil || a.Files == "" && dir == "" {
		return err
	}
	folder, err := openFiles(a, dir)
	if err != nil {
		return err
	}
	return folder.Close()
}

func openFiles(a config.Agent, dir string) (*tool.Folder, error) {
	switch {
	case a.Files == "" && a.Name == "":
		return nil, errors.New("a directory is chosen, but no agent with files")
	case a.Files == "":
		return nil, fmt.Errorf("agent %s has no files, so that no directory can be chosen", a.Name)
	case dir == "":
		return tool.Files(a.Files)
	case !filepath.IsLocal(filepath.FromSlash(dir)):
		return nil, fmt.Errorf("directory %q: want one below the agent's files, such as src/cmd", dir)
	}
	return tool.FilesBelow(a.Files, dir)
}

// Open returns the tools of an agent in a directory. They last until ctx ends. The tools of an MCP server that does
// not answer are missing, and its error is returned beside the others.
func (b *Toolbox) Open(ctx context.Context, a config.Agent, dir string) (tools []tool.Tool, err error) {
	if a.Files != "" || dir != "" {
		folder, err := openFiles(a, dir)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = folder.Close() }) // nothing is left to lose
		tools = folder.Tools()
	}
	for _, of := range a.MCP {
		s, leave, failed := b.use(of)
		if failed == nil {
			context.AfterFunc(ctx, leave)
			var listed []tool.Tool
			listed, failed = b.list(ctx, s)
			tools = append(tools, listed...)
		}
		err = errors.Join(err, failed)
	}
	return tools, errors.Join(err, checkUniqueNames(tools))
}

// downTime is how long turns do not wait for an MCP server to which an earlier turn could not connect.
const downTime = 5 * time.Minute

// list lists the tools of an MCP server. It tries only once if the caller asks for that, or if an earlier turn has
// just failed to connect: a run of retries inside another tries once.
func (b *Toolbox) list(ctx context.Context, s *sharedServer) (tools []tool.Tool, err error) {
	b.mu.Lock()
	once := b.AtOnce || time.Since(s.failed) < downTime
	b.mu.Unlock()
	if once {
		_, _ = retry.Do(ctx, retry.Retrier{}, func(ctx context.Context, _ int) (struct{}, error) {
			tools, err = s.List(ctx)
			return struct{}{}, err
		})
		return tools, err
	}
	tools, err = s.List(ctx)
	if err != nil && ctx.Err() == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		s.failed = time.Now()
	}
	return tools, err
}

func checkUniqueNames(tools []tool.Tool) error {
	seen := map[string]bool{}
	for _, t := range tools {
		if seen[t.Name] {
			return fmt.Errorf("two tools are named %q; rename one of the servers", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// use returns the connection of an MCP server, and the function that releases it.
func (b *Toolbox) use(of config.MCPServer) (s *sharedServer, leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s = b.servers[of.Name]
	if s == nil || !reflect.DeepEqual(s.of, of) {
		made, err := b.server(of)
		if err != nil {
			return nil, nil, err
		}
		if s != nil {
			s.outdated = true
			b.closeUnused(s)
		}
		if b.servers == nil {
			b.servers = map[string]*sharedServer{}
		}
		s = &sharedServer{Client: mcp.Open(made), of: of}
		b.servers[of.Name] = s
	}
	s.users++
	return s, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		s.users--
		b.closeUnused(s)
	}, nil
}

// closeUnused closes a connection without users that is out of date. b.mu is held.
func (b *Toolbox) closeUnused(s *sharedServer) {
	if s.outdated && s.users == 0 {
		go func() { _ = s.Close() }() // it takes as long as the server takes to end
	}
}

func (b *Toolbox) server(of config.MCPServer) (mcp.Server, error) {
	s := mcp.Server{
		Name: of.Name, Command: of.Command, Args: of.Args, Dir: of.Dir, Stderr: b.Stderr(of.Name),
		URL: of.URL, Timeout: of.Timeout, StopTimeout: b.StopTimeout, Retry: of.Policy,
	}
	variables, err := b.values(of.Env)
	if err != nil {
		return s, fmt.Errorf("mcp server %s: env: %w", of.Name, err)
	}
	headers, err := b.values(of.Headers)
	if err != nil {
		return s, fmt.Errorf("mcp server %s: headers: %w", of.Name, err)
	}
	s.Secrets = func() (env []string, err error) {
		err = variables(func(name, value string) { env = append(env, name+"="+value) })
		return env, err
	}
	s.Header = func() (http.Header, error) {
		h := http.Header{}
		return h, headers(h.Set)
	}
	return s, nil
}

func (b *Toolbox) values(of []config.Value) (func(yield func(name, value string)) error, error) {
	open := make([]func() (string, error), len(of))
	for i, v := range of {
		var err error
		if open[i], err = v.Open(b.Env); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return func(yield func(name, value string)) error {
		for i, v := range of {
			value, err := open[i]()
			if err != nil {
				return fmt.Errorf("%s: %w", v.Name, err)
			}
			yield(v.Name, value)
		}
		return nil
	}, nil
}

// Close closes all connections, and ends the programs that were started.
func (b *Toolbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range b.servers {
		all.Go(func() { _ = s.Close() }) // their errors do not matter any more
	}
	b.servers = nil
	all.Wait()
}
