// Package tui shows a conversation in a terminal, from the first failure of a provider to its
// recovery. It takes prompts meanwhile and never loses them.
//
// Where conversations are stored and which process runs them is up to the [Conversations] it is given.
//
// It has many files because each view and each key's command are parts of one bubbletea model.
package tui

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Conversations creates, opens and lists conversations.
type Conversations interface {
	// New creates a conversation and opens it.
	New(ctx context.Context, s conversation.Settings) (Conversation, error)
	// Open opens a conversation. The error wraps conversation.ErrNotFound if it does not exist, and store.ErrInUse
	// if it is open in another terminal.
	Open(ctx context.Context, id string) (Conversation, error)
	// List yields the conversations, the latest first.
	List(ctx context.Context) iter.Seq2[Entry, error]
}

// Entry is a conversation in a list. Its View holds what is known without opening it: id, model, title, when
// it was created and changed, and for local conversations the turn in progress and its wait.
type Entry struct {
	conversation.View
	Folder string // the working directory it was created in; "": unknown
	InUse  bool   // it is open in another terminal
}

// Conversation is an open conversation. Its methods may run concurrently.
type Conversation interface {
	ID() string
	Get(ctx context.Context) (conversation.View, error)
	// Attach yields the events after a record, as conversation.Runner does. Those of a conversation on
	// a server outlive the connection: none is missed, and an interruption is a wire.ConnectionLost and
	// then a wire.ConnectionBack, which are not part of the conversation.
	Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error]
	// Do carries out a command. Its errors are those of conversation.Runner.
	Do(ctx context.Context, c Command) error
	// Close stores the turn in progress, which continues when the conversation is opened again.
	Close() error
}

// Command is a request to a conversation: [Send], [Compact], [Remove], [Steer], [Retry], [Move], [RetryNow],
// [Pause], [Unpause], [Cancel], [Answer] or [Change].
type Command interface{ command() }

// The commands. A repeated Send, Compact or Retry with the same ID has no effect.
type (
	Send struct { // queue a prompt as the input ID
		ID, Text string
		Images   []llm.Image
	}
	Compact struct{ ID, Instruction string } // replace the oldest messages by a summary, in the turn ID
	Remove  struct{ ID string }              // remove a queued input
	Steer   struct{ ID string }              // pass a queued input to the turn in progress
	Retry   struct {                         // answer the last prompt again, in the turn ID
		ID         string
		UntilReset bool // it waits for a usage window that is spent
	}
	Move     struct{ Model string }                   // ask another model in the turn in progress, which waits
	RetryNow struct{}                                 // end the wait of the turn in progress
	Pause    struct{}                                 // ask no model and begin no turn until Unpause
	Unpause  struct{}                                 // end the pause of the conversation
	Cancel   struct{ ID string }                      // cancel a turn; "": the one in progress
	Change   struct{ Settings conversation.Settings } // use other settings from the next turn on
	Answer   struct {                                 // answer whether a call may run
		Call     string // its id
		Decision turn.Decision
	}
)

func (Send) command()     {}
func (Compact) command()  {}
func (Remove) command()   {}
func (Steer) command()    {}
func (Retry) command()    {}
func (Move) command()     {}
func (RetryNow) command() {}
func (Pause) command()    {}
func (Unpause) command()  {}
func (Cancel) command()   {}
func (Change) command()   {}
func (Answer) command()   {}
