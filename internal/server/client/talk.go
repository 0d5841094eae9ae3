package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// one is the address of a conversation.
func one(conversation string) string { return "/" + url.PathEscape(conversation) }

// queued is the address of an input.
func queued(conversation, input string) string {
	return one(conversation) + "/queue/" + url.PathEscape(input)
}

// View is a conversation as the server shows it. In a list there are the id, the
// model, the title and the two instants.
type View struct {
	ID string `json:"id"`
	Settings
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Seq     int64     `json:"seq"`
	TurnID  string    `json:"turnId"` // the turn under way; "": none is
	Wait    *Wait     `json:"wait"`   // nil: it is in none
	Queue   []Input   `json:"queue"`
}

// Wait is a wait that a turn is in.
type Wait struct {
	Until   time.Time `json:"until"`
	Attempt int       `json:"attempt"`
	Kind    string    `json:"kind"`
	Message string    `json:"message"`
}

// Input is what waits for its turn.
type Input struct {
	ID     string    `json:"id"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
	Steers bool      `json:"steers"`
}

// utterance is something that is said, or is to be.
type utterance struct {
	ID   string `json:"id,omitzero"`
	Text string `json:"text"`
}

// Create makes a conversation and gives its id.
func (c Client) Create(ctx context.Context, s Settings) (string, error) {
	var made struct{ ID string }
	err := c.call(ctx, http.MethodPost, "", s, &made)
	return made.ID, err
}

// Get gives a conversation.
func (c Client) Get(ctx context.Context, conversation string) (v View, err error) {
	return v, c.call(ctx, http.MethodGet, one(conversation), nil, &v)
}

// List yields the conversations, the newest first. The error is last.
func (c Client) List(ctx context.Context) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		before := ""
		for {
			var page struct {
				Conversations []View
				Before        string
			}
			if err := c.call(ctx, http.MethodGet, "?before="+url.QueryEscape(before), nil, &page); err != nil {
				yield(View{}, err)
				return
			}
			for _, v := range page.Conversations {
				if !yield(v, nil) {
					return
				}
			}
			if before = page.Before; before == "" {
				return
			}
		}
	}
}

// Put says something in a conversation, in a turn of that id. A server that is
// away for a moment is waited for: to say the same twice under one id says it
// once.
func (c Client) Put(ctx context.Context, conversation, turnID, text string) error {
	return c.persist(ctx, one(conversation)+"/turns", utterance{turnID, text})
}

// Again has a model asked again what the last turn has left unanswered, in a
// turn of that id, as Put says something.
func (c Client) Again(ctx context.Context, conversation, turnID string) error {
	return c.persist(ctx, one(conversation)+"/again", struct {
		ID string `json:"id"`
	}{turnID})
}

// persist posts what may be posted twice.
func (c Client) persist(ctx context.Context, path string, body any) error {
	_, err := retry.Do(ctx, retry.Retrier{Policy: policy.Interactive()}, func(ctx context.Context, _ int) (struct{}, error) {
		return struct{}{}, c.call(ctx, http.MethodPost, path, body, nil)
	})
	return err
}

// Change gives a conversation other settings, all of them.
func (c Client) Change(ctx context.Context, conversation string, s Settings) error {
	whole := struct { // what is left out would stay as it is
		Model    string   `json:"model"`
		Fallback []string `json:"fallback"`
		Patience int64    `json:"patienceMs"`
		System   string   `json:"system"`
		Policy   string   `json:"policy"`
		Effort   string   `json:"effort"`
		Title    string   `json:"title"`
	}(s)
	if whole.Fallback == nil {
		whole.Fallback = []string{}
	}
	return c.call(ctx, http.MethodPatch, one(conversation), whole, nil)
}

// Edit puts an input that waits into other words.
func (c Client) Edit(ctx context.Context, conversation, input, text string) error {
	return c.call(ctx, http.MethodPatch, queued(conversation, input), utterance{Text: text}, nil)
}

// Remove takes back an input that waits.
func (c Client) Remove(ctx context.Context, conversation, input string) error {
	return c.call(ctx, http.MethodDelete, queued(conversation, input), nil, nil)
}

// Steer lets the turn under way take up an input that waits.
func (c Client) Steer(ctx context.Context, conversation, input string) error {
	return c.call(ctx, http.MethodPost, queued(conversation, input)+"/steer", nil, nil)
}

// Stop ends a turn; "" means whichever is under way.
func (c Client) Stop(ctx context.Context, conversation, turnID string) error {
	return c.call(ctx, http.MethodPost, one(conversation)+"/stop", struct {
		TurnID string `json:"turnId,omitzero"`
	}{turnID}, nil)
}

// Now ends the wait of the turn under way.
func (c Client) Now(ctx context.Context, conversation string) error {
	return c.call(ctx, http.MethodPost, one(conversation)+"/now", nil, nil)
}
