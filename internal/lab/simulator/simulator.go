// Package simulator is a provider of language models that fails on command: a Script says which request gets
// an answer, which an error and which nothing at all. The demo, the command `ridethrough simulator` and the
// project's tests talk to it instead of a vendor.
//
// It speaks Anthropic Messages, OpenAI Chat Completions and Responses, Gemini, Cohere, Ollama, LM Studio's REST
// API and Amazon Bedrock's runtime, and the same on Vertex AI and Azure, well enough for the vendors' own SDKs,
// streamed and not, with reasoning and tool calls. Every answer is the same text, or that of a Say. It checks no
// credentials. Of a request it reads the model's name, the form of the answer, and whether the vendor would
// accept the conversation. A tool result without its call, for example, gets the vendor's own 400, a model whose
// name begins with "no-such" its own 404, and images for one that begins with "text-only" its refusal of them.
// OpenAI requests to port 1234 are answered as LM Studio does.
//
// A [Provider] is an http.Handler. [Provider.Serve] puts it on a listener,
// where a reset is a real TCP reset. [Provider.Transport] reaches it in memory, so
// that in a testing/synctest bubble an hour of silence takes no time.
//
// It has many files because each API and each way to fail has its own.
package simulator

import "time"

// Script defines a provider's behaviour. The first that applies decides: an outage, then the limit, then the
// next of Replies. A malformed request is answered with the provider's own error and uses up no reply.
//
// The zero Script is a healthy provider.
type Script struct {
	Replies   []Reply       // one for each request to a generation endpoint, in order
	Then      Reply         // the reply when Replies are used up; nil: OK
	Outages   []Outage      // of all endpoints; of overlapping ones the first counts
	Limit     Limit         // of the generation endpoints; zero: none
	Rates     []Rate        // of the generation endpoints, besides the limit; nil: none
	Answer    string        // the text of a normal answer; "": a dozen words
	Pace      time.Duration // the wait before each word of a stream; 0: none
	OnRequest func(Request) // called concurrently for each request when its reply is decided; nil: not called
}

// Outage is a time in which every request gets the same reply. Answers that are in
// progress when it begins continue.
//
// With Refuse as its reply no connection is established: in memory the dial is
// refused, and a real listener resets the connection after accepting it. A request
// on an open connection gets no answer: the connection is closed.
type Outage struct {
	From, To time.Duration // since the provider's start, To excluded; To 0: no end
	Reply    Reply         // nil: 529, overloaded
}

// Limit bounds the requests in each window of a fixed length, counted from the provider's start. A request
// beyond it gets a 429 that says when the window ends and uses up no reply. The zero Limit allows everything.
type Limit struct {
	N     int           // requests in a window; 0: no limit
	Every time.Duration // the length of a window; 0: no limit
}

// on reports whether l limits requests.
func (l Limit) on() bool { return l.N > 0 && l.Every > 0 }

// defaultAnswer is the text of an answer that a script does not set.
const defaultAnswer = "The provider is well again, and this is all that it has to say."
