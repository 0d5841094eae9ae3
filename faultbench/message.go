package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// messagesPath and countPath are where Claude Code asks.
const (
	messagesPath = "/v1/messages?beta=true"
	countPath    = "/v1/messages/count_tokens?beta=true"
	modelsPath   = "/v1/models?limit=1000"
)

// messageBody is a body in the form of Claude Code's, with members and values that no gateway knows. The first text
// of the system prompt is what the provider looks for there.
const messageBody = `{"model":$MODEL,"max_tokens":32,"stream":$STREAM,` +
	`"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.330; cc_entrypoint=cli;"},` +
	`{"type":"text","text":"You check a gateway.","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
	`"messages":[{"role":"user","content":[{"type":"text","text":"Say hi. $MARK$MORE","cache_control":{"type":"ephemeral"}}]}],` +
	`"tools":[{"name":"Look","description":"Look.","input_schema":{"type":"object","properties":{"at":{"type":"string"}}}}],` +
	`"metadata":{"user_id":"conform"}$FIELDS}`

// unknownFields are members that a gateway must not know. The number is one that a float64 changes.
const unknownFields = `,"thinking":{"type":"conform_later","budget":12345678901234567890},"conform_later":[{"a":null,"z":"\u00e9\ud83d\ude00"},[]]`

// bodyOf returns the body of a request.
func (t *trial) bodyOf(stream bool, more, fields string) string {
	return strings.NewReplacer("$MODEL", strconv.Quote(t.Model), "$STREAM", strconv.FormatBool(stream), "$MARK", t.mark,
		"$MORE", more, "$FIELDS", fields).Replace(messageBody)
}

// wholeBody is an answer that is not streamed, with spaces that parsing would lose.
const wholeBody = `{"id": "msg_conform", "type": "message", "role": "assistant", "model": "claude-conform",` +
	`"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "stop_sequence": null,` +
	` "usage": {"input_tokens": 9, "output_tokens": 3, "conform_later": 1}}` + "\n"

// event returns an event whose data has its name as type.
func event(name, members string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", name, name, members)
}

// delta returns an event with a piece of text.
func delta(text string) string {
	return event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, text))
}

// ping is the provider's event for a client's watchdog.
const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

// How an answer begins, up to its first text, how it ends, and what a later model may send between the two.
var (
	//go:embed answers/opening.events
	opening string
	//go:embed answers/ending.events
	ending string
	//go:embed answers/later.events
	strangeEvents string
)

// errorBody is the body of a provider's error. Clients read the words.
func errorBody(kind, words string) string {
	return fmt.Sprintf(`{"type": "error","error": {"type": %q, "message": %q, "conform_later": {"a": 1}}, "request_id": "req_conform"}`, kind, words) + "\n"
}

// events returns the events of a stream that are part of an answer: neither pings nor comments.
func events(stream []byte) (all []string) {
	for _, e := range frames(stream) {
		if !isPing(e) {
			all = append(all, e)
		}
	}
	return all
}

// frames divides a stream into its events. The last may be half of one.
func frames(stream []byte) (all []string) {
	for len(stream) > 0 {
		n := api.Events.FrameLen(stream, 0)
		if n == 0 {
			n = len(stream)
		}
		all = append(all, string(stream[:n]))
		stream = stream[n:]
	}
	return all
}

// isPing reports whether an event only keeps the client waiting: a ping, a comment, or the gateway's own keepalive.
func isPing(event string) bool {
	return strings.HasPrefix(event, "event: ping") || strings.HasPrefix(event, ":") || strings.Contains(event, `"type":"keepalive"`)
}

// pingsIn returns how many of a stream's events only keep the client waiting.
func pingsIn(stream []byte) int { return len(frames(stream)) - len(events(stream)) }

// compare returns an error if the events of a stream are not those that the provider has sent.
func compare(sent string, got []byte) error {
	want, have := events([]byte(sent)), events(got)
	for i := range max(len(want), len(have)) {
		switch {
		case i >= len(want):
			return fmt.Errorf("the client got %s, which the provider did not send", quote(have[i]))
		case i >= len(have):
			return fmt.Errorf("event %d of %d is missing: %s", i+1, len(want), quote(want[i]))
		case want[i] != have[i]:
			return fmt.Errorf("event %d: the provider sent %s, the client got %s", i+1, quote(want[i]), quote(have[i]))
		}
	}
	return nil
}

// quote returns a text for a message, clipped.
func quote[T string | []byte](text T) string {
	const most = 160
	s := strings.TrimSpace(string(bytes.ToValidUTF8([]byte(text[:min(len(text), most+1)]), []byte("?"))))
	if len(text) > most {
		s += "…"
	}
	return strconv.Quote(s)
}
