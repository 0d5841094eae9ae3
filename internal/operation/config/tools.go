package config

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// Agent is what the conversations of an agent may use beside models.
type Agent struct {
	Name             string        // of the file; "": none of it
	Files            string        // the directory whose files its tools read; "": it has no file tools
	MCP              []MCPServer   // with tools
	Allow, Ask, Deny []string      // patterns of the names of tools, as of tool.Rules
	ApprovalTime     time.Duration // how long a call waits for the user's answer; 0: not set
}

// DefaultApprovalTime is the ApprovalTime of the agents of a server that set none.
const DefaultApprovalTime = 24 * time.Hour

// MCPServer is an MCP server as it is configured. Two that are deeply equal are the same.
type MCPServer struct {
	Name    string
	Command string // the program; "": the server is at URL
	Args    []string
	Dir     string // the program's working directory; "": this process's
	Env     []Value
	URL     string
	Headers []Value
	Policy  policy.Policy // of connecting again
	Timeout time.Duration // of a call; 0: the default
}

// Value is a named value of an MCP server: a variable or a header.
type Value struct {
	Name string
	text string
	from secret // zero: text is the value
}

// Open returns a function that returns the present value.
func (v Value) Open(env func(string) string) (func() (string, error), error) {
	if v.from == (secret{}) {
		return func() (string, error) { return v.text, nil }, nil
	}
	return v.from.open(func(p string) string { return p }, env)
}

// agentFields is an agent of the file.
type agentFields struct {
	files            string
	mcp              []string
	allow, ask, deny []string
	approvalTime     time.Duration
}

// agents is the codec of an agent.
func agents() codec[agentFields] {
	tools := func(words string) codec[[]string] { return seq[*[]string](words, toolPattern()) }
	return object(
		&schema{name: "agent", about: "What the conversations of an agent may use beside models. A conversation chooses its agent.", expected: "the fields of an agent"}, nil,
		newField("files", anyName("a path"), func(a *agentFields) *string { return &a.files }, fieldDoc{"A directory that the model may list, read and search, relative to the configuration file. A conversation may choose a directory below it.", "", "no file tools"}),
		newField("mcp", seq[*[]string]("a list of MCP servers", anyName("the name of an MCP server")), func(a *agentFields) *[]string { return &a.mcp }, fieldDoc{"The MCP servers of the section mcp whose tools the model may call.", "", "none"}),
		newField("allow", tools("a list of tools"), func(a *agentFields) *[]string { return &a.allow }, fieldDoc{"The tools that run without approval, such as `mcp__github__get_*`.", "", "those that only read"}),
		newField("ask", tools("a list of tools"), func(a *agentFields) *[]string { return &a.ask }, fieldDoc{"The tools whose calls need the user's approval. It comes before allow.", "", "those that may write and that allow does not name"}),
		newField("deny", tools("a list of tools"), func(a *agentFields) *[]string { return &a.deny }, fieldDoc{"The tools that never run, and that no model is offered. It comes before ask and allow.", "", "none"}),
		newField("approval-time", duration(), func(a *agentFields) *time.Duration { return &a.approvalTime }, fieldDoc{"How long a call waits for approval. Then it is refused, and the model is told. In run and chat it waits as long as you do, unless this is set.", "1d", ""}),
	)
}

// toolPattern is the codec of a pattern for names of tools.
func toolPattern() codec[string] {
	return checkedText("a tool's name or a pattern such as mcp__github__get_*", "", func(s string) bool {
		_, err := path.Match(s, "")
		return err == nil && s != ""
	})
}

// mcpFields is an MCP server of the file.
type mcpFields struct {
	command string
	args    []string
	dir     string
	env     names[Value]
	url     string
	headers names[Value]
	policy  choice
	timeout time.Duration
}

// mcpServers is the codec of an MCP server.
func mcpServers(policy codec[choice]) codec[mcpFields] {
	return object(
		&schema{name: "mcp-server", about: "An MCP server: a program that is started, or a URL.", expected: "the fields of an MCP server"}, checkPlace,
		newField("command", anyName("a program"), func(m *mcpFields) *string { return &m.command }, fieldDoc{"The program to start, used over its standard input and output.", "", "see url"}),
		newField("args", seq[*[]string]("a list of arguments", plainValue()), func(m *mcpFields) *[]string { return &m.args }, fieldDoc{"Its arguments.", "", "none"}),
		newField("dir", anyName("a path"), func(m *mcpFields) *string { return &m.dir }, fieldDoc{"Its working directory, relative to the configuration file.", "", "that of this process"}),
		newField("env", byName[*names[Value]]("variables by name", variable(), mcpValues()), func(m *mcpFields) *names[Value] { return &m.env }, fieldDoc{"Variables of its environment, beside PATH, HOME and the like: a text, or the secret in {env: NAME} or {file: PATH}. No other variable of this process is passed.", "", "none"}),
		newField("url", checkedText("a URL such as https://mcp.example/mcp", `^https?://`, func(s string) bool { _, err := parseBase(s); return err == nil }), func(m *mcpFields) *string { return &m.url }, fieldDoc{"The URL of a server that speaks streamable HTTP.", "", "see command"}),
		newField("headers", byName[*names[Value]]("headers by name", headerName(), mcpValues()), func(m *mcpFields) *names[Value] { return &m.headers }, fieldDoc{"Headers of the requests to the URL's host: a text, or the secret in {env: NAME} or {file: PATH}, which is read again when it changes.", "", "none"}),
		newField("policy", policy, func(m *mcpFields) *choice { return &m.policy }, fieldDoc{"The policy of connecting again after the server crashed or was not reached. All waits of a call together stay within three quarters of timeout.", "interactive", ""}),
		newField("timeout", duration(), func(m *mcpFields) *time.Duration { return &m.timeout }, fieldDoc{"The limit of a call, with waits.", "2m", ""}),
	)
}

// checkPlace checks that an MCP server is a program or at a URL.
func checkPlace(r *reader, n *node, _ *mcpFields) {
	switch program, remote := n.field("command") != nil, n.field("url") != nil; {
	case program == remote:
		r.fail(n, "an MCP server needs either command or url")
	case program && n.field("headers") != nil:
		r.fail(n.field("headers"), "headers are for a server with a url; a program has env")
	case remote && (n.field("args") != nil || n.field("env") != nil || n.field("dir") != nil):
		r.fail(n, "args, env and dir are for a server with a command")
	}
}

// shortName is the codec of the name of an agent or an MCP server, which names of tools contain.
func shortName() codec[string] {
	return checkedText("a name of at most 32 letters, digits, - and _ that begins with a letter", `^[A-Za-z][A-Za-z0-9_-]{0,31}$`, func(s string) bool {
		return s != "" && len(s) <= 32 && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z' &&
			strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	})
}

// headerName is the codec of the name of a header.
func headerName() codec[string] {
	return checkedText("the name of a header, such as Authorization", `^[A-Za-z0-9-]+$`, func(s string) bool {
		return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
	})
}

// plainValue is the codec of a text that may look like a number or a boolean, and not like a secret.
func plainValue() codec[string] {
	s := &schema{expected: "a text", Type: []string{"string", "number", "boolean"}}
	return codec[string]{
		schema: s,
		read: func(r *reader, n *node, to *string) bool {
			switch {
			case n.kind != text && n.kind != number && n.kind != boolean:
				r.mismatch(n, s, "")
			case fault.Scrub(n.text) != n.text:
				r.fail(n, "this looks like a secret, which must not be in the configuration file; env and headers take {env: NAME} or {file: PATH}")
				r.hide(n)
			default:
				*to = n.text
				return true
			}
			return false
		},
		show: func(v *string) *node { return &node{kind: text, text: *v} },
	}
}

// mcpValues is the codec of a value: a text, or where a secret is.
func mcpValues() codec[Value] {
	of, plain := secrets(), plainValue()
	return codec[Value]{
		schema: &schema{expected: "a text, or " + of.schema.expected, AnyOf: []*schema{plain.schema, of.schema}},
		read: func(r *reader, n *node, to *Value) bool {
			if n.kind == mapping {
				return of.read(r, n, &to.from)
			}
			return plain.read(r, n, &to.text)
		},
		show: func(v *Value) *node {
			if v.from != (secret{}) {
				return of.show(&v.from)
			}
			return plain.show(&v.text)
		},
	}
}

// checkAgents reports agents that name an MCP server which is not there.
func (c *Config) checkAgents(say func(path, format string, args ...any)) {
	var known []string
	for _, m := range c.mcp {
		known = append(known, m.name)
	}
	for _, a := range c.agents {
		for i, name := range a.value.mcp {
			if !slices.Contains(known, name) {
				say(fmt.Sprintf("agents.%s.mcp.%d", a.name, i), "unknown MCP server %q; %s", name, suggestServer(name, known))
			}
		}
	}
}

// checkTools reports directories that are not there, and secrets of MCP servers that cannot be read.
func (m *mapper) checkTools() {
	for _, a := range m.config.agents {
		if a.value.files != "" {
			m.folder("agents."+a.name+".files", a.value.files)
		}
	}
	for _, s := range m.config.mcp {
		if s.value.dir != "" {
			m.folder("mcp."+s.name+".dir", s.value.dir)
		}
		for section, values := range map[string]names[Value]{"env": s.value.env, "headers": s.value.headers} {
			for _, v := range m.config.values(values, m.env) {
				if _, err := v.Open(m.env); err != nil {
					m.report("mcp."+s.name+"."+section+"."+v.Name, "%s of %s: %v", v.Name, s.name, err)
				}
			}
		}
	}
}

// suggestServer is suggest where there may be no server at all.
func suggestServer(name string, known []string) string {
	if len(known) == 0 {
		return "there is no section mcp"
	}
	return suggest(name, known)
}

// Agents returns the names of the agents.
func (c *Config) Agents() (names []string) {
	for _, a := range c.agents {
		names = append(names, a.name)
	}
	return names
}

// Agent returns the agent of a name; "": one without tools.
func (c *Config) Agent(name string, env func(string) string) (Agent, error) {
	i := slices.IndexFunc(c.agents, func(a named[agentFields]) bool { return a.name == name })
	switch {
	case name == "":
		return Agent{}, nil
	case i < 0 && len(c.agents) == 0:
		return Agent{}, fmt.Errorf("unknown agent %q; the configuration has no agents", name)
	case i < 0:
		return Agent{}, fmt.Errorf("unknown agent %q; %s", name, suggest(name, c.Agents()))
	}
	a := c.agents[i].value
	made := Agent{Name: name, Allow: a.allow, Ask: a.ask, Deny: a.deny, ApprovalTime: a.approvalTime}
	if a.files != "" {
		made.Files = c.path(env)(a.files)
	}
	for _, m := range c.mcp {
		if slices.Contains(a.mcp, m.name) {
			made.MCP = append(made.MCP, c.mcpServer(m.name, m.value, env))
		}
	}
	return made, nil
}

// mcpServer returns an MCP server of the file.
func (c *Config) mcpServer(name string, m mcpFields, env func(string) string) MCPServer {
	made := MCPServer{
		Name: name, Command: m.command, Args: m.args, URL: m.url, Timeout: m.timeout, Policy: MCPPolicy(),
		Env: c.values(m.env, env), Headers: c.values(m.headers, env),
	}
	if m.dir != "" {
		made.Dir = c.path(env)(m.dir)
	}
	if strings.HasPrefix(m.command, "~/") || strings.HasPrefix(m.command, "."+string(os.PathSeparator)) {
		made.Command = c.path(env)(m.command)
	}
	if m.policy != (choice{}) {
		made.Policy = c.resolve(m.policy)
	}
	return made
}

// MCPPolicy is the policy of connecting to an MCP server again that has none of its own.
func MCPPolicy() policy.Policy { return policy.Interactive() }

// values returns values with the absolute paths of their secrets.
func (c *Config) values(all names[Value], env func(string) string) (made []Value) {
	for _, v := range all {
		one := v.value
		if one.Name = v.name; one.from.file != "" {
			one.from.file = c.path(env)(one.from.file)
		}
		made = append(made, one)
	}
	return made
}
