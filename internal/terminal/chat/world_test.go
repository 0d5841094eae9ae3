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

// patience is how long something may take that takes moments.
const patience = 30 * time.Second

var large = llm.Name{Provider: "acme", Model: "large"}

// made is what conversations are made with here.
var made = conversation.Settings{Model: "acme/large"}

// folder is one whose model gives these answers.
func folder(dir string, answers ...llmtest.Answer) chat.Folder {
	model := llmtest.New(large, answers...)
	return chat.Folder{Dir: dir, WorkDir: "/work", Runner: func(e store.Store) *conversation.Runner {
		return conversation.New(conversation.Config{Store: e, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
			w := agent.Agent{Model: model}
			w.Retry.Policy = policy.Patient()
			return w, nil
		}})
	}}
}

// begun is a new conversation.
func begun(t *testing.T, in tui.Conversations) tui.Conversation {
	t.Helper()
	talk, err := in.New(t.Context(), made)
	return opened(t, talk, err)
}

// opened is a conversation that is closed at the end.
func opened(t *testing.T, talk tui.Conversation, err error) tui.Conversation {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = talk.Close() })
	return talk
}

func say(t *testing.T, talk tui.Conversation, text string) {
	t.Helper()
	if _, err := talk.Say(t.Context(), "", text); err != nil {
		t.Fatal(err)
	}
}

// until follows a conversation until an event is what somebody looks for, and
// gives the types of all.
func until(t *testing.T, talk tui.Conversation, found func(wire.Body) bool) (types []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for e, err := range talk.Attach(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if types = append(types, wire.Type(e.Body)); found(e.Body) {
			return types
		}
	}
	t.Fatal("it never came:", types)
	return nil
}

// sealed is the end of a turn.
func sealed(b wire.Body) bool { return wire.Type(b) == turn.Type(turn.Sealed{}) }

// listed gives all that a list shows.
func listed(t *testing.T, in tui.Conversations) (all []tui.Entry) {
	t.Helper()
	for e, err := range in.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// shut closes a conversation.
func shut(t *testing.T, talk tui.Conversation) {
	t.Helper()
	if err := talk.Close(); err != nil {
		t.Error(err)
	}
}

// names gives what is in a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// The variables that make the test binary a process with a conversation: it
// says the text, if there is one, tells the conversation's id when its turn is
// under way, and is killed.
const (
	dirVariable  = "RIDETHROUGH_TEST_TALKS_DIR"
	textVariable = "RIDETHROUGH_TEST_TALKS_TEXT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		fmt.Println(live(dir, os.Getenv(textVariable)))
		return
	}
	os.Exit(m.Run())
}

// live has a conversation until it is killed.
func live(dir, text string) error {
	ctx := context.Background()
	talk, err := folder(dir, llmtest.Hangs(llm.Text{Text: "so"})).New(ctx, made)
	if err != nil {
		return err
	}
	if text == "" {
		fmt.Println("talk", talk.ID())
	} else if _, err := talk.Say(ctx, "", text); err != nil {
		return err
	}
	for e, err := range talk.Attach(ctx, 0) {
		if err != nil {
			return err
		}
		if _, said := turnEvent(e).(turn.TextDelta); said {
			fmt.Println("talk", talk.ID())
		}
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func turnEvent(e wire.Event) turn.Event {
	t, _ := e.Body.(wire.Turn)
	return t.Event
}

// killed has a process begin a conversation, and kills it.
func killed(t *testing.T, dir, text string) (id string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+dir, textVariable+"="+text)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "talk ")
	if !ok {
		t.Errorf("the process says %q", line)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return id
}

// storeDir is where a conversation of a folder is.
func storeDir(dir, id string) string { return filepath.Join(dir, id) }
