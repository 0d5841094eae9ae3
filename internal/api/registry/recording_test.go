package registry_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
)

// recording is a file: an answer in the documented form of its API, with a line before each frame that declares what
// the frame says, as describe does.
//
//	# the source of the recording
//	# lacks: what the answers of the API never have
//	= content: text2:Hi
//	data: {"type":"content_block_delta", …}
//
// Its extension names the form. A file that begins with "frames" has frames that are no answer together, and one in
// the form JSON has a body in the place of each frame.
type recording struct {
	name   string
	form   api.Form
	loose  bool
	lacks  []string
	frames []frame
}

type frame struct {
	text     []byte
	declared string
}

// forms are those of the extensions. A message of AWS's is written as its kind, its name and its JSON.
var forms = map[string]api.Form{".events": api.Events, ".lines": api.Lines, ".array": api.Array, ".aws": api.AWSEvents, ".json": api.JSON}

// load reads the recordings of an API.
func load(t *testing.T, files fs.FS) (all []recording) {
	t.Helper()
	entries, err := fs.ReadDir(files, ".")
	if err != nil || len(entries) == 0 {
		t.Fatalf("read recordings: got %d and error %v, want some", len(entries), err)
	}
	for _, e := range entries {
		text, err := fs.ReadFile(files, e.Name())
		form, known := forms[path.Ext(e.Name())]
		if err != nil || !known || !bytes.HasPrefix(text, []byte("# ")) {
			t.Fatalf("read %s: error %v, form known: %t; want a file that begins with its source", e.Name(), err, known)
		}
		all = append(all, parse(e.Name(), form, string(text)))
	}
	return all
}

// parse reads a recording.
func parse(name string, form api.Form, text string) recording {
	r := recording{name: name, form: form, loose: strings.HasPrefix(name, "frames") || form == api.JSON}
	head, rest, _ := strings.Cut(text, "\n= ")
	for line := range strings.Lines(head) {
		if lacks, ok := strings.CutPrefix(line, "# lacks: "); ok {
			r.lacks = strings.Split(strings.TrimSpace(lacks), ", ")
		}
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n= ") {
		declared, raw, _ := strings.Cut(part, "\n")
		r.frames = append(r.frames, frame{transmitted(form, raw+"\n"), declared})
	}
	return r
}

// transmitted returns the bytes of a frame.
func transmitted(form api.Form, text string) []byte {
	if form != api.AWSEvents {
		return []byte(text)
	}
	kind, text, _ := strings.Cut(strings.TrimSpace(text), " ")
	name, payload, _ := strings.Cut(text, " ")
	if kind == "event" {
		return api.AWSEvent([]byte(name), []byte(payload))
	}
	return api.AWSFrame(kind, name, []byte(payload))
}

// texts returns the frames.
func (r recording) texts() (all [][]byte) {
	for _, f := range r.frames {
		all = append(all, f.text)
	}
	return all
}

var kinds = map[api.FrameKind]string{
	api.Opening: "opening", api.Content: "content", api.Finish: "finish",
	api.Failure: "failure", api.End: "end", api.Last: "last",
}

var parts = map[api.PartKind]string{
	api.PingPart: "ping", api.StartPart: "start", api.OpenPart: "open", api.TextPart: "text", api.ReasoningPart: "reasoning",
	api.SignaturePart: "signature", api.ToolCallPart: "call", api.ToolInputPart: "input", api.CitationPart: "citation",
	api.RefusalPart: "refusal", api.OtherPart: "other", api.ExtraPart: "extra", api.BesidePart: "beside", api.LogprobsPart: "logprobs",
	api.ClosePart: "close", api.UsagePart: "usage", api.StopPart: "stop", api.EndPart: "end", api.ErrorPart: "error",
}

// describe returns what an API reads in a frame, or in a body, in one line: "finish, refuses SAFETY: stop SAFETY refused".
func describe(a *api.API, form api.Form, frame []byte) string {
	said := a.Decode(form, frame)
	line := kinds[a.FrameKind(form, frame)]
	if reason := a.Refusal(form, frame); reason != "" {
		line += ", refuses " + reason
	}
	if u := said.Usage; u.Stated {
		line += fmt.Sprintf(", usage %d+%d/%d", u.Output, u.Reasoning, u.Total)
	}
	for i := range said.Len() {
		line += map[bool]string{true: ": ", false: ", "}[i == 0] + describePart(said.At(i))
	}
	return strings.ReplaceAll(line, "\n", `\n`)
}

// describePart returns a part in words: its kind and block, its name and id, its text.
func describePart(p *api.Part) string {
	words := parts[p.Kind]
	if p.Of != 0 {
		words += "-" + parts[p.Of]
	}
	if p.Block > 0 {
		words += fmt.Sprint(p.Block)
	}
	for _, value := range [][]byte{p.Name, p.ID} {
		if len(value) > 0 {
			words += " " + string(bytes.Trim(value, `"`))
		}
	}
	if s := p.String(); s != "" {
		words += ":" + s
	}
	return words + map[api.StopReason]string{api.PlainStop: " plainly", api.RefusedStop: " refused"}[p.Why]
}
