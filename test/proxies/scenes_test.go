package proxies_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// answer is the healthy provider's. It is long enough to be continued after a cut, and no part of it comes twice.
const answer = "A proxy between two programs reads what one of them sends and hands it to the other. Some of them wait for " +
	"more before they do, because a large packet is cheaper than ten small ones, and a page is not read word by word. " +
	"An answer that is being written is, though, and the silence of a minute looks like the end to a reader."

// What a client has in the end.
const (
	whole   = "whole"                    // all of the answer, and its proper end
	kept    = "whole, kept alive inside" // with a keepalive between two of its words
	anError = "error"                    // the API's own error
	cut     = "cut"                      // a connection that broke
	half    = "HALF"                     // a part of the answer that looks like all of it
	words   = "words"                    // what the provider has written so far, while it goes on
	nothing = "NOTHING"                  // none of that
	silent  = "whole, SILENT inside"     // it had to wait in the middle, without a byte
	blank   = "EMPTY"                    // no answer in what looks like one
)

// scene is what a provider does, and what the client has to have then.
type scene struct {
	name     string
	stream   bool
	replies  string // of the provider, in the simulator's words
	then     string // and from then on; "": answers
	limit    simulator.Limit
	settings string // of the upstream
	callers  int    // at once; 0: one
	leaves   bool   // the client leaves when it has some words
	want     string
	tries    int // at the provider, since no proxy repeats a request; 0: they depend on the moment
}

var scenes = []scene{
	{name: "a stream", stream: true, want: whole, tries: 1},
	{name: "an answer without a stream", want: whole, tries: 1},
	{name: "the first words of a stream", stream: true, replies: "cut:3:silent", leaves: true, want: words, tries: 1},
	{name: "529 twice, a stream", stream: true, replies: "529*2", want: whole, tries: 3},
	{name: "529 twice, no stream", replies: "529*2", want: whole, tries: 3},
	{name: "429 with Retry-After: 2", stream: true, replies: "429;retry-after=2", want: whole, tries: 2},
	{name: "an error event", stream: true, replies: "cut:9:error", want: anError, tries: 1},
	{name: "a cut in a text", stream: true, replies: "cut:9", want: anError, tries: 1},
	{name: "a cut, no stream", replies: "cut:9", want: whole, tries: 2},
	{name: "a wait of 12 s in a text", stream: true, replies: "cut:40, 429;retry-after=12", settings: "complete: text", want: kept, tries: 3},
	{name: "9 callers, limit 3 in 2 s", stream: true, limit: simulator.Limit{N: 3, Every: 2 * time.Second}, callers: 9, want: whole},
	{name: "a wait of 65 s, a stream", stream: true, replies: "429;retry-after=65", want: whole, tries: 2},
	{name: "a wait of 65 s, no stream", replies: "429;retry-after=65", want: whole, tries: 2},
	{name: "a give-up after 27 s, a stream", stream: true, replies: "503", then: "503", settings: "policy: brief", want: anError},
	{name: "a give-up after 27 s, no stream", replies: "503", then: "503", settings: "policy: brief", want: cut},
}

// provider returns what answers the scene's requests. Its words come one by one, as a model's do.
func (s scene) provider(t *testing.T) *simulator.Provider {
	t.Helper()
	replies, err := simulator.Parse(s.replies)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	script := simulator.Script{Replies: replies, Answer: answer, Limit: s.limit, Pace: 20 * time.Millisecond}
	if s.then != "" {
		then, err := simulator.Parse(s.then)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		script.Then = then[0]
	}
	p := simulator.New(script)
	t.Cleanup(func() { _ = p.Close() })
	return p
}
