package registry_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// TestAPIs_Conform holds every API against its recordings, which are in its folder.
func TestAPIs_Conform(t *testing.T) {
	for _, a := range registry.All() {
		t.Run(a.Name(), func(t *testing.T) {
			name := strings.TrimSuffix(a.Name(), "-vertex") // whose answers are the same
			folders, err := filepath.Glob("../*/testdata/" + name)
			if err != nil || len(folders) != 1 {
				t.Fatalf("recordings: got %q and error %v, want one folder testdata/%s", folders, err, name)
			}
			conform(t, a, os.DirFS(folders[0]))
		})
	}
}

// checks are what every recording is held against. Those that do not take any frames get only answers. A round trip
// through the writer of an API belongs here, as one more row.
var checks = []struct {
	name  string
	any   bool
	check func(*testing.T, *api.API, recording)
}{
	{"frames say what is declared", true, saysDeclared},
	{"members that are new change nothing", true, passesNewMembers},
	{"any line ends, with or without names", true, readsLineEnds},
	{"any parts of a stream are the same frames", false, readsParts},
	{"a cut is no end", false, noticesCuts},
	{"keepalives change nothing", false, passesKeepalives},
	{"events that are new pass", false, passesNewEvents},
	{"errors are failures anywhere", false, noticesErrors},
}

// conform holds an API against the recordings of its answers.
func conform(t *testing.T, a *api.API, recordings fs.FS) {
	all := load(t, recordings)
	for _, r := range all {
		for _, c := range checks {
			if c.any || !r.loose {
				t.Run(r.name+"/"+c.name, func(t *testing.T) { c.check(t, a, r) })
			}
		}
	}
	t.Run("recordings are complete", func(t *testing.T) { areComplete(t, all) })
	t.Run("errors of every kind are failures", func(t *testing.T) { writesErrors(t, a, all) })
}

// features are what the recordings of an API show, as texts of the declared lines.
var features = map[string]string{
	"reasoning": " reasoning", "text": " text", "calls": " call", "usage": ", usage ", "refusals": ", refuses ", "errors": "failure", "ends": " plainly",
	"whole": ".json content", "whole errors": ".json failure", "several calls": "call … call",
}

// areComplete wants each feature to be in a recording, or to be named in one as what the API does not have.
func areComplete(t *testing.T, all []recording) {
	var lacks []string
	shown := ""
	for _, r := range all {
		lacks = append(lacks, r.lacks...)
		calls := 0
		for _, f := range r.frames {
			shown += f.declared + "\n"
			if r.form == api.JSON {
				shown += ".json " + f.declared + "\n"
			}
			calls += strings.Count(f.declared, " call")
		}
		if !r.loose && calls > 1 {
			shown += "call … call\n"
		}
	}
	for _, feature := range slices.Sorted(maps.Keys(features)) {
		if has, lacking := strings.Contains(shown, features[feature]), slices.Contains(lacks, feature); has == lacking {
			t.Errorf("%s: in a recording %t, named as lacking %t; want one of both", feature, has, lacking)
		}
	}
}

// saysDeclared checks what each frame says, and that a reader after content sees the same in it.
func saysDeclared(t *testing.T, a *api.API, r recording) {
	for _, f := range r.frames {
		if got := describe(a, r.form, f.text); got != f.declared {
			t.Errorf("frame %q says\n%s, want\n%s", f.text, got, f.declared)
		}
		kind := a.FrameKind(r.form, f.text)
		if later := a.LaterFrameKind(r.form, f.text); r.form != api.JSON && max(later, api.Content) != max(kind, api.Content) {
			t.Errorf("frame %q is %s after content, want %s", f.text, kinds[later], kinds[kind])
		}
		if r.form != api.JSON || f.text[0] != '{' {
			continue
		}
		for n := range len(bytes.TrimSpace(f.text)) {
			if got := a.BodyKind(f.text[:n]); got == api.Content {
				t.Errorf("%q, the beginning of a body, is %s", f.text[:n], kinds[got])
			}
		}
	}
}

// passesNewMembers adds members to the data of each frame, which may be content of their own at most.
func passesNewMembers(t *testing.T, a *api.API, r recording) {
	const first, last = `"new_before":{"a":["}]"]},`, `,"new_after":[{"error":{"type":"error"}}]`
	for _, f := range r.frames {
		name, data := api.Payload(r.form, f.text)
		kind := a.FrameKind(r.form, f.text)
		if !json.Valid(data) || data[0] != '{' || len(data) < 3 || r.form == api.AWSEvents && kind == api.Failure {
			continue
		}
		more := []byte("{" + first + string(data[1:len(data)-1]) + last + "}")
		frame := bytes.Replace(f.text, data, more, 1)
		if r.form == api.AWSEvents {
			frame = api.AWSEvent(name, more)
		}
		got := a.FrameKind(r.form, frame)
		if got != kind && (got != api.Content || kind != api.Opening) || !slices.Equal(known(a, r.form, frame), known(a, r.form, f.text)) {
			t.Errorf("with new members, frame %q says\n%s, want\n%s", frame, describe(a, r.form, frame), f.declared)
		}
	}
}

// known returns the parts of a frame that the API reads as more than unknown.
func known(a *api.API, form api.Form, frame []byte) (all []string) {
	said := a.Decode(form, frame)
	for i := range said.Len() {
		if p := said.At(i); p.Kind != api.ExtraPart && p.Kind != api.BesidePart {
			all = append(all, describePart(p))
		}
	}
	return all
}

// readsLineEnds changes the line ends of events, and leaves their names out where the data has them.
func readsLineEnds(t *testing.T, a *api.API, r recording) {
	if r.form != api.Events {
		return
	}
	for _, f := range r.frames {
		text := string(f.text)
		name, rest, named := strings.Cut(strings.TrimPrefix(text, "event: "), "\n")
		all := []string{strings.ReplaceAll(text, "\n", "\r\n")}
		if named && strings.HasPrefix(text, "event: ") && strings.Contains(rest, `"`+name+`"`) {
			all = append(all, rest)
		}
		for _, frame := range all {
			if got := describe(a, r.form, []byte(frame)); got != f.declared && !strings.HasPrefix(text, "{") {
				t.Errorf("frame %q says\n%s, want\n%s", frame, got, f.declared)
			}
		}
	}
}

// reading is what a reader has found in a stream that has come so far.
type reading struct {
	frames   [][]byte
	finished bool // a proper end may follow
	ended    bool // the terminator has come
	failed   bool
}

// read reads a stream that comes in parts of a size in bytes, as package transport does.
func read(a *api.API, form api.Form, stream []byte, size int) (r reading) {
	var rest []byte
	unfinished := false
	note := func(n int) {
		kind := a.FrameKind(form, rest[:n])
		r.frames = append(r.frames, rest[:n])
		r.finished = r.finished || kind == api.Finish
		r.failed = r.failed || kind == api.Failure
		unfinished = unfinished || kind < api.Finish && a.SaysUnfinished(rest[:n])
		r.ended = r.ended || kind == api.Last || kind == api.End && (r.finished || !unfinished)
		rest = rest[n:]
	}
	for part := range slices.Chunk(stream, size) {
		seen := len(rest)
		rest = append(rest[:seen:seen], part...)
		for n := form.FrameLen(rest, seen); n > 0; n = form.FrameLen(rest, 0) {
			note(n)
		}
	}
	if len(bytes.TrimSpace(rest)) > 0 && a.EndsAnswer(form, rest) {
		note(len(rest))
	}
	return r
}

// whole reports whether a stream that ends here has ended properly.
func (r reading) whole() bool { return (r.ended || r.finished) && !r.failed }

// readsParts reads an answer in parts of different sizes.
func readsParts(t *testing.T, a *api.API, r recording) {
	stream := bytes.Join(r.texts(), nil)
	for size := 1; size <= len(stream); size += 1 + size/3 {
		got := read(a, r.form, stream, size)
		if !got.whole() || len(got.frames) != len(r.frames) {
			t.Fatalf("in parts of %d bytes: %d frames, ended %t; want %d, ended properly", size, len(got.frames), got.whole(), len(r.frames))
		}
		for i, f := range r.frames {
			if want := bytes.TrimSpace(f.text); !bytes.Equal(bytes.TrimSpace(got.frames[i]), want) {
				t.Errorf("in parts of %d bytes: frame %d is %q, want %q", size, i, got.frames[i], want)
			}
		}
	}
}

// noticesCuts ends an answer after each byte. Before its end, that is no end.
func noticesCuts(t *testing.T, a *api.API, r recording) {
	end := 0
	for _, f := range r.frames {
		end += len(f.text)
		if kind := a.FrameKind(r.form, f.text); kind == api.Finish || kind >= api.End {
			end -= len(f.text) - len(bytes.TrimRight(f.text, "\r\n"))
			break
		}
	}
	stream := bytes.Join(r.texts(), nil)
	for n := range stream {
		if got := read(a, r.form, stream[:n], len(stream)); got.whole() && n < end {
			t.Errorf("cut after %d of %d bytes, in %q: ended properly, want an end from byte %d on", n, len(stream), stream[max(0, n-40):n], end)
		}
	}
}

// passesKeepalives puts each keepalive between any two frames, and before the first.
func passesKeepalives(t *testing.T, a *api.API, r recording) {
	other, genaiJS, cohereGo := api.Client{}, api.Client{Library: "genai-js/0.24.1"}, api.Client{Agent: "github.com/cohere-ai/cohere-go/2.16.1"}
	alive := [][]byte{a.Ping(r.form, other, ""), a.Ping(r.form, other, "retry 3"), a.Ping(r.form, genaiJS, ""), a.Ping(r.form, cohereGo, ""), a.Comment(r.form, other, "answer from one")}
	for _, c := range []api.Client{{}, {Agent: "claude-cli/2.1.329 (external, cli)"}, {Originator: "codex_vscode", Model: "gpt-5"}} {
		beat := a.Heartbeat(r.form, c)
		if beat != nil && a.FrameKind(r.form, beat) == api.Content && c.Program() == api.ClaudeCode {
			passesAnywhere(t, a, r, beat) // it knows its own
			continue
		}
		alive = append(alive, beat)
	}
	for _, frame := range slices.DeleteFunc(alive, func(frame []byte) bool { return len(frame) == 0 }) {
		if kind := a.FrameKind(r.form, frame); kind != api.Opening {
			t.Errorf("keepalive %q is %s, want nothing", frame, kinds[kind])
		}
		if n := r.form.FrameLen(frame, 0); len(bytes.TrimSpace(frame)) > 0 && n != len(frame) {
			t.Errorf("keepalive %q: a frame of %d bytes, want all", frame, n)
		}
		passesAnywhere(t, a, r, frame)
	}
}

// passesNewEvents puts what the API does not have yet between any two frames: an event, one without a name, and text.
func passesNewEvents(t *testing.T, a *api.API, r recording) {
	const more = `"new":{"error":{"a":"}"}}}`
	const nameless, data = "{" + more, `{"type":"new.event","event_type":"new.event","object":"new.event","done":false,` + more
	for _, event := range map[api.Form][]string{
		api.Events:    {"event: new.event\ndata: " + data + "\n\n", "data: " + nameless + "\n\n", "data: new\n\n"},
		api.Lines:     {data + "\n", nameless + "\n"},
		api.AWSEvents: {string(api.AWSEvent([]byte("newEvent"), []byte(data)))},
	}[r.form] {
		if kind := a.FrameKind(r.form, []byte(event)); kind > api.Content {
			t.Errorf("%q is %s, want nothing or content", event, kinds[kind])
		}
		passesAnywhere(t, a, r, []byte(event))
	}
}

// passesAnywhere puts bytes before each frame of an answer, where they change nothing that the others say.
func passesAnywhere(t *testing.T, a *api.API, r recording, more []byte) {
	t.Helper()
	own := string(bytes.TrimSpace(more))
	others := func(frames [][]byte) (all []string) {
		for _, f := range frames {
			if string(bytes.TrimSpace(f)) != own {
				all = append(all, describe(a, r.form, f))
			}
		}
		return all
	}
	want := others(r.texts())
	for i := range r.frames {
		stream := bytes.Join(slices.Insert(r.texts(), i, more), nil)
		got := read(a, r.form, stream, len(stream))
		if said := others(got.frames); !got.whole() || !slices.Equal(said, want) {
			t.Errorf("%q before frame %d: ended properly %t, the others say\n%q, want\n%q", more, i, got.whole(), said, want)
			return
		}
	}
}

// noticesErrors puts an error at the start, at each place in the middle and before the terminator, whole and cut.
func noticesErrors(t *testing.T, a *api.API, r recording) {
	for i := range r.frames {
		before := bytes.Join(r.texts()[:i], nil)
		event := a.ErrorEvent(r.form, &fault.Error{Kind: fault.Overloaded}, "gone\n\nfor \"now\"", i > 0)
		got := read(a, r.form, slices.Concat(before, event), 7)
		failed := slices.IndexFunc(got.frames, func(frame []byte) bool { return a.FrameKind(r.form, frame) == api.Failure })
		if failed != i || got.whole() {
			t.Errorf("an error before frame %d: a failure in frame %d, ended properly %t", i, failed, got.whole())
		}
		if got := read(a, r.form, before, len(before)+1); got.finished || got.ended {
			continue
		}
		for n := range event {
			if got := read(a, r.form, slices.Concat(before, event[:n]), len(before)+n+1); got.whole() {
				t.Errorf("an error before frame %d, cut after %d bytes: ended properly", i, n)
			}
		}
	}
}

// writesErrors checks the errors that the gateway writes in the API's own forms, for every kind of fault.
func writesErrors(t *testing.T, a *api.API, all []recording) {
	for k := fault.Unknown; k <= fault.Canceled; k++ {
		const words = "gave up\n\nafter \"all\""
		body := a.ErrorBody(&fault.Error{Kind: k}, words)
		if !json.Valid(body) || a.BodyKind(body) != api.Failure {
			t.Errorf("the body for %v is no failure: %s", k, body)
		}
		for _, r := range all {
			event := a.ErrorEvent(r.form, &fault.Error{Kind: k}, words, false)
			if n := r.form.FrameLen(event, 0); r.form != api.JSON && (n <= 0 || a.FrameKind(r.form, event[:n]) != api.Failure) {
				t.Errorf("the event for %v is no failure: %q", k, event)
			}
		}
	}
}
