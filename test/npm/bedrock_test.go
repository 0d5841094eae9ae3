package npm_test

import (
	"strings"
	"testing"
)

// bedrockCalls are those of the AWS SDK, which speaks HTTP/2 without TLS, and of Anthropic's SDK for Bedrock.
var bedrockCalls = []call{
	{"bedrock.converse", "end_turn"},
	{"bedrock.converse stream", "end_turn"},
	{"bedrock.invoke stream", "end_turn"},
	{"anthropic.bedrock", "end_turn"},
	{"anthropic.bedrock stream", "end_turn"},
	{"anthropic.bedrock helper", "end_turn"},
}

// The fault 503*3 has a stream begin with a keepalive.
func TestBedrock_FaultBeforeContentIsHidden(t *testing.T) {
	for _, c := range bedrockCalls {
		for _, tt := range faults {
			t.Run(c.name+"/"+tt.replies, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, hurried(), script(t, tt.replies))
				got := w.ask(c.name)
				if got.Error != "" || got.Text != answer || got.Stop != c.stop {
					t.Errorf("call result %+v", got)
				}
				w.check(1, tt.outcomes)
			})
		}
	}
}

func TestBedrock_StreamBrokenAfterContentIsAnError(t *testing.T) {
	for _, c := range bedrockCalls {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			if !c.streams() {
				continue
			}
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, hurried(), script(t, cut))
				got := w.ask(c.name)
				if got.Text != "The provider is " || !strings.Contains(got.Error, "broke off") {
					t.Errorf("call result %+v, want three words and an error", got)
				}
				w.check(1, cut)
			})
		}
	}
}
