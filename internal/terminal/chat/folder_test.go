package chat_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
)

func TestFolder_StoresAndListsConversations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chats")
	f := folder(dir, llmtest.Says("hi"), llmtest.Says("bye"))
	first := create(t, f)
	send(t, first, "\n  Where is it?\nIn the house?")
	until(t, first, sealed)
	send(t, create(t, f), "Something else")
	closed(t, first)
	all := listed(t, f)
	for began := time.Now(); len(all) < 2 && time.Since(began) < deadline; all = listed(t, f) {
		runtime.Gosched() // one that is open is listed by its summary, which follows each event
	}
	if len(all) != 2 || all[1].ID != first.ID() || all[1].Settings.Title != "Where is it?" || all[1].Folder != "/work" || all[1].InUse || all[1].Turn != "" {
		t.Errorf("List: got %+v, want the closed one last", all)
	}
	conv, err := f.Open(t.Context(), first.ID())
	again := opened(t, conv, err)
	if types := until(t, again, sealed); !slices.Contains(types, "assistant-message") {
		t.Errorf("events: got %v, want an assistant-message", types)
	}
	if v, err := again.Get(t.Context()); err != nil || v.Settings.Title != "Where is it?" || v.Settings.Model != defaults.Model {
		t.Errorf("Get after Open: got %+v, %v, want title and model as before", v, err)
	}
	if info, err := os.Stat(filepath.Join(storeDir(dir, first.ID()), "summary.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("summary: got %v, %v, want mode 0600", info, err)
	}
}

func TestFolder_RemovesAConversationWithoutInput(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir)
	conv := create(t, f)
	do(t, conv, tui.Change{Settings: conversation.Settings{Model: "acme/small"}})
	if all := listed(t, f); len(all) != 0 {
		t.Errorf("List: got %+v, want none", all)
	}
	closed(t, conv)
	closed(t, conv)
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("files left: got %v, want none", left)
	}
}

func TestFolder_OpensAConversationOnce(t *testing.T) {
	dir := t.TempDir()
	here, there := folder(dir, llmtest.Says("hi")), folder(dir, llmtest.Says("two"))
	conv := create(t, here)
	send(t, conv, "hello")
	until(t, conv, sealed)
	if _, err := there.Open(t.Context(), conv.ID()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("Open in a second terminal: got %v, want ErrInUse", err)
	}
	all := listed(t, there)
	if len(all) != 1 || !all[0].InUse || all[0].Settings.Title != "hello" || all[0].ID != conv.ID() {
		t.Errorf("List in a second terminal: got %+v, want the conversation in use", all)
	}
	closed(t, conv)
	if all := listed(t, there); len(all) != 1 || all[0].InUse {
		t.Errorf("List after Close: got %+v, want the conversation not in use", all)
	}
	same, err := there.Open(t.Context(), conv.ID())
	send(t, opened(t, same, err), "and?")
}

func TestFolder_OpensNothingElse(t *testing.T) {
	dir := t.TempDir()
	f := folder(filepath.Join(dir, "chats"))
	outside := folder(dir, llmtest.Says("hi"))
	conv := create(t, outside)
	send(t, conv, "hello")
	closed(t, conv)
	if len(listed(t, f)) != 0 {
		t.Error("List: got a conversation, want none")
	}
	for _, id := range []string{"", ".", "..", "../" + conv.ID(), `..\` + conv.ID(), "20000101-000000-aaaaaaaaaa"} {
		if _, err := f.Open(t.Context(), id); !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("Open(%q): got %v, want ErrNotFound", id, err)
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("files: got %v, want the other conversation only", left)
	}
}

func TestFolder_ListsAConversationWhoseProcessWasKilled(t *testing.T) {
	dir := t.TempDir()
	id := killed(t, dir, "hello")
	f := folder(dir, llmtest.Says("hi"))
	before := listed(t, f)
	if len(before) != 1 || before[0].ID != id || before[0].InUse || before[0].Turn == "" || before[0].Settings.Title != "hello" || before[0].Folder != "/work" {
		t.Errorf("List: got %+v, want the conversation with its turn", before)
	}
	conv, err := f.Open(t.Context(), id)
	if types := until(t, opened(t, conv, err), sealed); !slices.Contains(types, "turn-restarted") {
		t.Errorf("events: got %v, want a turn-restarted", types)
	}
}

func TestFolder_RemovesAKilledConversationWithoutInput(t *testing.T) {
	dir := t.TempDir()
	killed(t, dir, "")
	if all := listed(t, folder(dir)); len(all) != 0 {
		t.Errorf("List: got %+v, want none", all)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("files left: got %v, want none", left)
	}
}

// The store decides, whatever the summary says.
func TestFolder_ListIgnoresStaleSummaries(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"), llmtest.Says("again"))
	conv := create(t, f)
	send(t, conv, "hello")
	until(t, conv, sealed)
	closed(t, conv)
	name := filepath.Join(storeDir(dir, conv.ID()), "summary.json")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read summary: %v", err)
	}
	elsewhere := folder(dir, llmtest.Says("more"))
	same, err := elsewhere.Open(t.Context(), conv.ID())
	now := opened(t, same, err)
	do(t, now, tui.Change{Settings: conversation.Settings{Model: "acme/small", Title: "Other"}})
	closed(t, now)
	for what, text := range map[string]string{"stale": string(old), "cut off": string(old[:20]), "empty": "", "none": "-"} {
		err := os.WriteFile(name, []byte(text), 0o600)
		if text == "-" {
			err = os.Remove(name)
		}
		if err != nil {
			t.Fatalf("write %s summary: %v", what, err)
		}
		if all := listed(t, f); len(all) != 1 || all[0].Settings.Title != "Other" || all[0].Settings.Model != "acme/small" || all[0].ID != conv.ID() {
			t.Errorf("List with a summary that is %s: got %+v, want the state of the store", what, all)
		}
	}
}

func TestFolder_ListsADamagedConversation(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"))
	conv := create(t, f)
	send(t, conv, "hello")
	until(t, conv, sealed)
	closed(t, conv)
	if err := os.WriteFile(filepath.Join(storeDir(dir, conv.ID()), "conversations.db"), make([]byte, 1<<14), 0o600); err != nil {
		t.Fatalf("damage store: %v", err)
	}
	if err := os.Remove(filepath.Join(storeDir(dir, conv.ID()), "summary.json")); err != nil {
		t.Fatalf("remove summary: %v", err)
	}
	if all := listed(t, f); len(all) != 1 || all[0].ID != conv.ID() {
		t.Errorf("List: got %+v, want the damaged conversation", all)
	}
	if _, err := f.Open(t.Context(), conv.ID()); err == nil || !strings.Contains(err.Error(), "conversations.db: invalid database") {
		t.Errorf("Open: got %v, want it to name the damaged file", err)
	}
}

func TestFolder_RemovesOnlyEmptyStores(t *testing.T) {
	dir := t.TempDir()
	for id, holds := range map[string]string{"empty": "", "other": "conv"} {
		e, err := bolt.Open(t.Context(), bolt.Config{Dir: storeDir(dir, id)})
		if err != nil {
			t.Fatalf("open store %s: %v", id, err)
		}
		if holds != "" {
			if _, err := conversation.New(conversation.Config{Store: e}).Create(t.Context(), holds, defaults); err != nil {
				t.Errorf("create conversation: %v", err)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("close store %s: %v", id, err)
		}
	}
	f := folder(dir)
	for range 2 {
		if all := listed(t, f); len(all) != 1 || all[0].ID != "other" {
			t.Errorf("List: got %+v, want the store that is not empty", all)
		}
	}
	if left := names(t, dir); !slices.Equal(left, []string{"other"}) {
		t.Errorf("stores left: got %v, want [other]", left)
	}
}

func TestFolder_WithoutDirIsInMemory(t *testing.T) {
	f := folder("", llmtest.Says("hi"))
	conv := create(t, f)
	send(t, conv, "hello")
	until(t, conv, sealed)
	if all := listed(t, f); len(all) != 0 {
		t.Errorf("List: got %+v, want none", all)
	}
	closed(t, conv)
	if _, err := f.Open(t.Context(), conv.ID()); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Open of a closed conversation in memory: got %v, want ErrNotFound", err)
	}
}

func TestFolder_OverridesAndValidatesSettings(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"), llmtest.Says("so"))
	conv := create(t, f)
	send(t, conv, "hello")
	until(t, conv, sealed)
	closed(t, conv)
	none := errors.New("no such model")
	f.Validate = func(s conversation.Settings) (conversation.Settings, error) {
		if s.Model == "acme/none" {
			return s, none
		}
		return s, nil
	}
	f.Override = func(s conversation.Settings) conversation.Settings { s.Model = "acme/none"; return s }
	if _, err := f.Open(t.Context(), conv.ID()); !errors.Is(err, none) {
		t.Errorf("Open with an unknown model: got %v, want %v", err, none)
	}
	f.Override = func(s conversation.Settings) conversation.Settings { s.Model = "acme/small"; return s }
	same, err := f.Open(t.Context(), conv.ID())
	now := opened(t, same, err)
	if v, err := now.Get(t.Context()); err != nil || v.Settings.Model != "acme/small" || v.Settings.Title != "hello" {
		t.Errorf("Get: got %+v, %v, want the overridden model and the title", v, err)
	}
	if err := now.Do(t.Context(), tui.Change{Settings: conversation.Settings{Model: "acme/none"}}); !errors.Is(err, none) {
		t.Errorf("Change to an unknown model: got %v, want %v", err, none)
	}
	if _, err := f.New(t.Context(), conversation.Settings{Model: "acme/none"}); !errors.Is(err, none) {
		t.Errorf("New with an unknown model: got %v, want %v", err, none)
	}
}

// An earlier version's conversation stays listed, and opening it says what to do.
func TestFolder_ListsAConversationOfAnotherFormat(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"))
	conv := create(t, f)
	send(t, conv, "hello")
	until(t, conv, sealed)
	closed(t, conv)
	place := storeDir(dir, conv.ID())
	err := os.Rename(filepath.Join(place, "conversations.db"), filepath.Join(place, "format.json"))
	if err != nil {
		t.Fatalf("make the format that of an earlier version: %v", err)
	}
	for _, summary := range []string{"kept", "removed"} {
		if all := listed(t, f); len(all) != 1 || all[0].ID != conv.ID() {
			t.Errorf("List with its summary %s: got %+v, want the conversation", summary, all)
		}
		if _, err := f.Open(t.Context(), conv.ID()); !errors.Is(err, bolt.ErrFormat) {
			t.Errorf("Open with its summary %s: got %v, want ErrFormat", summary, err)
		}
		_ = os.Remove(filepath.Join(place, "summary.json"))
	}
}
