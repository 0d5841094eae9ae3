package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// dialect is one vendor's API. Each has its own file, and a row in dialectOf. JSON
// is written out there as in the vendor's documentation, to compare the two.
type dialect struct {
	idHeader    string              // the header with the request's id; "": there is none
	typeHeader  string              // the header with an error's type; "": there is none
	overload    int                 // the status of an overloaded provider
	path        func(string) string // the part of a path that its endpoints have; nil: all of it
	endpoints   []endpoint
	failure     func(*problem) string            // the body of an error
	failureType func(*problem) string            // what typeHeader has
	denial      func(Denial, *exchange) *problem // the vendor's error; nil: it has an answer instead
	hints       func(http.Header, window)        // sets the headers of a limit; nil: there are none
	rates       func(http.Header, []bucket)      // sets the headers of rates; nil: there are none
	chargesMost bool                             // the longest answer that is asked for

	spent func(*exchange, SpentWindow) string // sets its headers and returns its body, "" or nil: a plain 429
}

// problem is the content of an error.
type problem struct {
	status      int
	message, id string        // message "": the vendor's usual one
	wait        time.Duration // Retry-After; 0: none

	kind, code, param string // members that differ from the usual, where the vendor has them
	details           string // as JSON, where the vendor has such a member
}

// bad returns the error of an invalid request.
//
//go:noinline
func bad(message string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, message: fmt.Sprintf(message, args...)}
}

// about returns the problem with its parameter.
//
//go:noinline
func (p *problem) about(param string, args ...any) *problem {
	p.param = fmt.Sprintf(param, args...)
	return p
}

// firstProblem returns the first problem that one of the checks finds.
func firstProblem(checks ...func() *problem) *problem {
	for _, check := range checks {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

// endpoint is one method and path of a dialect.
type endpoint struct {
	method, path string                    // a star in the path stands for the model's name
	query        string                    // a part that the query must have; "": none
	generates    bool                      // is scripted and limited
	stored       bool                      // is about an answer in the background, whose id the star stands for
	read         func(ask, *call) *problem // reads a request's body and returns what is wrong with it; nil: any body is valid
	whole        func(*call) string        // the answer as one JSON body
	stream       func(*call) stream        // the answer as a stream; nil: there is none
}

// ask is a request as an endpoint reads it.
type ask struct {
	model string // from the path
	body  []byte
}

// call is a parsed request.
type call struct {
	id      string // unique to the request
	at      time.Time
	model   string
	prompt  int    // tokens, estimated
	said    Say    // the answer
	whole   string // its text, also where said has only the rest of it
	stream  bool
	usage   bool // include usage in the stream
	view    view // of the reasoning
	keeps   bool // the client keeps the reasoning itself
	behind  bool // the answer is generated in the background
	repeat  bool // contains an earlier answer, so a part of the prompt is cached
	caches  bool // asks for its prompt to be cached
	blocked bool // gets no answer, which is no error in this API
	lastTurns
}

// cached returns the number of cached prompt tokens: half of them if the prompt repeats an earlier answer.
func (c *call) cached() int {
	if c.repeat {
		return c.prompt / 2
	}
	return 0
}

// stream is an answer in events, as they are on the wire.
type stream struct {
	media   string   // its Content-Type
	opening []string // before content
	content []string // one for each word
	ending  []string // after content, with the API's terminator
	failure string   // the event of an error

	broken func(sent []string) string // the event of an error after other events; nil: the same
}

// after returns the event of an error after the events that were sent.
func (s stream) after(sent ...string) string {
	if s.broken != nil {
		return s.broken(sent)
	}
	return s.failure
}

// window is the state of a limit.
type window struct {
	limit, left int
	opens       time.Time     // the next window
	in          time.Duration // the time until then
}

// dialectOf returns the dialect of a request, OpenAI's by default.
func dialectOf(r *http.Request) dialect {
	for _, row := range []struct {
		speaks  func(*http.Request) bool
		dialect func() dialect
	}{
		{speaksVertex, vertex},
		{speaksAzure, azure},
		{speaksCohere, cohere},
		{speaksBedrock, bedrock},
		{speaksAnthropic, anthropic},
		{speaksGemini, gemini},
		{speaksLMStudioOld, lmStudioOld},
		{speaksLMStudio, lmStudio},
		{speaksOllama, ollama},
		{speaksLMStudioLikeOpenAI, lmStudioLikeOpenAI},
	} {
		if row.speaks(r) {
			return row.dialect()
		}
	}
	return openai()
}

// find returns the endpoint for a request and the model that its path names.
func (d dialect) find(r *http.Request) (e endpoint, model string, found bool) {
	path := r.URL.Path
	if d.path != nil {
		path = d.path(path)
	}
	for _, e := range d.endpoints {
		model, found := e.matches(path)
		if found && e.method == r.Method && strings.Contains(r.URL.RawQuery, e.query) {
			return e, model, true
		}
	}
	return endpoint{}, "", false
}

// matches reports whether a path matches, and returns the model in it.
func (e endpoint) matches(path string) (model string, ok bool) {
	before, after, starred := strings.Cut(e.path, "*")
	if !starred {
		return "", path == e.path
	}
	path, ok = strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	model, ok = strings.CutSuffix(path, after)
	return model, ok && model != ""
}

// quote returns s as JSON. It is called in a hundred places, and not inlined there.
//
//go:noinline
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // strings can always be encoded
		panic(err)
	}
	return string(b)
}

// sse returns a server-sent event; name "": without a name.
//
//go:noinline
func sse(name, data string) string {
	if name == "" {
		return "data: " + data + "\n\n"
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)
}

// eventStream is the Content-Type of server-sent events.
const eventStream = "text/event-stream; charset=utf-8"

// vector is the embedding of every text.
const vector = "[0.1,-0.2,0.3,0.4]"
