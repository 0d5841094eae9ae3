package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/wire"
)

// details describe an operation beyond its method, path and summary.
type details struct {
	in      any      // the body; nil: none
	out     any      // the answer; nil: none
	status  int      // of the answer
	stream  bool     // the answer may be a stream of events
	file    bool     // the answer is a file of bytes
	records bool     // the body, or the answer, is a file of records
	query   []string // parameters: "limit: how many"
	header  []string // parameters as well
	codes   string   // of problems
}

// detailsByName returns the details of all operations.
func detailsByName() map[string]details {
	const here = "invalid-input not-found gone damaged internal busy store-unavailable"
	const write = here + " too-large unsupported-media-type forbidden store-full"
	const after = "after: the seq of the last event that the reader has; 0: the beginning"
	return map[string]details{
		"listConversations": {out: api.Page{}, status: 200, codes: "invalid-input damaged internal busy store-unavailable", query: []string{
			"before: the id after which the list continues", "limit: how many; left out: 50; at most 500",
		}},
		"copyStore":          {file: true, status: 200, codes: "invalid-input internal busy store-unavailable store-full"},
		"createConversation": {in: api.NewConversation{}, out: api.Conversation{}, status: 201, codes: "exists " + write},
		"getConversation":    {out: api.Conversation{}, status: 200, codes: here},
		"changeConversation": {in: api.Change{}, out: api.Conversation{}, status: 200, codes: write},
		"deleteConversation": {status: 204, codes: here + " forbidden store-full"},
		"say": {
			in: api.NewTurn{}, out: api.Done{}, status: 202, stream: true, codes: "queue-full " + write,
			header: []string{"Idempotency-Key: the id of the turn, instead of the id in the body"},
		},
		"followConversation": {
			status: 200, stream: true, codes: "wrong-sequence " + here, query: []string{after, "until: sealed ends the stream when no turn is in progress and no input waits"},
			header: []string{"Last-Event-ID: instead of after; it takes precedence"},
		},
		"openSocket":          {status: 101, codes: "wrong-sequence upgrade-required forbidden " + here, query: []string{after}},
		"compactConversation": {in: api.Compact{}, out: api.Done{}, status: 202, codes: "queue-full " + write},
		"askAgain":            {in: api.Again{}, out: api.Done{}, status: 202, codes: "answered " + write},
		"convene": {
			in: api.NewCouncil{}, out: api.Council{}, status: 200, stream: true,
			codes: "invalid-input forbidden too-large unsupported-media-type busy",
		},
		"stopTurn":           {in: api.Stop{}, out: api.Done{}, status: 202, codes: "not-running already-stopped " + write},
		"tryNow":             {out: api.Done{}, status: 202, codes: "not-running paused " + write},
		"pauseConversation":  {out: api.Done{}, status: 202, codes: write},
		"resumeConversation": {out: api.Done{}, status: 202, codes: write},
		"moveTurn":           {in: api.Move{}, out: api.Done{}, status: 202, codes: "not-running not-waiting " + write},
		"listQueue":          {out: api.Queue{}, status: 200, codes: here},
		"editInput":          {in: api.NewText{}, out: api.Input{}, status: 200, codes: "not-queued " + write},
		"exportConversation": {status: 200, records: true, codes: here},
		"importConversation": {out: api.Restored{}, status: 200, records: true, codes: "exists " + write},
		"removeInput":        {status: 204, codes: "not-queued forbidden store-full " + here},
		"steerTurn":          {out: api.Done{}, status: 202, codes: "not-queued " + write},
		"listApprovals":      {out: api.Approvals{}, status: 200, codes: "damaged internal busy store-unavailable"},
		"listApprovalsOf":    {out: api.Approvals{}, status: 200, codes: here},
		"answerApproval":     {in: api.NewAnswer{}, out: api.Done{}, status: 202, codes: "not-asked already-stopped " + write},
	}
}

// operations returns all operations on conversations and councils.
func operations() []rest.Operation {
	return append(new(conversations.API).Operations(rest.Server{}), new(conversations.Councils).Operations(rest.Server{})...)
}

// generateOpenAPI describes all operations.
func generateOpenAPI() ([]byte, error) {
	d, err := newDescriber("#/components/schemas/")
	if err != nil {
		return nil, err
	}
	event := d.events()
	for _, v := range []any{api.Problem{}, api.Command{}, api.Rejected{}} {
		d.ref(v)
	}
	d.defs["Event"] = event
	paths := object{}
	for _, o := range operations() {
		item, ok := paths[o.Path].(object)
		if !ok {
			item = object{}
			paths[o.Path] = item
		}
		item[strings.ToLower(o.Method)] = d.operation(o, detailsByName()[o.Name])
	}
	return indented(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "ridethrough: conversations and councils", "version": "1",
			"description": "Conversations with language models that survive restarts and outages, and councils of several models. docs/conversations.md and docs/council.md are the manual.",
			"license":     object{"name": "MIT", "identifier": "MIT"},
		},
		"servers":  []any{object{"url": "http://127.0.0.1:8484"}},
		"security": []any{object{}, object{"token": []any{}}, object{"bearer": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas": d.defs,
			"securitySchemes": object{
				"token":  object{"type": "apiKey", "in": "header", "name": "X-Ridethrough-Token"},
				"bearer": object{"type": "http", "scheme": "bearer"},
			},
		},
	})
}

// generateEvents describes all events.
func generateEvents() ([]byte, error) {
	d, err := newDescriber("#/$defs/")
	if err != nil {
		return nil, err
	}
	schema := d.events()
	maps.Copy(schema, object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Events of ridethrough",
		"$defs":   d.defs,
		"description": "One event, as a line of NDJSON, as the data of a server-sent event or as a message of a WebSocket. There will be more types " +
			"and more members: a reader must ignore those that it does not know.",
	})
	return indented(schema)
}

// indented returns JSON on many lines.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// operation describes an operation.
func (d *describer) operation(o rest.Operation, more details) object {
	op := object{"operationId": o.Name, "summary": o.Summary, "responses": d.responses(more)}
	var params []any
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(o.Path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for in, all := range map[string][]string{"query": more.query, "header": more.header} {
		for _, p := range all {
			name, about, _ := strings.Cut(p, ": ")
			params = append(params, object{"name": name, "in": in, "description": about, "schema": parameter(name)})
		}
	}
	slices.SortStableFunc(params, func(a, b any) int {
		return strings.Compare(a.(object)["in"].(string), b.(object)["in"].(string))
	})
	if params != nil {
		op["parameters"] = params
	}
	if more.records && o.Method == http.MethodPost {
		op["requestBody"] = object{"content": recordsContent()}
	}
	if more.in != nil {
		op["requestBody"] = object{"content": object{"application/json": object{"schema": d.ref(more.in)}}}
	}
	return op
}

// parameter describes the form of a parameter.
func parameter(name string) object {
	switch name {
	case "limit", "after", "Last-Event-ID":
		return object{"type": "integer", "minimum": 0}
	case "until":
		return object{"type": "string", "enum": []any{"sealed"}}
	}
	return object{"type": "string"}
}

// responses describes the answers to an operation.
func (d *describer) responses(more details) object {
	all := object{}
	if more.stream {
		content := object{}
		for _, kind := range []string{rest.NDJSON, rest.SSE} {
			content[kind] = object{"schema": object{"$ref": d.at + "Event"}}
		}
		all["200"] = object{"description": "events in order: each line of NDJSON and the data of each server-sent event is one", "content": content}
	}
	if more.out != nil || !more.stream {
		d.answer(all, more)
	}
	by := map[int][]string{}
	for code := range strings.FieldsSeq(more.codes + " unauthorized") {
		status := cmp.Or(rest.StatusOf(code), views.StatusOf(code))
		by[status] = append(by[status], code)
	}
	for status, codes := range by {
		all[strconv.Itoa(status)] = object{
			"description": strings.Join(codes, ", "),
			"content":     object{"application/problem+json": object{"schema": object{"$ref": d.at + "Problem"}}},
		}
	}
	return all
}

// answer adds the answer that is not a stream.
func (d *describer) answer(all object, more details) {
	status := strconv.Itoa(more.status)
	ok, streams := all[status].(object)
	if !streams {
		ok = object{"description": http.StatusText(more.status)}
		all[status] = ok
	}
	if more.out == nil {
		if more.records {
			ok["content"] = recordsContent()
		}
		if more.file {
			ok["content"] = object{"application/octet-stream": object{}}
		}
		return
	}
	content, _ := ok["content"].(object)
	if content == nil {
		content = object{}
		ok["content"] = content
	}
	content["application/json"] = object{"schema": d.ref(more.out)}
}

// recordsContent describes a file of records.
func recordsContent() object {
	about := "a header, a line of JSON for each record, and a last line with their number: a file of `ridethrough export` with one conversation"
	return object{rest.NDJSON: object{"schema": object{"type": "string", "description": about}}}
}

// vocabulary returns what the manual has to name: addresses, events and codes.
func vocabulary() (words []string) {
	for _, o := range operations() {
		words = append(words, o.Path)
		words = append(words, strings.Fields(detailsByName()[o.Name].codes)...)
	}
	for _, b := range bodies() {
		switch b.(type) {
		case wire.Exit, wire.LimitUsed, wire.LimitWaiting, wire.LimitWaited, wire.Reset, wire.ConnectionLost, wire.ConnectionBack: // not of conversations
		default:
			words = append(words, wire.Type(b))
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
