package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// caller is a client of one API.
type caller struct {
	path, body string
	form       api.Form
	api        *api.API
}

// of returns the caller with its API.
func (c caller) of(t *testing.T) caller {
	path, _, _ := strings.Cut(c.path, "?")
	if c.api = registry.Of("POST", path); c.api == nil {
		t.Fatalf("no API has the path %s", c.path)
	}
	return c
}

// good returns an answer as the API writes it.
func (c caller) good() string {
	e := c.api.Forms().Encoder(c.form, api.Head{ID: "9", Model: "m", Created: time.Unix(1790000000, 0), Input: 40, Output: 6})
	text := ""
	for _, p := range []api.Part{
		{Kind: api.StartPart},
		{Kind: api.OpenPart, Of: api.TextPart},
		{Kind: api.TextPart, Block: 1, Text: api.Quote(goodText)},
		{Kind: api.ClosePart, Block: 1},
		{Kind: api.StopPart, Why: api.PlainStop},
		{Kind: api.EndPart},
	} {
		text += string(e.Add(p))
	}
	if c.form == api.JSON {
		return e.Whole("whole")
	}
	return text
}

// frame returns an event of a play as it is transmitted: one of AWS's is an object with the event's name, and among
// named events the name is the type.
func (c caller) frame(event json.RawMessage) string {
	var named struct{ Type string }
	switch {
	case event[0] == '"':
		return textOf(event)
	case c.form == api.Lines:
		return string(event) + "\n"
	case c.form == api.AWSEvents:
		for name, data := range api.Members(event) {
			return string(api.AWSEvent(name, data))
		}
	case json.Unmarshal(event, &named) == nil && named.Type != "" && c.api.Name() != "openai-chat":
		return string(api.EventFrame([]byte(named.Type), event))
	}
	return string(api.EventFrame(nil, event))
}

// sight is what a client sees of an answer.
type sight struct {
	status               int
	text, thought, calls string
	starts, stops        int
	failed               bool // its SDK raises an error
}

// see reads a response as an SDK does.
func (c caller) see(t *testing.T, resp *http.Response, text string, err error) sight {
	s := sight{status: resp.StatusCode, failed: resp.StatusCode >= 400}
	switch {
	case s.failed:
		return s
	case c.form == api.JSON:
		s.add(t, c, api.JSON, []byte(text))
		s.failed, s.starts = err != nil || c.isError("", []byte(text)), 1
		return s
	case c.form == api.AWSEvents:
		s.failed = readBedrock(t, text).exception() != ""
	}
	for rest := []byte(text); len(rest) > 0; {
		n := c.form.FrameLen(rest, 0)
		if n <= 0 {
			s.text += " and half a frame"
			break
		}
		name, data := api.Payload(c.form, rest[:n])
		switch s.failed = s.failed || c.isError(string(name), data); {
		case c.form == api.AWSEvents && len(data) > 0 && api.Member(data, "message") != nil:
		case len(data) > 0 && string(data) != "[DONE]" && !json.Valid(data):
			s.text += " and what is not JSON"
		default:
			s.add(t, c, c.form, rest[:n])
		}
		rest = rest[n:]
	}
	return s
}

// add adds what a frame or a body says.
func (s *sight) add(t *testing.T, c caller, form api.Form, frame []byte) {
	parts := c.api.Decode(form, frame)
	s.addParts(c, &parts)
	if form == api.JSON && strings.HasPrefix(c.api.Name(), "bedrock") {
		s.text = readBedrock(t, string(frame)).text
	}
}

func (s *sight) addParts(c caller, parts *api.Parts) {
	for i := range parts.Len() {
		switch p := parts.At(i); p.Kind {
		case api.StartPart:
			s.starts++
		case api.TextPart:
			s.text += p.String()
		case api.ReasoningPart:
			s.thought += p.String()
		case api.ToolCallPart:
			s.calls += api.TextOf(p.Name)
		case api.ClosePart:
			if whole := c.api.Whole(p); c.form == api.JSON && len(p.Text) > 0 {
				s.addParts(c, &whole)
			}
		case api.StopPart:
			s.stops++
		}
	}
}

// isError reports whether the API's SDK raises an error on an event, or on a body.
func (c caller) isError(name string, data []byte) bool {
	var event struct {
		Type  string
		Error json.RawMessage
	}
	if json.Unmarshal(data, &event) != nil {
		return false
	}
	switch c.api.Name() {
	case "anthropic":
		return (name == "error" || c.form == api.JSON) && event.Type == "error" && len(event.Error) > 0
	case "openai-responses":
		return event.Type == "error" || event.Type == "response.failed"
	}
	return len(event.Error) > 0 && string(event.Error) != "null"
}
