package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// dialect is one vendor's API on the wire. Each has a file of its own, and a
// row in dialectOf. JSON is written out there as the vendor's pages show it,
// so that the two can be held against each other.
type dialect struct {
	idHeader  string // the header with the request's id; "": there is none
	overload  int    // the status that says "overloaded"
	endpoints []endpoint
	failure   func(problem) string            // the body of an error
	denial    func(Denial, *exchange) problem // the vendor's words for it; none: it has an answer for it
	hints     func(http.Header, window)       // says how much of a limit is left
}

// problem is what an error is about. The zero problem is none.
type problem struct {
	status      int
	message, id string        // message "": the vendor's usual words
	wait        time.Duration // how long the client is to wait; 0: nothing is said of it

	kind, code, param string // what stands in place of the usual, where the vendor has such a member
	details           string // in JSON, where the vendor has such a member
}

// bad returns the objection to a request that is wrong.
func bad(message string, args ...any) problem {
	return problem{status: http.StatusBadRequest, message: fmt.Sprintf(message, args...)}
}

// about returns the problem with the parameter that it is about.
func (p problem) about(param string, args ...any) problem {
	p.param = fmt.Sprintf(param, args...)
	return p
}

// endpoint is one method and path of a dialect.
type endpoint struct {
	method, path string                    // one star in the path stands for the model's name
	query        string                    // what must stand in the query; "": nothing
	generates    bool                      // is scripted and limited
	read         func(ask) (call, problem) // what is asked, or what is wrong with it; nil: any body will do
	whole        func(call) string         // the answer as one JSON body
	stream       func(call) stream         // the answer as a stream; nil: there is none
}

// ask is a request as an endpoint reads it.
type ask struct {
	model string // from the path
	body  []byte
}

// call is what a request asks for.
type call struct {
	id      string // unique to the request
	at      time.Time
	model   string
	prompt  int // tokens, by a rough measure
	said    Say // the answer
	stream  bool
	usage   bool // wants usage in its stream
	view    view // how much of the reasoning it is to see
	keeps   bool // wants to keep the reasoning by itself
	repeat  bool // repeats an earlier answer, and so a prompt that was seen before
	caches  bool // wants its prompt to be kept for the next time
	blocked bool // is not to be answered, which is no error here
}

// cached counts the tokens of the prompt that are known from before: half of
// them where it repeats an earlier answer.
func (c call) cached() int {
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
	ending  []string // after content, up to the API's own end
	failure string   // the event of an error

	broken func(sent []string) string // the same after what was sent; nil: it looks no different
}

// after returns the event of an error behind what was sent.
func (s stream) after(sent ...string) string {
	if s.broken != nil {
		return s.broken(sent)
	}
	return s.failure
}

// window is how much is left of a limit.
type window struct {
	limit, left int
	opens       time.Time     // the next window
	in          time.Duration // the time until then
}

// dialectOf finds the API that a request speaks. What nobody else knows is
// OpenAI's, as most of the world's clients are.
func dialectOf(r *http.Request) dialect {
	for _, row := range []struct {
		speaks func(*http.Request) bool
		give   func() dialect
	}{
		{speaksAnthropic, anthropic},
		{speaksGemini, gemini},
		{speaksLMStudioOld, lmStudioOld},
		{speaksLMStudio, lmStudio},
		{speaksOllama, ollama},
		{speaksLMStudioLikeOpenAI, lmStudioLikeOpenAI},
	} {
		if row.speaks(r) {
			return row.give()
		}
	}
	return openai()
}

// find returns the endpoint for a request and the model that its path names.
func (d dialect) find(r *http.Request) (e endpoint, model string, found bool) {
	for _, e := range d.endpoints {
		model, found := e.matches(r.URL.Path)
		if found && e.method == r.Method && strings.Contains(r.URL.RawQuery, e.query) {
			return e, model, true
		}
	}
	return endpoint{}, "", false
}

// matches compares a path and gives what stands for the star.
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

// quote returns s as JSON.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a form in JSON
		panic(err)
	}
	return string(b)
}

// sse returns a server-sent event; name "": without one.
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
