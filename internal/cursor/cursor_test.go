package cursor_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cursor"
)

// A request is changed only where the API allows the background and its client does not know of it.
func TestInBackground_WhichRequests(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m","stream":true}`:                            `{"model":"m","stream":true,"background":true}`,
		` {"background":null, "stream": true,"input":"a\u00e4"}`: `{"stream":true,"input":"a\u00e4","background":true}`,
		`{"background":false,"store":true,"stream":true}`:        `{"store":true,"stream":true,"background":true}`,
		`{"background":true,"stream":true}`:                      "",
		`{"store":false,"stream":true}`:                          "",
		`{"model":"m"}`:                                          "",
		`["stream"]`:                                             "",
		`{"stream":true`:                                         "",
	} {
		got, ok := cursor.InBackground([]byte(body))
		if string(got) != want || ok != (want != "") {
			t.Errorf("InBackground(%s) = %s, %t, want %s", body, got, ok, want)
		}
	}
}

// events of an answer that has begun.
const begun = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","background":true}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel"}

`

// Events that the client has are left out, wherever the bytes are cut.
func TestAnswer_EventsComeOnce(t *testing.T) {
	want := strings.Replace(begun, "true", "false", 1)
	for n := range len(begun) {
		var a cursor.Answer
		got := string(a.Add([]byte(begun[:n]), false))
		a.Drop()
		got += string(a.Add([]byte(begun), false))
		if got != want || a.Last() != 3 || a.ID() != "resp_1" || !a.Resumable() {
			t.Fatalf("cut at %d: got %s, last %d of %q, want %s", n, got, a.Last(), a.ID(), want)
		}
	}
}

// A stored answer that is another one is refused.
func TestAnswer_RestOfAnotherAnswer(t *testing.T) {
	whole := func(id, text string) string {
		return `{"id":"` + id + `","status":"completed","background":true,"output":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"` + text + `"}]}]}`
	}
	for response, want := range map[string]bool{
		whole("resp_1", "Hello"): true, whole("resp_1", "Hel"): true, whole("resp_2", "Hello"): false,
		whole("resp_1", "Help"): true, strings.ReplaceAll(whole("resp_1", "Hello"), ",", ",\n\n  "): true, whole("resp_1", "Hi you"): false, whole("resp_1", "He"): false,
		`{"id":"resp_1","status":"completed","output":[]}`: false, `<html>`: false,
	} {
		var a cursor.Answer
		a.Add([]byte(begun), false)
		rest, err := a.Rest([]byte(response))
		if (err == nil) != want {
			t.Errorf("%s: the rest is %s, error %v, want it accepted: %t", response, rest, err, want)
			continue
		}
		if err != nil {
			continue
		}
		if got := string(a.Add(rest, true)); got != string(rest) || a.Resumable() || a.Running() {
			t.Errorf("%s: of the rest %s is sent %s, and the answer goes on: %t", response, rest, got, a.Running())
		}
	}
}

// A stream that leaves events out, has none with numbers, or says that the answer has failed does not go on with it.
func TestAnswer_Joins(t *testing.T) {
	frame := func(data string) string { return "event: x\ndata: " + data + "\n\n" }
	for stream, want := range map[string]struct {
		known bool
		err   error
	}{
		frame(`{"type":"response.output_text.delta","sequence_number":4}`): {true, nil},
		begun: {false, nil},
		begun + frame(`{"type":"response.output_text.delta","sequence_number":4}`):            {true, nil},
		begun + frame(`{"type":"response.output_text.delta","sequence_number":5}`):            {true, cursor.ErrOther},
		frame(`{"type":"response.output_text.delta","sequence_number":5}`):                    {true, cursor.ErrOther},
		frame(`{"type":"response.output_text.delta"}`):                                        {true, cursor.ErrOther},
		frame(`{"type":"response.failed","sequence_number":4}`):                               {true, cursor.ErrFailed},
		": comment\n\n" + frame(`{"type":"keepalive"}`):                                       {false, nil},
		": comment\n\n" + frame(`{"type":"keepalive"}`) + frame(`{"type":"response.failed"}`): {true, cursor.ErrFailed},
		`data: {"type":"response.failed"`:                                                     {false, nil},
	} {
		var a cursor.Answer
		a.Add([]byte(begun), false)
		if known, err := a.Joins([]byte(stream)); known != want.known || err != want.err {
			t.Errorf("Joins(%s) = %t, %v, want %t, %v", stream, known, err, want.known, want.err)
		}
	}
}

// Of events without numbers it is not known which of them the client has.
func TestAnswer_WithoutNumbers(t *testing.T) {
	var a cursor.Answer
	loose := strings.NewReplacer(`"sequence_number":3,`, "").Replace(begun)
	if got, want := string(a.Add([]byte(loose), false)), strings.Replace(loose, "true", "false", 1); got != want || a.Resumable() || !a.Running() {
		t.Errorf("got %s, want %s; resumable %t, running %t, want false, true", got, want, a.Resumable(), a.Running())
	}
}
