package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

func pathOf(conversation string) string { return "/" + url.PathEscape(conversation) }

func inputPath(conversation, input string) string {
	return pathOf(conversation) + "/queue/" + url.PathEscape(input)
}

// Create creates a conversation and returns its id.
func (c Client) Create(ctx context.Context, s conversation.Settings) (id string, err error) {
	var made api.Conversation
	err = c.call(ctx, http.MethodPost, "", s, &made)
	return made.ID, err
}

// Get returns a conversation.
func (c Client) Get(ctx context.Context, id string) (conversation.View, error) {
	var got api.Conversation
	err := c.call(ctx, http.MethodGet, pathOf(id), nil, &got)
	return views.From(got), err
}

// List yields the conversations, the newest first, with their ids, models, titles and times. The error is
// last.
func (c Client) List(ctx context.Context) iter.Seq2[conversation.View, error] {
	return func(yield func(conversation.View, error) bool) {
		before := ""
		for {
			var page api.Page
			if err := c.call(ctx, http.MethodGet, "?before="+url.QueryEscape(before), nil, &page); err != nil {
				yield(conversation.View{}, err)
				return
			}
			for _, s := range page.Conversations {
				if !yield(views.FromSummary(s), nil) {
					return
				}
			}
			if before = page.Before; before == "" {
				return
			}
		}
	}
}

// Put adds a user message with the id of its turn. It retries: the same message under one id is added once.
func (c Client) Put(ctx context.Context, id, turnID, text string, images ...llm.Image) error {
	return c.persist(ctx, pathOf(id)+"/turns", api.NewTurn{Text: text, ID: turnID, Images: views.NewImages(images)})
}

// Compact replaces the oldest messages by a summary, in a turn of that id. It retries as Put does.
func (c Client) Compact(ctx context.Context, id, turnID, instruction string) error {
	return c.persist(ctx, pathOf(id)+"/compact", api.Compact{ID: turnID, Instruction: instruction})
}

// Again repeats the unanswered question of the last turn, in a turn of that id. untilReset permits waiting for a
// usage window. It retries as Put does.
func (c Client) Again(ctx context.Context, id, turnID string, untilReset bool) error {
	return c.persist(ctx, pathOf(id)+"/again", api.Again{ID: turnID, UntilReset: untilReset})
}

// persist posts a body that may be posted twice.
func (c Client) persist(ctx context.Context, path string, body any) error {
	_, err := retry.Do(ctx, retry.Retrier{Policy: policy.Interactive()}, func(ctx context.Context, _ int) (struct{}, error) {
		return struct{}{}, c.call(ctx, http.MethodPost, path, body, nil)
	})
	return err
}

// Change replaces all settings of a conversation.
func (c Client) Change(ctx context.Context, id string, s conversation.Settings) error {
	return c.call(ctx, http.MethodPatch, pathOf(id), api.ChangeTo(s), nil)
}

// Edit replaces the text of a waiting input.
func (c Client) Edit(ctx context.Context, id, input, text string) error {
	return c.call(ctx, http.MethodPatch, inputPath(id, input), api.NewText{Text: text}, nil)
}

// Delete permanently deletes a conversation.
func (c Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, pathOf(id), nil, nil)
}

// Remove removes a waiting input.
func (c Client) Remove(ctx context.Context, id, input string) error {
	return c.call(ctx, http.MethodDelete, inputPath(id, input), nil, nil)
}

// Steer passes a waiting input to the turn in progress.
func (c Client) Steer(ctx context.Context, id, input string) error {
	return c.call(ctx, http.MethodPost, inputPath(id, input)+"/steer", nil, nil)
}

// Stop ends a turn; turnID "" is the turn in progress.
func (c Client) Stop(ctx context.Context, id, turnID string) error {
	return c.call(ctx, http.MethodPost, pathOf(id)+"/stop", api.Stop{TurnID: turnID}, nil)
}

// Move makes the turn in progress, which waits, ask another model.
func (c Client) Move(ctx context.Context, id, model string) error {
	return c.call(ctx, http.MethodPost, pathOf(id)+"/move", api.Move{Model: model}, nil)
}

// Answer answers whether a tool call that waits for approval may run. It retries: repeating the same answer has no
// effect.
func (c Client) Answer(ctx context.Context, id, call string, d turn.Decision) error {
	return c.persist(ctx, pathOf(id)+"/approvals/"+url.PathEscape(call), api.NewAnswer{Decision: d})
}

// Pause pauses a conversation until Resume. It retries: pausing twice has no further effect.
func (c Client) Pause(ctx context.Context, id string) error {
	return c.persist(ctx, pathOf(id)+"/pause", nil)
}

// Resume ends the pause of a conversation. It retries as Pause does.
func (c Client) Resume(ctx context.Context, id string) error {
	return c.persist(ctx, pathOf(id)+"/resume", nil)
}

// Now ends the wait of the turn in progress.
func (c Client) Now(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, pathOf(id)+"/now", nil, nil)
}
