package server_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/api"
)

// readDescription returns the text of a description, as it is beside the program's own.
func readDescription(name string) string {
	text, err := os.ReadFile("api/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// eventSchema is the schema of events, as it checks.
var eventSchema = sync.OnceValue(func() *jsonschema.Resolved { return resolved(readDescription("events.schema.json")) })

// answers are the schemas of answers, by what they answer: "GET /-/… 200". Each has only the definitions that it needs,
// and those that are the same, as most problems are, are one: to resolve them all takes a minute under the race detector.
var answers = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	text := strings.ReplaceAll(readDescription("openapi.json"), "#/components/schemas/", "#/$defs/")
	var api struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &api); err != nil {
		panic(err)
	}
	all, same := map[string]*jsonschema.Resolved{}, map[string]*jsonschema.Resolved{}
	for path, methods := range api.Paths {
		for method, o := range methods {
			for status, r := range o.Responses {
				for kind, c := range r.Content {
					if kind != "application/json" && kind != "application/problem+json" {
						continue
					}
					if same[string(c.Schema)] == nil {
						needed := map[string]json.RawMessage{}
						define(needed, c.Schema, api.Components.Schemas)
						definitions, _ := json.Marshal(needed)
						same[string(c.Schema)] = resolved(`{"allOf":[` + string(c.Schema) + `],"$defs":` + string(definitions) + `}`)
					}
					all[strings.ToUpper(method)+" "+path+" "+status] = same[string(c.Schema)]
				}
			}
		}
	}
	return all
})

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// define adds the definitions that a schema refers to, and those that they refer to.
func define(needed map[string]json.RawMessage, schema json.RawMessage, all map[string]json.RawMessage) {
	for _, m := range reference.FindAllSubmatch(schema, -1) {
		name := string(m[1])
		if _, known := needed[name]; !known {
			needed[name] = all[name]
			define(needed, all[name], all)
		}
	}
}

func resolved(text string) *jsonschema.Resolved {
	var s jsonschema.Schema
	err := json.Unmarshal([]byte(text), &s)
	if err != nil {
		panic(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return r
}

// template returns the described path of an address below /-/conversations.
func template(address string) string {
	path, _, _ := strings.Cut(address, "?")
	if path == "/../approvals" {
		return "/-/approvals"
	}
	parts := strings.Split("/-/conversations"+path, "/")
	for i, name := range map[int]string{3: "{id}", 5: "{input}"} {
		if len(parts) > i {
			parts[i] = name
		}
	}
	return strings.Replace(strings.Join(parts, "/"), "approvals/{input}", "approvals/{call}", 1)
}

// conforms checks an answer against its description.
func conforms(t *testing.T, method, address string, status int, answer map[string]any) {
	t.Helper()
	what := fmt.Sprintf("%s %s %d", method, template(address), status)
	schema, ok := answers()[what]
	switch {
	case ok:
		if err := schema.Validate(answer); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case len(answer) > 0 && status != http.StatusMethodNotAllowed && !strings.HasSuffix(address, "/nothing"):
		t.Errorf("%s is not described", what)
	}
}

func TestDescriptions_AreServed(t *testing.T) {
	s := server.New(server.Config{Gateway: &fake{}, OpenAPI: api.OpenAPI(), Log: slog.New(slog.DiscardHandler)})
	for name, packed := range map[string]string{"openapi.json": api.OpenAPI(), "events.schema.json": api.Events()} {
		for coding, want := range map[string]string{"": readDescription(name), "gzip": packed} {
			w := ask(s, request("GET", "/-/"+name, "", "Accept-Encoding", coding))
			if w.Code != 200 || w.Body.String() != want || !strings.HasSuffix(w.Header().Get("Content-Type"), "json") || w.Header().Get("Content-Encoding") != coding {
				t.Errorf("/-/%s, Accept-Encoding %q: got %d %v with %d bytes, want 200 with %d", name, coding, w.Code, w.Header(), w.Body.Len(), len(want))
			}
		}
	}
	s = server.New(server.Config{Gateway: &fake{}, Log: slog.New(slog.DiscardHandler)})
	if w := ask(s, request("GET", "/-/openapi.json", "")); w.Code != 404 {
		t.Errorf("/-/openapi.json of a gateway without conversations: got %d, want 404", w.Code)
	}
}
