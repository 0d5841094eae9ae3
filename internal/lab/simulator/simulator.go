// Package simulator is a provider of language models that fails on command: a
// Script says which request gets an answer, which an error and which nothing
// at all. The demo, the command `ridethrough simulator` and the project's
// tests talk to it instead of a vendor.
//
// It speaks Anthropic Messages, OpenAI Chat Completions and Responses, Gemini,
// Ollama and LM Studio's REST well enough for the vendors' own SDKs, streamed
// and not, with reasoning and tool calls. It knows nothing: every answer is the
// same text, or what a Say puts there. It checks no credentials and looks at
// little of a request: the model's name, the way the answer is wanted, and
// whether the conversation is one that the vendor would take. A tool's result
// without its call, say, gets the vendor's own 400, and a model whose name
// begins with "no-such" its own 404. What comes to the port 1234 as if to OpenAI
// is for LM Studio.
//
// A [Provider] is an http.Handler. [Provider.Serve] puts it on a listener,
// where a reset is a real TCP reset; [Provider.Transport] reaches it in memory,
// so that a test in a testing/synctest bubble sees an hour of silence pass in
// no time.
package simulator

import "time"

// Script says how a provider behaves. What is asked first decides: a running
// outage, then the limit, then the next of Replies. A request that cannot be
// read is answered with the provider's own error and uses up no reply.
//
// The zero Script is a provider in good health.
type Script struct {
	Replies []Reply       // one for each request to a generation endpoint, in order
	Then    Reply         // the reply when Replies are used up; nil: OK
	Outages []Outage      // hold for every endpoint; where two overlap the first one listed counts
	Limit   Limit         // holds for the generation endpoints; zero: none
	Answer  string        // the text of a normal answer; "": a dozen words
	Pace    time.Duration // the wait before each word of a stream; 0: none
	Watch   func(Request) // told of each request as its reply is decided, by concurrent callers; nil: nobody
}

// Outage is a time in which every request gets the same reply. An answer that
// is under way when it begins goes on.
//
// With Refuse as its reply no connection comes about: in memory the dial is
// refused, on a real listener the connection is reset as it is accepted, and a
// request on a connection that was kept alive is closed without a byte.
type Outage struct {
	From, To time.Duration // since the provider's start, To excluded; a To of 0: it does not end
	Reply    Reply         // nil: 529, overloaded
}

// covers reports whether the outage holds at a time since the start.
func (o Outage) covers(at time.Duration) bool {
	return at >= o.From && (at < o.To || o.To == 0)
}

// reply returns what the outage does to a request.
func (o Outage) reply() Reply {
	if o.Reply == nil {
		return Status{Code: 529}
	}
	return o.Reply
}

// Limit bounds the requests in each window of a fixed length, counted from the
// provider's start. A request beyond it gets a 429 that says when the window
// ends and uses up no reply. The zero Limit allows everything.
type Limit struct {
	N     int           // requests in a window; 0: no limit
	Every time.Duration // the length of a window; 0: no limit
}

// on reports whether there is a limit.
func (l Limit) on() bool { return l.N > 0 && l.Every > 0 }

// defaultAnswer is what a provider says that was told nothing else.
const defaultAnswer = "The provider is well again, and this is all that it has to say."
