package transfer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/store"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

func talk(id string, said ...string) transfer.Conversation {
	c := transfer.Conversation{ID: id}
	for i, text := range said {
		body, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			panic(err)
		}
		c.Records = append(c.Records, store.Record{N: int64(i + 1), Time: noon, Turn: "t", Type: "user-message", Body: body})
	}
	return c
}

func write(t testing.TB, all ...transfer.Conversation) string {
	t.Helper()
	var b bytes.Buffer
	w, err := transfer.NewWriter(&b, noon)
	for _, c := range all {
		if err == nil {
			err = w.Add(c)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("close: %v", err)
	}
	return b.String()
}

func read(text string) (all []transfer.Conversation, err error) {
	for c, err := range transfer.Read(strings.NewReader(text)) {
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

func Example() {
	w, _ := transfer.NewWriter(os.Stdout, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	born := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	_ = w.Add(transfer.Conversation{ID: "c1", Records: []store.Record{
		{N: 1, Time: born, Type: "conversation-created", Body: json.RawMessage(`{"format":1,"model":"anthropic/claude-opus-4-5"}`)},
	}})
	fmt.Println(w.Close())
	// Output:
	// {"format":"ridethrough-conversations","version":1,"time":"2026-11-21T12:00:00Z"}
	// {"conversation":"c1","n":1,"time":"2026-11-20T09:30:00Z","type":"conversation-created","body":{"format":1,"model":"anthropic/claude-opus-4-5"}}
	// {"end":{"conversations":1,"records":1}}
	// <nil>
}

func TestRead_ReturnsWhatWasWritten(t *testing.T) {
	all := []transfer.Conversation{talk("a", "hello", "<b> & \u2028"), talk("b", strings.Repeat("long ", 50_000)), talk("c", "")}
	text := write(t, all...)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		t.Fatalf("write: %v", err)
	}
	for _, form := range []string{text, zipped.String()} {
		got, err := read(form)
		if err != nil || !reflect.DeepEqual(all, got) { // cmp takes seconds for so much text
			t.Errorf("%v, %d conversations", err, len(got))
		}
		if got, err = read(form + form); err != nil || len(got) != 6 {
			t.Errorf("one behind the other: %v, %d", err, len(got))
		}
	}
	for range transfer.Read(strings.NewReader(text)) {
		break
	}
	if got, err := read(write(t)); err != nil || len(got) != 0 {
		t.Errorf("file without conversations: got %v and error %v, want none", got, err)
	}
}

func TestRead_ErrorNamesTheLine(t *testing.T) {
	text := write(t, talk("a", "1", "2"), talk("b", "3"))
	lines := strings.SplitAfter(text, "\n")
	for n := range len(text) - 1 {
		got, err := read(text[:n])
		whole := 0
		if n >= len(strings.Join(lines[:4], ""))-1 {
			whole = 1 // the next one has begun
		}
		if err == nil || len(got) > whole || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%d bytes: %d conversations, %v", n, len(got), err)
		}
	}
	without := func(n int) string { return strings.Join(append(append([]string{}, lines[:n]...), lines[n+1:]...), "") }
	tests := []struct{ name, text, says string }{
		{"nothing", "", "line 1: the file is empty"},
		{"something else", `{"v":1,"type":"turn-start"}`, "line 1: not a line of a conversation file"},
		{"a record first", lines[1], "line 1: not a conversation file"},
		{"of tomorrow", strings.Replace(text, `"version":1`, `"version":2`, 1), "line 1: the file has version 2"},
		{"no first record", without(1), "line 2: conversation a has record 2, want 1"},
		{"a record too few", without(2), "line 4: the file has 2 records in 2 conversations, want 3 in 2"},
		{"no end", without(4), "line 4: the file is truncated here"},
		{"not ours", strings.Replace(text, `"a"`, `""`, 1), "line 2: the record has no conversation"},
		{"an end too early", lines[0] + lines[4], "line 2: the file has 0 records in 0 conversations, want 3 in 2"},
		{"no gzip", "\x1f\x8bnone", "line 1: "},
	}
	for _, tt := range tests {
		if _, err := read(tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.says)
		}
	}
}

func TestAll_ContinuesAfterDamage(t *testing.T) {
	e := store.Memory()
	for _, id := range []string{"a", "b", "c"} {
		if _, err := e.Append(t.Context(), id, store.Position{}, store.Record{Type: "x"}); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	var got []string
	for head, err := range transfer.All(t.Context(), torn{e}) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, head.ID)
	}
	if want := []string{"c", "conversation b is damaged from record 1 on: torn", "a"}; cmp.Diff(want, got) != "" {
		t.Errorf("All: got %q, want %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(write(f, talk("a", "hello", "you"), talk("b", "x"))))
	f.Add([]byte(`{"format":"ridethrough-conversations","version":1}` + "\n" + `{"conversation":"a","n":1}`))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := read(string(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		w, err := transfer.NewWriter(&b, noon)
		for _, c := range all {
			if err == nil {
				err = w.Add(c)
			}
		}
		if err != nil {
			return // years that have no form in JSON
		}
		_ = w.Close()
		again, err := read(b.String())
		if err != nil || len(again) != len(all) {
			t.Errorf("%v: %d conversations after %d", err, len(again), len(all))
		}
	})
}
