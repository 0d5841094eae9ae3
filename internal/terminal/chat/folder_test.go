package chat_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

func TestAConversationIsKeptAndFoundAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chats")
	f := folder(dir, llmtest.Says("hi"), llmtest.Says("bye"))
	first := begun(t, f)
	say(t, first, "\n  Where is it?\nIn the house?")
	until(t, first, sealed)
	say(t, begun(t, f), "Something else")
	shut(t, first)
	all := listed(t, f)
	if len(all) != 2 || all[1].ID != first.ID() || all[1].Settings.Title != "Where is it?" || all[1].Folder != "/work" || all[1].InUse || all[1].Turn != "" {
		t.Errorf("%+v", all)
	}
	talk, err := f.Open(t.Context(), first.ID())
	again := opened(t, talk, err)
	if types := until(t, again, sealed); !slices.Contains(types, "assistant-message") {
		t.Error(types)
	}
	if v, err := again.Get(t.Context()); err != nil || v.Settings.Title != "Where is it?" || v.Settings.Model != made.Model {
		t.Errorf("%+v, %v", v, err)
	}
	if info, err := os.Stat(filepath.Join(storeDir(dir, first.ID()), "head.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestAConversationInWhichNothingWasSaidIsNotKept(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir)
	talk := begun(t, f)
	if err := talk.Change(t.Context(), conversation.Settings{Model: "acme/small"}); err != nil {
		t.Error(err)
	}
	if all := listed(t, f); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	shut(t, talk)
	shut(t, talk)
	if left := names(t, dir); len(left) != 0 {
		t.Error(left)
	}
}

func TestAConversationIsOpenInOneTerminalAtATime(t *testing.T) {
	dir := t.TempDir()
	here, there := folder(dir, llmtest.Says("hi")), folder(dir, llmtest.Says("two"))
	talk := begun(t, here)
	say(t, talk, "hello")
	until(t, talk, sealed)
	if _, err := there.Open(t.Context(), talk.ID()); !errors.Is(err, store.ErrInUse) {
		t.Error(err)
	}
	all := listed(t, there)
	if len(all) != 1 || !all[0].InUse || all[0].Settings.Title != "hello" || all[0].ID != talk.ID() {
		t.Errorf("%+v", all)
	}
	shut(t, talk)
	if all := listed(t, there); len(all) != 1 || all[0].InUse {
		t.Errorf("%+v", all)
	}
	same, err := there.Open(t.Context(), talk.ID())
	say(t, opened(t, same, err), "and?")
}

func TestWhatIsNoConversationIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	f := folder(filepath.Join(dir, "chats"))
	outside := folder(dir, llmtest.Says("hi"))
	talk := begun(t, outside)
	say(t, talk, "hello")
	shut(t, talk)
	if len(listed(t, f)) != 0 {
		t.Error("there is one")
	}
	for _, id := range []string{"", ".", "..", "../" + talk.ID(), `..\` + talk.ID(), "20000101-000000-aaaaaaaaaa"} {
		if _, err := f.Open(t.Context(), id); !errors.Is(err, conversation.ErrNone) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Error("something was made:", left)
	}
}

func TestAConversationWhoseProcessWasKilledIsListedAsItIs(t *testing.T) {
	dir := t.TempDir()
	id := killed(t, dir, "hello")
	f := folder(dir, llmtest.Says("hi"))
	before := listed(t, f)
	if len(before) != 1 || before[0].ID != id || before[0].InUse || before[0].Turn == "" || before[0].Settings.Title != "hello" || before[0].Folder != "/work" {
		t.Errorf("%+v", before)
	}
	talk, err := f.Open(t.Context(), id)
	if types := until(t, opened(t, talk, err), sealed); !slices.Contains(types, "turn-restarted") {
		t.Error(types)
	}
}

func TestAProcessThatIsKilledBeforeAnythingIsSaidLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	killed(t, dir, "")
	if all := listed(t, folder(dir)); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Error(left)
	}
}

// Whatever has become of the head, the store knows.
func TestAListTellsTheTruthWhateverItsFilesSay(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"), llmtest.Says("again"))
	talk := begun(t, f)
	say(t, talk, "hello")
	until(t, talk, sealed)
	shut(t, talk)
	name := filepath.Join(storeDir(dir, talk.ID()), "head.json")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := folder(dir, llmtest.Says("more"))
	same, err := elsewhere.Open(t.Context(), talk.ID())
	now := opened(t, same, err)
	if err := now.Change(t.Context(), conversation.Settings{Model: "acme/small", Title: "Other"}); err != nil {
		t.Error(err)
	}
	shut(t, now)
	for what, text := range map[string]string{"of before": string(old), "cut off": string(old[:20]), "empty": "", "none": "-"} {
		err := os.WriteFile(name, []byte(text), 0o600)
		if text == "-" {
			err = os.Remove(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if all := listed(t, f); len(all) != 1 || all[0].Settings.Title != "Other" || all[0].Settings.Model != "acme/small" || all[0].ID != talk.ID() {
			t.Errorf("%s: %+v", what, all)
		}
	}
}

func TestADamagedConversationIsListedAndSaysSoWhenItIsOpened(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"))
	talk := begun(t, f)
	say(t, talk, "hello")
	until(t, talk, sealed)
	shut(t, talk)
	if err := os.WriteFile(filepath.Join(storeDir(dir, talk.ID()), "mode"), []byte("cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(storeDir(dir, talk.ID()), "head.json")); err != nil {
		t.Fatal(err)
	}
	if all := listed(t, f); len(all) != 1 || all[0].ID != talk.ID() {
		t.Errorf("%+v", all)
	}
	if _, err := f.Open(t.Context(), talk.ID()); !errors.Is(err, store.ErrMode) {
		t.Error(err)
	}
}

func TestAStoreIsTakenAwayOnlyIfThereIsNothingInIt(t *testing.T) {
	dir := t.TempDir()
	for id, holds := range map[string]string{"nothing": "", "other": "talk"} {
		e, err := store.Open(t.Context(), store.Config{Dir: storeDir(dir, id)})
		if err != nil {
			t.Fatal(err)
		}
		if holds != "" {
			if _, err := conversation.New(conversation.Config{Store: e}).Create(t.Context(), holds, made); err != nil {
				t.Error(err)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	f := folder(dir)
	for range 2 {
		if all := listed(t, f); len(all) != 1 || all[0].ID != "other" {
			t.Errorf("%+v", all)
		}
	}
	if left := names(t, dir); !slices.Equal(left, []string{"other"}) {
		t.Error(left)
	}
}

func TestWhereNothingIsKeptOneCanTalkAllTheSame(t *testing.T) {
	f := folder("", llmtest.Says("hi"))
	talk := begun(t, f)
	say(t, talk, "hello")
	until(t, talk, sealed)
	if all := listed(t, f); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	shut(t, talk)
	if _, err := f.Open(t.Context(), talk.ID()); !errors.Is(err, conversation.ErrNone) {
		t.Error(err)
	}
}

func TestAConversationIsOpenedWithOtherSettingsIfTheyCanBeHad(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, llmtest.Says("hi"), llmtest.Says("so"))
	talk := begun(t, f)
	say(t, talk, "hello")
	until(t, talk, sealed)
	shut(t, talk)
	none := errors.New("no such model")
	f.Validate = func(s conversation.Settings) (conversation.Settings, error) {
		if s.Model == "acme/none" {
			return s, none
		}
		return s, nil
	}
	f.Override = func(s conversation.Settings) conversation.Settings { s.Model = "acme/none"; return s }
	if _, err := f.Open(t.Context(), talk.ID()); !errors.Is(err, none) {
		t.Error(err)
	}
	f.Override = func(s conversation.Settings) conversation.Settings { s.Model = "acme/small"; return s }
	same, err := f.Open(t.Context(), talk.ID())
	now := opened(t, same, err)
	if v, err := now.Get(t.Context()); err != nil || v.Settings.Model != "acme/small" || v.Settings.Title != "hello" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := now.Change(t.Context(), conversation.Settings{Model: "acme/none"}); !errors.Is(err, none) {
		t.Error(err)
	}
	if _, err := f.New(t.Context(), conversation.Settings{Model: "acme/none"}); !errors.Is(err, none) {
		t.Error(err)
	}
}

func TestATalkDoesWhatItsConversationDoes(t *testing.T) {
	refused := &fault.Error{Kind: fault.Invalid, Status: 400, Message: "no"}
	f := folder(t.TempDir(), llmtest.Fails(refused), llmtest.Hangs(), llmtest.Says("three"))
	talk := begun(t, f)
	say(t, talk, "one")
	until(t, talk, sealed)
	if _, err := talk.Again(t.Context()); err != nil {
		t.Error(err)
	}
	n := 0
	until(t, talk, func(b wire.Body) bool { // it hangs
		if wire.Type(b) == "turn-start" {
			n++
		}
		return n == 2
	})
	var waiting []string
	for _, text := range []string{"x", "y", "z"} {
		id, err := talk.Say(t.Context(), "", text)
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, id)
	}
	ctx := t.Context()
	for i, err := range []error{talk.Edit(ctx, waiting[0], "two"), talk.Remove(ctx, waiting[1]), talk.Steer(ctx, waiting[2]), talk.Now(ctx)} {
		if err != nil {
			t.Error(i, err)
		}
	}
	if v, err := talk.Get(ctx); err != nil || len(v.Inputs) != 2 || v.Inputs[0].Text != "two" || !v.Inputs[1].Steers {
		t.Errorf("%+v, %v", v, err)
	}
	if err := talk.Stop(ctx, ""); err != nil {
		t.Error(err)
	}
	n = 0
	types := until(t, talk, func(b wire.Body) bool {
		if sealed(b) {
			n++
		}
		return n == 3
	})
	if got := strings.Join(types, " "); !strings.Contains(got, "input-removed") {
		t.Error(got)
	}
}
