package agentcmd

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

type toolFlags struct {
	agent, dir string
	files      string
	mcp        []string
	yes        bool // tools may change things without approval
}

func (b *toolFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.agent, "agent", "", "an agent of the configuration, whose tools the model may call")
	f.StringVar(&b.dir, "dir", "", "the directory for the file tools, below that of the agent")
	f.StringVar(&b.files, "files", "", "a directory that the model may list, read and search")
	f.StringArrayVar(&b.mcp, "mcp", nil, "an MCP server with tools for the model, as NAME=COMMAND ARGS or NAME=URL; repeatable")
	f.BoolVar(&b.yes, "yes", false, "let tools change things without approval")
}

func (b *toolFlags) addTo(l *commandLine) {
	l.add("--agent", b.agent)
	l.add("--dir", b.dir)
	l.add("--files", b.files)
	l.add("--mcp", b.mcp...)
}

// local reports whether a flag was given that has no effect at a server.
func (b *toolFlags) local() bool { return b.files != "" || len(b.mcp) > 0 || b.yes }

// mcpStopTime is how long an MCP server that we started may take to end. It is
// short because the user may have pressed Ctrl+C.
const mcpStopTime = 30 * time.Millisecond

func (b *toolFlags) toolbox(c *config.Config, s command.Streams, errs io.Writer, log *slog.Logger) (*app.Toolbox, error) {
	servers, err := b.servers()
	if err != nil {
		return nil, err
	}
	return &app.Toolbox{
		Env: s.Env, StopTimeout: mcpStopTime, AtOnce: true, Log: log,
		Stderr: func(string) io.Writer { return command.Text(errs) },
		Agent: func(name string) (config.Agent, error) {
			a, err := c.Agent(name, s.Env)
			if err != nil {
				return a, err
			}
			a.MCP = append(a.MCP, servers...)
			if b.files != "" {
				a.Files = b.files
			}
			if b.yes {
				a.Allow, a.Ask = []string{"*"}, nil
			}
			return a, nil
		},
	}, nil
}

// servers parses the MCP servers. Arguments are separated by spaces and cannot be quoted.
func (b *toolFlags) servers() (all []config.MCPServer, err error) {
	seen := map[string]bool{}
	for _, text := range b.mcp {
		name, what, ok := strings.Cut(text, "=")
		words := strings.Fields(what)
		switch {
		case !ok || name == "" || len(words) == 0:
			return nil, fmt.Errorf("--mcp %q: want NAME=COMMAND ARGS or NAME=URL", text)
		case seen[name]:
			return nil, fmt.Errorf("--mcp %q: two servers are named %q", text, name)
		}
		seen[name] = true
		s := config.MCPServer{Name: name, Policy: config.MCPPolicy()}
		if strings.HasPrefix(what, "http://") || strings.HasPrefix(what, "https://") {
			s.URL = what
		} else {
			s.Command, s.Args = words[0], words[1:]
		}
		all = append(all, s)
	}
	return all, nil
}
