package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/wire"
)

// described is what the description of an operation says of it beyond its
// method, its path and what it is for.
type described struct {
	in     any      // a body; nil: none
	out    any      // an answer; nil: none
	status int      // of it
	stream bool     // it may be a stream of events
	query  []string // parameters: "limit: how many"
	header []string // as well
	codes  string   // of problems
}

// descriptions are those of all operations.
func descriptions() map[string]described {
	const here = "invalid-input not-found gone damaged internal busy"
	const write = here + " too-large unsupported-media-type forbidden store-full"
	const after = "after: the seq of the last event that was seen; 0 is the beginning"
	return map[string]described{
		"listConversations": {out: page{}, status: 200, codes: "invalid-input damaged internal busy", query: []string{
			"before: the id behind which the list goes on", "limit: how many, 50 if it is left out, and 500 at most",
		}},
		"createConversation": {in: founding{}, out: conversationView{}, status: 201, codes: "exists " + write},
		"getConversation":    {out: conversationView{}, status: 200, codes: here},
		"changeConversation": {in: amendment{}, out: conversationView{}, status: 200, codes: write},
		"deleteConversation": {status: 204, codes: here + " forbidden store-full"},
		"say": {
			in: utterance{}, out: done{}, status: 202, stream: true, codes: "queue-full " + write,
			header: []string{"Idempotency-Key: the id of the turn, in place of that in the body"},
		},
		"followConversation": {
			status: 200, stream: true, codes: "wrong-sequence " + here, query: []string{after, "until: sealed ends the stream when nothing is left to do"},
			header: []string{"Last-Event-ID: in place of after, which it beats"},
		},
		"openSocket": {status: 101, codes: "wrong-sequence upgrade-required forbidden " + here, query: []string{after}},
		"askAgain":   {in: repeat{}, out: done{}, status: 202, codes: "answered " + write},
		"convene": {
			in: summons{}, out: minutes{}, status: 200, stream: true,
			codes: "invalid-input forbidden too-large unsupported-media-type busy",
		},
		"stopTurn":    {in: halt{}, out: done{}, status: 202, codes: "not-running already-stopped " + write},
		"tryNow":      {out: done{}, status: 202, codes: "not-running " + write},
		"listQueue":   {out: queue{}, status: 200, codes: here},
		"editInput":   {in: wording{}, out: input{}, status: 200, codes: "not-queued " + write},
		"removeInput": {status: 204, codes: "not-queued forbidden store-full " + here},
		"steerTurn":   {out: done{}, status: 202, codes: "not-queued " + write},
	}
}

// everything is all that can be done with conversations and councils.
func everything() []operation {
	s := &Server{}
	return append(s.operations(), s.convening()...)
}

// OpenAPI describes what can be done with conversations and councils.
func OpenAPI() ([]byte, error) {
	d, err := newDescriber("#/components/schemas/")
	if err != nil {
		return nil, err
	}
	event := d.events()
	for _, v := range []any{problem{}, command{}, undone{}} {
		d.ref(v)
	}
	d.defs["Event"] = event
	paths := object{}
	for _, o := range everything() {
		item, ok := paths[o.path].(object)
		if !ok {
			item = object{}
			paths[o.path] = item
		}
		item[strings.ToLower(o.method)] = d.operation(o, descriptions()[o.name])
	}
	return written(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "ridethrough: conversations and councils", "version": "1",
			"description": "Conversations with language models that outlive the server and its provider's outages, and councils of several models. docs/conversations.md and docs/council.md are the manual.",
			"license":     object{"name": "MIT", "identifier": "MIT"},
		},
		"servers":  []any{object{"url": "http://127.0.0.1:8484"}},
		"security": []any{object{}, object{"token": []any{}}, object{"bearer": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas": d.defs,
			"securitySchemes": object{
				"token":  object{"type": "apiKey", "in": "header", "name": tokenHeader},
				"bearer": object{"type": "http", "scheme": "bearer"},
			},
		},
	})
}

// Events describes all events.
func Events() ([]byte, error) {
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
			"and more members: a reader ignores those that it does not know.",
	})
	return written(schema)
}

// written gives JSON as it is read best.
func written(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// operation describes an operation.
func (d *describer) operation(o operation, more described) object {
	op := object{"operationId": o.name, "summary": o.what, "responses": d.responses(more)}
	var params []any
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(o.path, -1) {
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
func (d *describer) responses(more described) object {
	all := object{}
	if more.stream {
		content := object{}
		for _, kind := range []string{ndjson, eventStream} {
			content[kind] = object{"schema": object{"$ref": d.at + "Event"}}
		}
		all["200"] = object{"description": "events, one after the other: each line of NDJSON and the data of each server-sent event is one", "content": content}
	}
	if more.out != nil || !more.stream {
		d.answer(all, more)
	}
	by := map[int][]string{}
	for code := range strings.FieldsSeq(more.codes + " unauthorized") {
		by[statusOf(code)] = append(by[statusOf(code)], code)
	}
	for status, codes := range by {
		all[strconv.Itoa(status)] = object{
			"description": strings.Join(codes, ", "),
			"content":     object{"application/problem+json": object{"schema": object{"$ref": d.at + "Problem"}}},
		}
	}
	return all
}

// answer adds the answer that is no stream.
func (d *describer) answer(all object, more described) {
	status := strconv.Itoa(more.status)
	ok, streams := all[status].(object)
	if !streams {
		ok = object{"description": http.StatusText(more.status)}
		all[status] = ok
	}
	if more.out == nil {
		return
	}
	content, _ := ok["content"].(object)
	if content == nil {
		content = object{}
		ok["content"] = content
	}
	content["application/json"] = object{"schema": d.ref(more.out)}
}

// statusOf gives the status that goes with a code.
func statusOf(code string) int {
	for status, c := range codes {
		if c == code {
			return status
		}
	}
	for _, p := range problems {
		if p.code == code {
			return p.status
		}
	}
	return map[string]int{"wrong-sequence": http.StatusConflict, "damaged": http.StatusInternalServerError}[code]
}

// Words are all that the manual has to name: addresses, events and codes.
func Words() (words []string) {
	for _, o := range everything() {
		words = append(words, o.path)
		words = append(words, strings.Fields(descriptions()[o.name].codes)...)
	}
	for _, b := range bodies() {
		switch b.(type) {
		case wire.Exit, wire.Reset, wire.ConnectionLost, wire.ConnectionBack: // not of conversations
		default:
			words = append(words, b.Type())
		}
	}
	for _, p := range problems {
		words = append(words, p.code)
	}
	slices.Sort(words)
	return slices.Compact(words)
}
