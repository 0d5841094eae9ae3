package chat_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// deadline is how long an event may take.
const deadline = 30 * time.Second

var large = llm.Name{Provider: "acme", Model: "large"}

// defaults are the settings of new conversations.
var defaults = conversation.Settings{Model: "acme/large"}

// folder returns a folder whose model gives these answers.
func folder(dir string, answers ...llmtest.Answer) chat.Folder {
	model := llmtest.New(large, answers...)
	return chat.Folder{Dir: dir, WorkDir: "/work", Runner: func(e store.Store) *conversation.Runner {
		return conversation.New(conversation.Config{Store: e, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
			a := agent.Agent{Model: model}
			a.Retry.Policy = policy.Patient()
			return a, nil
		}})
	}}
}

// create creates a conversation that is closed at the end of the test.
func create(t *testing.T, in tui.Conversations) tui.Conversation {
	t.Helper()
	conv, err := in.New(t.Context(), defaults)
	return opened(t, conv, err)
}

// opened closes a conversation at the end of the test.
func opened(t *testing.T, conv tui.Conversation, err error) tui.Conversation {
	t.Helper()
	if err != nil {
		t.Fatalf("open conversation: %v", err)
	}
	t.Cleanup(func() { _ = conv.Close() })
	return conv
}

// send sends a prompt and returns its id.
func send(t *testing.T, conv tui.Conversation, text string) string {
	t.Helper()
	id := conversation.NewID()
	if err := conv.Do(t.Context(), tui.Send{ID: id, Text: text}); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
	return id
}

// do carries out a command.
func do(t *testing.T, conv tui.Conversation, c tui.Command) {
	t.Helper()
	if err := conv.Do(t.Context(), c); err != nil {
		t.Errorf("Do(%#v): %v", c, err)
	}
}

// until reads events up to the first that is found, and returns their types.
func until(t *testing.T, conv tui.Conversation, found func(wire.Body) bool) (types []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for e, err := range conv.Attach(ctx, 0) {
		if err != nil {
			t.Fatalf("read events after %v: %v", types, err)
		}
		if types = append(types, wire.Type(e.Body)); found(e.Body) {
			return types
		}
	}
	t.Fatalf("events: got %v, want another", types)
	return nil
}

// sealed reports whether an event is the end of a turn.
func sealed(b wire.Body) bool { return wire.Type(b) == turn.Type(turn.Sealed{}) }

// listed returns all entries of a list.
func listed(t *testing.T, in tui.Conversations) (all []tui.Entry) {
	t.Helper()
	for e, err := range in.List(t.Context()) {
		if err != nil {
			t.Fatalf("list conversations: %v", err)
		}
		all = append(all, e)
	}
	return all
}

// closed closes a conversation.
func closed(t *testing.T, conv tui.Conversation) {
	t.Helper()
	if err := conv.Close(); err != nil {
		t.Errorf("close conversation: %v", err)
	}
}

// names returns the names in a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("read directory: %v", err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// With these variables the test binary is a process with a conversation: it sends the text, if there is one, and
// prints the id of the conversation when its turn has started.
const (
	dirVariable  = "RIDETHROUGH_TEST_CHAT_DIR"
	textVariable = "RIDETHROUGH_TEST_CHAT_TEXT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		fmt.Println(runUntilKilled(dir, os.Getenv(textVariable)))
		return
	}
	os.Exit(m.Run())
}

// runUntilKilled has a conversation until the process is killed.
func runUntilKilled(dir, text string) error {
	ctx := context.Background()
	conv, err := folder(dir, llmtest.Hangs(llm.Text{Text: "so"})).New(ctx, defaults)
	if err != nil {
		return err
	}
	events := conv.Attach(ctx, 0) // before the prompt, so that no delta is missed
	if text == "" {
		fmt.Println("id", conv.ID())
	} else if err := conv.Do(ctx, tui.Send{ID: "1", Text: text}); err != nil {
		return err
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		if _, delta := turnEvent(e).(turn.TextDelta); delta {
			fmt.Println("id", conv.ID())
		}
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func turnEvent(e wire.Event) turn.Event {
	t, _ := e.Body.(wire.Turn)
	return t.Event
}

// killed starts a conversation in a process, kills the process and returns the id of the conversation.
func killed(t *testing.T, dir, text string) (id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+dir, textVariable+"="+text)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatalf("open stdin: %v", err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start process: %v", err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "id ")
	if !ok {
		t.Errorf("output of the process: got %q, want the id", line)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return id
}

// storeDir is the directory of a conversation.
func storeDir(dir, id string) string { return filepath.Join(dir, id) }
