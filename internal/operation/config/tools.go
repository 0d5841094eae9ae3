package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// Agent is what the conversations of an agent may use besides models. Allow, Ask and Deny are patterns of
// tool.Rules.
type Agent struct {
	_ struct{} `name:"agent" about:"What the conversations of an agent may use beside models. A conversation chooses its agent." want:"the fields of an agent"`

	Name string `yaml:",name"` // "": none of the file

	Files        string        `yaml:"files" want:"a path" doc:"A directory that the model may list, read and search, relative to the configuration file. A conversation may choose a directory below it." without:"no file tools"`
	servers      []string      `yaml:"mcp" list:"a list of MCP servers" want:"the name of an MCP server" doc:"The MCP servers of the section mcp whose tools the model may call." without:"none"`
	MCP          []MCPServer   // with tools
	Allow        []string      `yaml:"allow" list:"a list of tools" as:"pattern" want:"a tool's name or a pattern such as mcp__github__get_*" doc:"The tools that run without approval, such as ‘mcp__github__get_*’." without:"those that only read"`
	Ask          []string      `yaml:"ask" list:"a list of tools" as:"pattern" want:"a tool's name or a pattern such as mcp__github__get_*" doc:"The tools whose calls need the user's approval. It takes precedence over allow." without:"those that may write and that allow does not name"`
	Deny         []string      `yaml:"deny" list:"a list of tools" as:"pattern" want:"a tool's name or a pattern such as mcp__github__get_*" doc:"The tools that never run and are not offered to any model. It takes precedence over ask and allow." without:"none"`
	ApprovalTime time.Duration `yaml:"approval-time" doc:"How long a call waits for approval. Then it is refused, and the model learns that. In run and chat it waits as long as you do, unless this is set." default:"1d"`
}

// DefaultApprovalTime is the ApprovalTime of a server's agents that set none.
const DefaultApprovalTime = 24 * time.Hour

// MCPServer is an MCP server: a program that is started, or one at a URL. Two that are deeply equal are the same.
type MCPServer struct {
	_ struct{} `name:"mcp-server" about:"An MCP server: a program to start, or a URL." want:"the fields of an MCP server"`

	Name    string        `yaml:",name"`
	Command string        `yaml:"command" want:"a program" doc:"The program to start, used over its standard input and output." without:"see url"`
	Args    []string      `yaml:"args" list:"a list of arguments" as:"value" doc:"Its arguments." without:"none"`
	Dir     string        `yaml:"dir" want:"a path" doc:"Its working directory, relative to the configuration file." without:"that of this process"`
	Env     []Value       `yaml:"env" list:"variables by name" keys:"variable" doc:"Variables of its environment, beside PATH, HOME and the like: a text, or the secret in {env: NAME} or {file: PATH}. No other variable of this process is passed." without:"none"`
	URL     string        `yaml:"url" as:"mcp-url" doc:"The URL of a server that speaks streamable HTTP." without:"see command"`
	Headers []Value       `yaml:"headers" list:"headers by name" keys:"header-name" doc:"Headers of the requests to the URL's host: a text, or the secret in {env: NAME} or {file: PATH}, which is read again when it changes." without:"none"`
	chosen  choice        `yaml:"policy" doc:"The policy of reconnecting after the server crashed or was unreachable. All waits of a call together stay within three quarters of timeout." default:"interactive"`
	Policy  policy.Policy // of connecting again
	Timeout time.Duration `yaml:"timeout" doc:"The limit of a call, with waits." default:"2m"`
}

// Value is a named value of an MCP server: a variable or a header.
type Value struct {
	_ struct{} `want:"a text, or {env: NAME} or {file: PATH}"`

	Name string `yaml:",name"`
	text string `yaml:",text" as:"value"`
	from secret `yaml:",inline"` // zero: text is the value
}

// Open returns a function that returns the current value.
func (v Value) Open(env func(string) string) (func() (string, error), error) {
	if v.from == (secret{}) {
		return func() (string, error) { return v.text, nil }, nil
	}
	return v.from.open(func(p string) string { return p }, env)
}

func (*MCPServer) check(r *reader, n *node) {
	switch program, remote := n.field("command") != nil, n.field("url") != nil; {
	case program == remote:
		r.fail(n, "an MCP server needs either command or url")
	case program && n.field("headers") != nil:
		r.fail(n.field("headers"), "headers are for a server with a url; a program has env")
	case remote && (n.field("args") != nil || n.field("env") != nil || n.field("dir") != nil):
		r.fail(n, "args, env and dir are for a server with a command")
	}
}

func (c *Config) checkAgents(say func(path, format string, args ...any)) {
	var known []string
	for _, m := range c.mcp {
		known = append(known, m.Name)
	}
	for _, a := range c.agents {
		for i, name := range a.servers {
			if !slices.Contains(known, name) {
				hint := "there is no section mcp"
				if len(known) > 0 {
					hint = suggest(name, known)
				}
				say(fmt.Sprintf("agents.%s.mcp.%d", a.Name, i), "unknown MCP server %q; %s", name, hint)
			}
		}
	}
}

// checkTools reports missing directories, and unreadable secrets of MCP servers.
func (m *mapper) checkTools() {
	for _, a := range m.config.agents {
		if a.Files != "" {
			m.folder("agents."+a.Name+".files", a.Files)
		}
	}
	for _, s := range m.config.mcp {
		if s.Dir != "" {
			m.folder("mcp."+s.Name+".dir", s.Dir)
		}
		for section, values := range map[string][]Value{"env": s.Env, "headers": s.Headers} {
			for _, v := range m.config.values(values, m.env) {
				if _, err := v.Open(m.env); err != nil {
					m.report("mcp."+s.Name+"."+section+"."+v.Name, "%s of %s: %v", v.Name, s.Name, err)
				}
			}
		}
	}
}

// Agents returns the names of the agents.
func (c *Config) Agents() (names []string) {
	for _, a := range c.agents {
		names = append(names, a.Name)
	}
	return names
}

// Agent returns the agent of a name; "" is an agent without tools.
func (c *Config) Agent(name string, env func(string) string) (Agent, error) {
	i := slices.IndexFunc(c.agents, func(a Agent) bool { return a.Name == name })
	switch {
	case name == "":
		return Agent{}, nil
	case i < 0 && len(c.agents) == 0:
		return Agent{}, fmt.Errorf("unknown agent %q; the configuration has no agents", name)
	case i < 0:
		return Agent{}, fmt.Errorf("unknown agent %q; %s", name, suggest(name, c.Agents()))
	}
	a := c.agents[i]
	for _, m := range c.mcp {
		if slices.Contains(a.servers, m.Name) {
			a.MCP = append(a.MCP, c.mcpServer(m, env))
		}
	}
	if a.servers = nil; a.Files != "" {
		a.Files = c.path(env)(a.Files)
	}
	return a, nil
}

func (c *Config) mcpServer(m MCPServer, env func(string) string) MCPServer {
	m.Policy = MCPPolicy()
	if m.chosen != (choice{}) {
		m.Policy = c.resolve(m.chosen)
	}
	m.chosen, m.Env, m.Headers = choice{}, c.values(m.Env, env), c.values(m.Headers, env)
	if m.Dir != "" {
		m.Dir = c.path(env)(m.Dir)
	}
	if strings.HasPrefix(m.Command, "~/") || strings.HasPrefix(m.Command, "."+string(os.PathSeparator)) {
		m.Command = c.path(env)(m.Command)
	}
	return m
}

// MCPPolicy is the policy of connections to an MCP server without its own policy.
func MCPPolicy() policy.Policy { return policy.Interactive() }

func (c *Config) values(all []Value, env func(string) string) (made []Value) {
	for _, v := range all {
		if v.from.file != "" {
			v.from.file = c.path(env)(v.from.file)
		}
		made = append(made, v)
	}
	return made
}
