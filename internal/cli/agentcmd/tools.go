package agentcmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/tool/mcp"
)

// toolFlags are the flags about tools.
type toolFlags struct {
	files string
	mcp   []string
	yes   bool // tools may change things without approval
}

// flags adds them to a command.
func (b *toolFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.files, "files", "", "a directory that the model may list, read and search")
	f.StringArrayVar(&b.mcp, "mcp", nil, "an MCP server with tools for the model, as NAME=COMMAND ARGS or NAME=URL; repeatable")
	f.BoolVar(&b.yes, "yes", false, "let tools change things without approval")
}

// used reports whether any of them was given.
func (b *toolFlags) used() bool { return b.files != "" || len(b.mcp) > 0 || b.yes }

// open returns the tools and a function that closes them. errs gets the standard error of MCP servers.
func (b *toolFlags) open(ctx context.Context, errs io.Writer) (tools []tool.Tool, end func(), err error) {
	var open []interface{ Close() error }
	end = func() {
		for _, o := range open {
			_ = o.Close() // their errors do not matter any more
		}
	}
	if b.files != "" {
		folder, err := tool.Files(b.files)
		if err != nil {
			return nil, end, command.Failed(err)
		}
		open, tools = append(open, folder), folder.Tools()
	}
	for _, text := range b.mcp {
		s, err := mcpServer(text)
		if err != nil {
			return nil, end, err
		}
		s.Stderr = command.Text(errs)
		m, err := mcp.Connect(ctx, s)
		if err != nil {
			return nil, end, command.Failed(err)
		}
		open, tools = append(open, m), append(tools, m.Tools()...)
	}
	return tools, end, checkUniqueNames(tools)
}

// checkUniqueNames refuses two tools of one name.
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

// mcpStopTime is how long an MCP server that we started may take to end. It is
// short because the user may have pressed Ctrl+C.
const mcpStopTime = 30 * time.Millisecond

// mcpServer reads an MCP server from a flag. Arguments are separated by spaces and cannot be quoted.
func mcpServer(text string) (mcp.Server, error) {
	name, what, ok := strings.Cut(text, "=")
	words := strings.Fields(what)
	if !ok || name == "" || len(words) == 0 {
		return mcp.Server{}, fmt.Errorf("--mcp %q: want NAME=COMMAND ARGS or NAME=URL", text)
	}
	if strings.HasPrefix(what, "http://") || strings.HasPrefix(what, "https://") {
		return mcp.Server{Name: name, URL: what}, nil
	}
	return mcp.Server{Name: name, Command: words[0], Args: words[1:], StopTimeout: mcpStopTime}, nil
}
