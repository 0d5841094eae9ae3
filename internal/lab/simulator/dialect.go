package simulator

import (
	"embed"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
)

// dialect is one vendor's APIs. What they write is in their folders; its errors, and what its other endpoints answer, are
// in files of vendors.
type dialect struct {
	vendor []string                   // the files
	apis   []*api.API                 // the first is the usual one
	read   func(ask, *call) *problem  // reads a request's body and returns what is wrong with it
	fails  func(status int) api.Forms // whose errors those of a status are; nil: its own

	endpoints []endpoint // set by ready, and so is
	forms     api.Forms  // what the usual API writes
}

// endpoint is where requests go.
type endpoint struct {
	api   *api.API
	forms api.Forms // what it writes
	// Of an answer that is not generated: a star in the path stands for the model's name.
	method, path string
}

// whole returns the form of an answer that is not generated, by its name; "": it is.
func (e endpoint) whole() string { return strings.TrimPrefix(e.method+" "+e.path, " ") }

//go:embed vendors/*.txt
var vendors embed.FS

// ready returns the dialect with its endpoints and with what they write.
func (d dialect) ready() dialect {
	var texts []string
	for _, name := range d.vendor {
		text, err := vendors.ReadFile("vendors/" + name + ".txt")
		if err != nil { // it is part of the program
			panic(err)
		}
		texts = append(texts, string(text))
	}
	d.forms = d.apis[0].Forms(texts...)
	for _, name := range slices.Sorted(maps.Keys(d.forms)) {
		if method, path, ok := strings.Cut(name, " "); ok && path[0] == '/' {
			d.endpoints = append(d.endpoints, endpoint{api: d.apis[0], forms: d.forms, method: method, path: path})
		}
	}
	for _, a := range d.apis {
		d.endpoints = append(d.endpoints, endpoint{api: a, forms: a.Forms(texts...)})
	}
	return d
}

// ask is a request as a dialect reads it.
type ask struct {
	api, path string
	body      []byte
}

// call is a parsed request.
type call struct {
	id      string // unique to the request
	at      time.Time
	model   string
	form    api.Form // of the answer
	prompt  int      // tokens, estimated
	said    Say      // the answer
	whole   string   // its text, also where said has only the rest of it
	usage   bool     // include usage in the stream
	view    view     // of the reasoning
	keeps   bool     // the client keeps the reasoning itself
	repeat  bool     // contains an earlier answer, so a part of the prompt is cached
	caching caching  // of the prompt
	blocked bool     // gets no answer, which is no error in this API
	lastTurns
}

// caching is who decides that a prompt is cached.
type caching uint8

const (
	always caching = iota // the API
	asked                 // the request, which asks for it
	unasked
)

// cached returns the number of cached prompt tokens: half of them if the prompt repeats an earlier answer.
func (c *call) cached() int {
	if c.repeat {
		return c.prompt / 2
	}
	return 0
}

// window is the state of a limit.
type window struct {
	limit, left int
	opens       time.Time     // the next window
	in          time.Duration // the time until then
}

// speaker is a dialect and whether a request is meant for it.
type speaker struct {
	speaks func(*http.Request) bool
	dialect
}

// dialectOf returns the dialect of a request, OpenAI's by default.
func dialectOf(r *http.Request) dialect {
	all := speakers()
	return all[slices.IndexFunc(all, func(s speaker) bool { return s.speaks(r) })].dialect
}

// below returns whether the path of a request is below another.
func below(prefix string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, prefix) }
}

// has returns whether the path of a request has a part.
func has(part string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

// find returns the endpoint for a request and the model that its path names, if it is not one that generates.
func (d dialect) find(r *http.Request) (e endpoint, model string, found bool) {
	for _, e := range d.endpoints {
		if e.whole() == "" && r.Method == http.MethodPost && e.api.IsRequest(r.URL.Path) {
			return e, "", true
		}
		if model, found := e.matches(r); found {
			return e, model, true
		}
	}
	return endpoint{api: d.apis[0], forms: d.forms}, "", false
}

// matches reports whether a request is for the endpoint, whatever its path begins with, and returns the model in it.
func (e endpoint) matches(r *http.Request) (model string, ok bool) {
	before, after, starred := strings.Cut(e.path, "*")
	if e.whole() == "" || e.method != r.Method || !starred {
		return "", e.method == r.Method && strings.HasSuffix(r.URL.Path, e.path)
	}
	_, path, ok := strings.Cut(r.URL.Path, before)
	if !ok {
		return "", false
	}
	model, ok = strings.CutSuffix(path, after)
	return model, ok && model != ""
}
