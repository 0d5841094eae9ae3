package openapi_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const file = "../../internal/server/api/openapi.json"

func TestDescription_IsValidOpenAPI(t *testing.T) {
	api, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		t.Fatalf("load from file: %v", err)
	}
	if err := api.Validate(t.Context()); err != nil {
		t.Errorf("validate: %v", err)
	}
	if api.OpenAPI != "3.1.0" || api.Paths.Len() < 9 {
		t.Errorf("OpenAPI %s with %d paths", api.OpenAPI, api.Paths.Len())
	}
}

func TestDescription_OperationIDsAreUnique(t *testing.T) {
	api, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		t.Fatalf("load from file: %v", err)
	}
	seen := map[string]string{}
	for path, item := range api.Paths.Map() {
		for method, o := range item.Operations() {
			if other := seen[o.OperationID]; o.OperationID == "" || other != "" {
				t.Errorf("%s %s is called %q, as is %q", method, path, o.OperationID, other)
			}
			seen[o.OperationID] = method + " " + path
		}
	}
}

func TestEventsSchema_ValidatesEvents(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	s, err := c.Compile("../../internal/server/api/events.schema.json")
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	event := map[string]any{
		"v": 1, "seq": 8, "ts": "2026-11-21T15:03:36.902Z", "type": "turn-sealed", "conversationId": "c1", "turnId": "t1", "status": "done",
		"retryCount": 0, "totalRetryDelayMs": 0, "durationMs": 4, "inputTokens": 43, "outputTokens": 2,
	}
	if err := s.Validate(event); err != nil {
		t.Errorf("validate: %v", err)
	}
	event["ts"] = "yesterday"
	if err := s.Validate(event); err == nil {
		t.Error("it takes what is no time")
	}
}
