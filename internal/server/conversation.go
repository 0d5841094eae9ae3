package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/conversation"
)

// Bounds of requests, in bytes. An input may come with six for each of its own.
const (
	textBound     = 6*conversation.TextBound + orderBound
	settingsBound = 512 << 10
)

// operation is one thing that can be done with conversations or councils.
type operation struct {
	method, path string
	name         string // for programs that are made from the description
	what         string
	serve        func(http.ResponseWriter, *http.Request) error
}

// operations are all that can be done with conversations.
func (s *Server) operations() []operation {
	const all, one = "/-/conversations", "/-/conversations/{id}"
	return []operation{
		{http.MethodGet, all, "listConversations", "the conversations, the newest first", s.listConversations},
		{http.MethodPost, all, "createConversation", "make one", s.createConversation},
		{http.MethodGet, one, "getConversation", "one of them", s.getConversation},
		{http.MethodPatch, one, "changeConversation", "change what the turns to come are made with", s.changeConversation},
		{http.MethodDelete, one, "deleteConversation", "take it away for good", s.deleteConversation},
		{http.MethodPost, one + "/turns", "say", "say something; as a stream: and follow the turn", s.say},
		{http.MethodGet, one + "/events", "followConversation", "what has happened in it and what happens, as a stream", s.followConversation},
		{http.MethodGet, one + "/socket", "openSocket", "the same as a WebSocket, on which the client says something, too", s.openSocket},
		{http.MethodPost, one + "/again", "askAgain", "have a model asked again what the last turn has left unanswered", s.askAgain},
		{http.MethodPost, one + "/stop", "stopTurn", "stop the turn under way", s.stopTurn},
		{http.MethodPost, one + "/now", "tryNow", "end the wait of the turn under way", s.tryNow},
		{http.MethodGet, one + "/queue", "listQueue", "what waits for its turn", s.listQueue},
		{http.MethodPatch, one + "/queue/{input}", "editInput", "put it into other words", s.editInput},
		{http.MethodDelete, one + "/queue/{input}", "removeInput", "take it back", s.removeInput},
		{http.MethodPost, one + "/queue/{input}/steer", "steerTurn", "let the turn under way take it up", s.steerTurn},
	}
}

// talks gives the routes of operations.
func (s *Server) talks(operations []operation) (routes []route) {
	for _, o := range operations {
		i := slices.IndexFunc(routes, func(rt route) bool { return rt.Path == o.path })
		if i < 0 {
			i = len(routes)
			routes = append(routes, route{Path: o.path, What: o.what, serve: s.talk(o.path, operations)})
		} else {
			routes[i].What += "; " + o.method + ": " + o.what
		}
		routes[i].Methods = append(routes[i].Methods, o.method)
		if o.method == http.MethodGet {
			routes[i].Methods = append(routes[i].Methods, http.MethodHead)
		}
	}
	return routes
}

// talk answers what can be done at an address.
func (s *Server) talk(path string, operations []operation) http.HandlerFunc {
	by := map[string]operation{}
	for _, o := range operations {
		if o.path == path {
			by[o.method] = o
		}
	}
	by[http.MethodHead] = by[http.MethodGet]
	return func(w http.ResponseWriter, r *http.Request) {
		if err := by[r.Method].serve(w, r); err != nil {
			s.problemOf(r, err).serve(w)
		}
	}
}

// read reads what a request says; an empty one says nothing.
func read[T any](w http.ResponseWriter, r *http.Request, bound int64) (v T, err error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bound))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return v, wrong(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", bound)
	}
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err != nil:
		return v, wrong(http.StatusBadRequest, "the body broke off")
	case len(text) == 0:
		return v, nil
	case kind != "application/json":
		return v, wrong(http.StatusUnsupportedMediaType, "want Content-Type: application/json")
	case !utf8.Valid(text):
		return v, wrong(http.StatusBadRequest, "the body is no valid UTF-8")
	}
	return v, understand(text, &v)
}

// understand reads JSON in which there is nothing unknown.
func understand(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return wrong(http.StatusBadRequest, "the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, more := d.Token(); more != io.EOF {
		return wrong(http.StatusBadRequest, "there is more behind the body")
	}
	return nil
}

// number reads a number from what a client sends; "": 0.
func number(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, wrong(http.StatusBadRequest, "%s: want a whole number from 0 on, and not %q", name, clip(text))
	}
	return n, nil
}

// founding is what a conversation is made with.
type founding struct {
	ID string `json:"id,omitzero"` // "": one is made up
	conversation.Settings
}

// conversationView is a conversation as JSON.
type conversationView struct {
	ID string `json:"id"`
	conversation.Settings
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Seq     int64     `json:"seq"`             // of what has happened last: who follows from here on misses nothing
	TurnID  string    `json:"turnId,omitzero"` // the turn under way; left out: none is
	Wait    *pause    `json:"wait,omitzero"`   // that it is in; left out: it is in none
	Queue   []input   `json:"queue"`           // what waits for its turn, the next first
}

// pause is the wait that a turn is in, as JSON.
type pause struct {
	Until     time.Time `json:"until"`
	Remaining int64     `json:"remainingMs"`
	Attempt   int       `json:"attempt"` // the number of the retry that is waited for, from 0
	Kind      string    `json:"kind"`    // of the fault
	Message   string    `json:"message"` // the provider's words
}

// input is what waits for its turn, as JSON.
type input struct {
	ID     string    `json:"id"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
	Steers bool      `json:"steers,omitzero"` // the turn under way takes it up before it asks a model again
}

func viewConversation(v conversation.View) conversationView {
	c := conversationView{
		ID: v.ID, Settings: v.Settings, Created: instant(v.Created), Changed: instant(v.Changed),
		Seq: v.Last, TurnID: v.Turn, Queue: viewQueue(v.Inputs),
	}
	if w := v.Waits; w != nil {
		c.Wait = &pause{Until: instant(w.Until), Remaining: until(w.Until, time.Now()), Attempt: w.Attempt, Kind: w.Kind, Message: w.Message}
	}
	return c
}

func viewQueue(inputs []conversation.Input) []input {
	queue := make([]input, len(inputs))
	for i, in := range inputs {
		queue[i] = input{ID: in.ID, Text: in.Text, At: instant(in.At), Steers: in.Steers}
	}
	return queue
}

// heading is a conversation in a list, as JSON.
type heading struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitzero"`
	Model   string    `json:"model"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
}

// page is a part of the list of conversations.
type page struct {
	Conversations []heading `json:"conversations"`
	Before        string    `json:"before,omitzero"` // goes on with the list; left out: this is its end
}

// How many conversations are listed at a time.
const (
	pageDefault = 50
	pageBound   = 500
)

func (s *Server) listConversations(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := number("limit", q.Get("limit"))
	if err != nil {
		return err
	}
	if limit == 0 || limit > pageBound {
		limit = min(max(limit, pageDefault), pageBound)
	}
	p := page{Conversations: []heading{}}
	for v, err := range s.config.Conversations.List(r.Context(), q.Get("before")) {
		if err != nil {
			return err
		}
		if len(p.Conversations) == int(limit) {
			p.Before = p.Conversations[limit-1].ID
			break
		}
		p.Conversations = append(p.Conversations, head(v))
	}
	answer(w, http.StatusOK, p)
	return nil
}

func (s *Server) createConversation(w http.ResponseWriter, r *http.Request) error {
	b, err := read[founding](w, r, settingsBound)
	if err != nil {
		return err
	}
	settings, err := s.settle(b.Settings)
	if err != nil {
		return err
	}
	id, err := s.config.Conversations.Create(r.Context(), b.ID, settings)
	if err != nil {
		return err
	}
	v, err := s.config.Conversations.Get(r.Context(), id)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/-/conversations/"+id)
	answer(w, http.StatusCreated, viewConversation(v))
	return nil
}

func (s *Server) getConversation(w http.ResponseWriter, r *http.Request) error {
	v, err := s.config.Conversations.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, viewConversation(v))
	return nil
}

func (s *Server) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	if err := s.config.Conversations.Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
