package classify

import "github.com/ridethrough/ridethrough/fault"

// ollama is Ollama's server and its cloud. Sources: server/routes.go, server/sched.go and llm/server.go of
// ollama/ollama, whose texts these are: its errors have no names.
var ollama = table{
	vendor: "ollama",
	texts: []row{
		{text: "model requires more system memory", kind: fault.Invalid, reason: "the model does not fit this machine"},
		{text: "unable to allocate", kind: fault.Invalid, reason: "the model does not fit this machine"},
		{text: "cudaMalloc failed: out of memory", kind: fault.Invalid, reason: "the model does not fit this machine"},
		{text: "out of memory", kind: fault.Invalid, reason: "the model does not fit this machine", sure: topic},
		{text: "error loading model", kind: fault.Invalid, reason: "memory, or a broken file"},
		{text: "unable to load model", kind: fault.Invalid, reason: "memory, or a broken file"},
		{text: "try pulling it first", kind: fault.Invalid, reason: "the model is not here"},
		{text: "does not support thinking", kind: fault.Invalid, reason: "another model is needed"},
		{text: "does not support tools", kind: fault.Invalid, reason: "another model is needed"},
		{text: "does not support chat", kind: fault.Invalid, reason: "another model is needed"},

		{text: "maximum pending requests exceeded", kind: fault.Overloaded, reason: "the queue is full"},
		{text: "no slots available", kind: fault.Overloaded, reason: "all runners are busy"},
		{text: "llm server loading model", kind: fault.Overloaded, reason: "the model is being loaded"},
		{text: "timed out waiting for llama runner", kind: fault.UpstreamTimeout, reason: "its own limit on the loading of a model"},
		{text: "llama runner process has terminated", kind: fault.Unavailable, reason: "a crash: the next call starts another runner"},
		{text: "model runner has unexpectedly stopped", kind: fault.Unavailable, reason: "a crash: the next call starts another runner"},
		{text: "error was encountered while running the model", kind: fault.Unavailable, reason: "a crash: the next call starts another runner"},
		{text: "llama runner process no longer running", kind: fault.Unavailable, reason: "a crash: the next call starts another runner"},

		{text: "account unavailable", kind: fault.Unknown, reason: "503 of the lookup of the account: either the lookup or the account"},
		{text: "cannot connect to server", kind: fault.Unavailable, reason: "the server is not running yet"},
		{text: "could not connect to ollama", kind: fault.Unavailable, reason: "the server is not running yet"},
		{text: "unable to connect to * ollama", kind: fault.Unavailable, reason: "the server is not running yet"},
		{text: "session usage limit", kind: fault.Quota, window: true, reason: "the cloud's window of hours"},
		{text: "requires a subscription", kind: fault.Refused, reason: "the plan does not include the model"},
	},
}
