package chat_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/wire"
)

func TestConversations(t *testing.T) {
	for name, with := range map[string]func(t *testing.T, answers ...llmtest.Answer) tui.Conversations{
		"Folder": func(t *testing.T, answers ...llmtest.Answer) tui.Conversations {
			return folder(t.TempDir(), answers...)
		},
		"Server": func(t *testing.T, answers ...llmtest.Answer) tui.Conversations { return newServer(t, answers...) },
	} {
		t.Run(name, func(t *testing.T) {
			refused := &fault.Error{Kind: fault.Invalid, Status: 400, Message: "no"}
			testCommands(t, with(t, llmtest.Fails(refused), llmtest.Hangs(), llmtest.Says("three")))
			testErrors(t, with(t))
		})
	}
}

// testCommands carries out each command on a conversation whose second answer hangs.
func testCommands(t *testing.T, in tui.Conversations) {
	conv := create(t, in)
	send(t, conv, "hello\nyou")
	until(t, conv, sealed)
	do(t, conv, tui.Retry{ID: "retry"})
	until(t, conv, nth(2, "turn-start"))
	send(t, conv, "x")
	removed, steering := send(t, conv, "y"), send(t, conv, "z")
	do(t, conv, tui.Remove{ID: removed})
	do(t, conv, tui.Steer{ID: steering})
	do(t, conv, tui.RetryNow{})
	if err := conv.Do(t.Context(), tui.Remove{ID: removed}); !errors.Is(err, conversation.ErrNotQueued) {
		t.Errorf("Remove twice: got %v, want ErrNotQueued", err)
	}
	v, err := conv.Get(t.Context())
	if err != nil || v.ID != conv.ID() || v.Turn == "" || v.Settings.Title != "hello" || v.Last == 0 {
		t.Errorf("Get: got %+v, %v, want a turn and the title", v, err)
	}
	if len(v.Inputs) != 2 || v.Inputs[0].Text != "x" || !v.Inputs[1].Steers {
		t.Errorf("inputs: got %+v, want x and, steering, z", v.Inputs)
	}
	do(t, conv, tui.Cancel{ID: v.Turn})
	if types := until(t, conv, nth(3, "turn-sealed")); !slices.Contains(types, "input-removed") {
		t.Errorf("events: got %v, want an input-removed", types)
	}
	closed(t, conv) // a list shows an open one as of some moments ago
	all := listed(t, in)
	if len(all) != 1 || all[0].ID != conv.ID() || all[0].Settings.Title != "hello" || all[0].Settings.Model != defaults.Model {
		t.Errorf("List: got %+v, want the conversation", all)
	}
}

// testErrors checks the errors of a conversation without turns.
func testErrors(t *testing.T, in tui.Conversations) {
	if _, err := in.Open(t.Context(), "none"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Open: got %v, want ErrNotFound", err)
	}
	conv := create(t, in)
	for command, want := range map[tui.Command]error{
		tui.Retry{ID: "retry"}: conversation.ErrAnswered, tui.Cancel{}: conversation.ErrIdle, tui.Remove{ID: "none"}: conversation.ErrNotQueued,
	} {
		if err := conv.Do(t.Context(), command); !errors.Is(err, want) {
			t.Errorf("Do(%#v): got %v, want %v", command, err, want)
		}
	}
}

// nth finds the nth event of a type.
func nth(n int, kind string) func(wire.Body) bool {
	return func(b wire.Body) bool {
		if wire.Type(b) == kind {
			n--
		}
		return n == 0
	}
}
