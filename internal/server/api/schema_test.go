package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// object is a JSON object.
type object = map[string]any

// describer makes schemas of Go types; their descriptions are the comments of the types.
type describer struct {
	at       string            // the path of the definitions, as a reference begins
	comments map[string]string // by "pkg.Type" and "pkg.Type.Field"
	defs     object
}

func newDescriber(at string) (*describer, error) {
	d := &describer{at: at, comments: map[string]string{}, defs: object{}}
	for _, dir := range []string{".", "../api", "../../../wire", "../../../turn", "../../../llm", "../../../conversation"} {
		if err := d.readComments(dir); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// readComments reads the comments of a package.
func (d *describer) readComments(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		f, perr := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if perr != nil {
			return perr
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				d.readDeclaration(f.Name.Name, g)
			}
			return true
		})
	}
	return err
}

// readDeclaration reads the comments of a declaration.
func (d *describer) readDeclaration(pkg string, g *ast.GenDecl) {
	for _, s := range g.Specs {
		spec := s.(*ast.TypeSpec)
		name := pkg + "." + spec.Name.Name
		d.comments[name] = strings.Join(strings.Fields(g.Doc.Text()), " ")
		st, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range st.Fields.List {
			for _, id := range f.Names {
				d.comments[name+"."+id.Name] = strings.TrimSpace(f.Comment.Text())
			}
		}
	}
}

// schemaName returns the name of a type's schema.
func schemaName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[api.Summary]():
		return "Heading"
	case reflect.TypeFor[api.Change]():
		return "Amendment"
	case reflect.TypeFor[api.NewText]():
		return "Wording"
	case reflect.TypeFor[api.Rejected]():
		return "Undone"
	}
	return t.Name()
}

// ref returns a reference to the schema of a value's type.
func (d *describer) ref(v any) object { return d.refer(reflect.TypeOf(v)) }

// refer returns a reference to the schema of a type, and creates the schema if it is missing.
func (d *describer) refer(t reflect.Type) object {
	name := schemaName(t)
	if _, there := d.defs[name]; !there {
		d.defs[name] = object{}
		d.defs[name] = d.structure(t)
	}
	return object{"$ref": d.at + name}
}

// structure describes a struct.
func (d *describer) structure(t reflect.Type) object {
	properties, required := d.members(t)
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// members describes the members of a struct and of its embedded structs.
func (d *describer) members(t reflect.Type) (properties object, required []any) {
	properties = object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			more, needed := d.members(inner)
			for k, v := range more {
				properties[k] = v
			}
			required = append(required, needed...)
			continue
		case name == "-":
			continue
		}
		s := d.form(f.Type)
		if comment := d.comments[t.String()+"."+f.Name]; comment != "" {
			s["description"] = comment
		}
		properties[name] = s
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return properties, required
}

// form describes a type.
func (d *describer) form(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[llm.Content]():
		return object{"type": "array", "items": d.block()}
	case reflect.TypeFor[turn.Status]():
		return object{"type": "string", "enum": []any{turn.Done, turn.Failed, turn.Aborted}}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": d.form(t.Elem())}
	case reflect.Pointer:
		return d.form(t.Elem())
	case reflect.Struct:
		return d.refer(t)
	}
	panic("no schema for " + t.String())
}

// block describes a block of an answer.
func (d *describer) block() object {
	var all []any
	for name, v := range map[string]any{"text": llm.Text{}, "reasoning": llm.Reasoning{}, "tool-call": llm.ToolCall{}, "tool-result": llm.ToolResult{}} {
		s := d.structure(reflect.TypeOf(v))
		s["properties"].(object)["type"] = object{"const": name}
		s["required"] = []any{"type"} // empty members are left out
		d.defs["block-"+name] = s
	}
	for _, name := range []string{"text", "reasoning", "tool-call", "tool-result"} {
		all = append(all, object{"$ref": d.at + "block-" + name})
	}
	return object{"oneOf": all}
}

// bodies returns one body of each type of event.
func bodies() []wire.Body {
	all := []wire.Body{
		wire.InputQueued{},
		wire.InputRemoved{},
		wire.CouncilStart{},
		wire.CouncilMember{},
		wire.CouncilQuorum{},
		wire.CouncilEnd{},
		wire.LimitUsed{},
		wire.LimitWaiting{},
		wire.LimitWaited{},
		wire.Reset{},
		wire.Exit{},
		wire.ConversationChanged{},
		wire.ConversationPaused{},
		wire.ConversationResumed{},
		wire.RecordLost{},
		wire.ConnectionLost{},
		wire.ConnectionBack{},
	}
	for _, e := range []turn.Event{
		turn.Start{},
		turn.UserMessage{},
		turn.TextDelta{},
		turn.ReasoningDelta{},
		turn.AssistantMessage{},
		turn.ApprovalRequested{},
		turn.ApprovalAnswered{},
		turn.ToolCall{},
		turn.ToolResult{},
		turn.Usage{},
		turn.Compacted{},
		turn.Restarted{},
		turn.Sealed{},
		turn.Retry{},
		turn.Waiting{},
		turn.Recovered{},
		turn.MCPRetry{},
		turn.MCPRecovered{},
		turn.Switched{},
		turn.Error{},
	} {
		all = append(all, wire.Turn{Event: e})
	}
	return all
}

// events describes an event: it is one of all types.
func (d *describer) events() object {
	var all []any
	for _, b := range bodies() {
		s := d.event(b)
		properties := s["properties"].(object)
		properties["v"] = object{"const": 1, "description": "the version of the vocabulary"}
		properties["seq"] = object{"type": "integer", "description": "in a conversation: the number of the event in the log if it is kept, otherwise that of the last record before it"}
		properties["ts"] = object{"type": "string", "format": "date-time"}
		properties["type"] = object{"const": wire.Type(b)}
		required, _ := s["required"].([]any)
		s["required"] = append([]any{"v", "seq", "ts", "type"}, required...)
		d.defs[wire.Type(b)] = s
		all = append(all, object{"$ref": d.at + wire.Type(b)})
	}
	return object{"oneOf": all}
}

// providerRetry has the members of a turn.Retry.
type providerRetry struct {
	llm.Name
	Upstream   string    `json:"upstream,omitzero"`   // the configured name of the upstream
	Attempt    int       `json:"attempt"`             // the number of the retry, from 0
	DelayMs    int64     `json:"delayMs"`             // the wait before it
	Message    string    `json:"message"`             // what the provider sent, such as "HTTP 429: {…}"; shown, never part of a prompt
	Summary    string    `json:"summary,omitzero"`    // the sentence in it, such as "HTTP 429: Slow down"; left out: the message is it
	Code       string    `json:"code,omitzero"`       // the status, such as "429", or the provider's word where there was none
	Kind       string    `json:"kind"`                // the fault's, such as "rate-limited"
	RequestID  string    `json:"requestId,omitzero"`  // the provider's, for its support
	MaxRetries int       `json:"maxRetries,omitzero"` // left out: there is no limit
	Deadline   time.Time `json:"deadline,omitzero"`   // the latest end of waiting; left out: no budget bounds it
	OpensAt    time.Time `json:"opensAt,omitzero"`    // when the usage window that is spent opens again
	Reason     string    `json:"reason"`              // whose wait it is: "schedule", "hint" of the provider, or "window" until opensAt

	CachedUntil time.Time `json:"cachedUntil,omitzero"` // when the provider forgets the prompt: a try after it costs more input
	CacheTokens int64     `json:"cacheTokens,omitzero"` // that it has of the prompt
}

// providerError has the members of a turn.Error.
type providerError struct {
	llm.Name
	Upstream   string    `json:"upstream,omitzero"`      // the configured name of the upstream
	Message    string    `json:"message"`                // as of provider-retry
	Kind       string    `json:"kind"`                   // as of provider-retry
	Code       string    `json:"code,omitzero"`          // as of provider-retry
	RequestID  string    `json:"requestId,omitzero"`     // the provider's, for its support
	Retries    int       `json:"retries"`                // how often it was tried again
	WaitedMs   int64     `json:"waitedMs"`               // in all
	RetryAfter int64     `json:"retryAfterMs,omitzero"`  // how long the provider asks to wait, which the policy does not allow
	Committed  bool      `json:"committed,omitzero"`     // some of the answer had arrived, so that it was not asked for again
	Images     bool      `json:"imagesRefused,omitzero"` // the model does not take the images of the request
	OpensAt    time.Time `json:"opensAt,omitzero"`       // when the usage window that is spent opens again
}

// mcpRetry has the members of a turn.MCPRetry.
type mcpRetry struct {
	Server     string    `json:"server"`              // the configured name of the MCP server
	Call       string    `json:"id,omitzero"`         // of the call that waits; left out: the turn begins
	Attempt    int       `json:"attempt"`             // the number of the retry, from 0
	DelayMs    int64     `json:"delayMs"`             // the wait before it
	Message    string    `json:"message"`             // why the try has failed
	Summary    string    `json:"summary,omitzero"`    // as of provider-retry
	Code       string    `json:"code,omitzero"`       // as of provider-retry
	Kind       string    `json:"kind"`                // the fault's, such as "unavailable"
	RequestID  string    `json:"requestId,omitzero"`  // as of provider-retry
	MaxRetries int       `json:"maxRetries,omitzero"` // left out: there is no limit
	Deadline   time.Time `json:"deadline,omitzero"`   // the latest end of waiting; left out: no budget bounds it
	Reason     string    `json:"reason"`              // whose wait it is: "schedule" or "hint"
}

// mcpRecovered has the members of a turn.MCPRecovered.
type mcpRecovered struct {
	Server   string `json:"server"`
	Call     string `json:"id,omitzero"` // as of mcp-retry
	Retries  int    `json:"retries"`
	WaitedMs int64  `json:"waitedMs"` // really spent waiting
}

// providerWaiting has the members of a turn.Waiting.
type providerWaiting struct {
	llm.Name
	Upstream    string `json:"upstream,omitzero"`
	Attempt     int    `json:"attempt"`     // of the retry that is waited for, from 0
	RemainingMs int64  `json:"remainingMs"` // until then
}

// members returns the type whose fields are the JSON members of an event.
func members(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[turn.Retry]():
		return reflect.TypeFor[providerRetry]()
	case reflect.TypeFor[turn.Error]():
		return reflect.TypeFor[providerError]()
	case reflect.TypeFor[turn.MCPRetry]():
		return reflect.TypeFor[mcpRetry]()
	case reflect.TypeFor[turn.MCPRecovered]():
		return reflect.TypeFor[mcpRecovered]()
	case reflect.TypeFor[turn.Waiting]():
		return reflect.TypeFor[providerWaiting]()
	}
	return t
}

// event describes the members of an event.
func (d *describer) event(b wire.Body) object {
	t := reflect.TypeOf(b)
	e, ofTurn := b.(wire.Turn)
	if ofTurn {
		t = reflect.TypeOf(e.Event)
	}
	s := d.structure(members(t))
	if ofTurn {
		ids, required := d.members(reflect.TypeFor[wire.Ref]())
		maps.Copy(s["properties"].(object), ids)
		more, _ := s["required"].([]any)
		s["required"] = append(required, more...)
	}
	if comment, ok := strings.CutPrefix(d.comments[t.String()], t.Name()+" "); ok {
		s["description"] = wire.Type(b) + " " + comment
	}
	return s
}
