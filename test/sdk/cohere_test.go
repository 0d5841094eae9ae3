package sdk_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cohere "github.com/cohere-ai/cohere-go/v2"
	"github.com/cohere-ai/cohere-go/v2/client"
	"github.com/cohere-ai/cohere-go/v2/option"

	"github.com/ridethrough/ridethrough/policy"
)

// Cohere's Go client reads a comment as an event, and breaks on it. It reads [DONE] as one as well, so each whole answer
// ends in an error behind its message-end.
func TestCohereSDK_StreamOutlastsTwoHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, outage(2*time.Hour))
		s := w.gateway(policy.Patient())
		c := client.NewClient(option.WithBaseURL(s.url), option.WithToken("key"), option.WithHTTPClient(s.client))
		stream, err := c.V2.ChatStream(t.Context(), &cohere.V2ChatStreamRequest{Model: "command-a-03-2025", Messages: cohere.ChatMessages{
			{Role: "user", User: &cohere.UserMessageV2{Content: &cohere.UserMessageV2Content{String: "Is anyone there?"}}},
		}})
		if err != nil {
			t.Fatalf("chat: %v", err)
		}
		defer func() { _ = stream.Close() }()
		text, ended := "", false
		for err == nil && !ended {
			var part cohere.V2ChatStreamResponse
			if part, err = stream.Recv(); part.ContentDelta != nil {
				text += *part.ContentDelta.Delta.Message.Content.Text
			}
			ended = part.MessageEnd != nil
		}
		if err != nil || text != "The provider is well again, and this is all that it has to say." {
			t.Errorf("%q, %v; want the answer", text, err)
		}
		if n := strings.Count(w.raw.String(), "event: debug\n"); n < 700 || strings.Contains("\n"+w.raw.String(), "\n:") {
			t.Errorf("%d keepalives, or comments, in %d bytes; want 700 of the client's own", n, w.raw.Len())
		}
		w.check(11, afterTwoHours)
	})
}
