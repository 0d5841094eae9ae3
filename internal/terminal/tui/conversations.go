// Package tui shows a conversation in a terminal, from the first failure of a provider to its
// recovery. It takes prompts meanwhile and never loses them.
//
// Where conversations are stored and which process runs them is up to the [Conversations] it is
// given.
package tui

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/wire"
)

// Conversations creates, opens and lists conversations.
type Conversations interface {
	// New creates a conversation and opens it.
	New(ctx context.Context, s conversation.Settings) (Conversation, error)
	// Open opens a conversation. The error wraps conversation.ErrNone if there is none, and
	// store.ErrInUse if it is open in another terminal.
	Open(ctx context.Context, id string) (Conversation, error)
	// List yields the conversations, the latest first.
	List(ctx context.Context) iter.Seq2[Entry, error]
}

// Entry is a conversation in a list. Its View holds what is known without opening it: id, model,
// title, when it was created and changed, and for local conversations the turn in progress and its
// wait.
type Entry struct {
	conversation.View
	Folder string // the working directory it was created in; "": unknown
	InUse  bool   // it is open in another terminal
}

// Conversation is a conversation that is open. Its methods may run concurrently; what
// they do is described at the methods of conversation.Runner.
type Conversation interface {
	ID() string
	Get(ctx context.Context) (conversation.View, error)
	// Attach is that of conversation.Runner. Where the conversation is a server's, it
	// outlives the connection: nothing is missed, and meanwhile it yields events
	// with a wire.ConnectionLost and then a wire.ConnectionBack, which are no
	// part of the conversation.
	Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error]
	Say(ctx context.Context, id, text string) (string, error)
	// Again has the model asked again what the last turn has failed to answer,
	// in a turn of its own, without saying it once more.
	Again(ctx context.Context) (string, error)
	Edit(ctx context.Context, input, text string) error
	Remove(ctx context.Context, input string) error
	Steer(ctx context.Context, input string) error
	Stop(ctx context.Context, turnID string) error
	Now(ctx context.Context) error
	// Change gives the settings with which the turns to come are made.
	Change(ctx context.Context, s conversation.Settings) error
	// Close hands back what is under way: it goes on when somebody opens the
	// conversation again.
	Close() error
}

// Approval is a tool call that needs approval.
type Approval struct {
	Call   llm.ToolCall
	Answer func(allow bool) // the first answer counts; it never blocks
}
