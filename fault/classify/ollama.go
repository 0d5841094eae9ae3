package classify

import "github.com/ridethrough/ridethrough/fault"

// ollama is Ollama's server and its cloud. Sources: server/routes.go,
// server/sched.go and llm/server.go of ollama/ollama, whose sentences these are:
// its errors have no names.
var ollama = table{
	vendor: "ollama",
	says: []row{
		{says: "model requires more system memory", kind: fault.Invalid, why: "the model does not fit this machine"},
		{says: "unable to allocate", kind: fault.Invalid, why: "the model does not fit this machine"},
		{says: "out of memory", kind: fault.Invalid, why: "the model does not fit this machine"},
		{says: "error loading model", kind: fault.Invalid, why: "memory, or a broken file"},
		{says: "unable to load model", kind: fault.Invalid, why: "memory, or a broken file"},
		{says: "try pulling it first", kind: fault.Invalid, why: "the model is not here"},
		{says: "does not support thinking", kind: fault.Invalid, why: "another model is needed"},
		{says: "does not support tools", kind: fault.Invalid, why: "another model is needed"},
		{says: "does not support chat", kind: fault.Invalid, why: "another model is needed"},

		{says: "maximum pending requests exceeded", kind: fault.Overloaded, why: "the queue is full"},
		{says: "no slots available", kind: fault.Overloaded, why: "all runners are busy"},
		{says: "llm server loading model", kind: fault.Overloaded, why: "the model is being loaded"},
		{says: "timed out waiting for llama runner", kind: fault.UpstreamTimeout, why: "its own limit on the loading of a model"},
		{says: "llama runner process has terminated", kind: fault.Unavailable, why: "a crash: the next call starts another runner"},
		{says: "model runner has unexpectedly stopped", kind: fault.Unavailable, why: "a crash: the next call starts another runner"},
		{says: "error was encountered while running the model", kind: fault.Unavailable, why: "a crash: the next call starts another runner"},
		{says: "llama runner process no longer running", kind: fault.Unavailable, why: "a crash: the next call starts another runner"},

		{says: "account unavailable", kind: fault.Unknown, why: "503 of the lookup of the account: either the lookup or the account"},
		{says: "cannot connect to server", kind: fault.Unavailable, why: "the server is not running yet"},
		{says: "could not connect to ollama", kind: fault.Unavailable, why: "the server is not running yet"},
		{says: "unable to connect to * ollama", kind: fault.Unavailable, why: "the server is not running yet"},
		{says: "session usage limit", kind: fault.Quota, window: true, why: "the cloud's window of hours"},
		{says: "requires a subscription", kind: fault.Refused, why: "the plan does not include the model"},
	},
}
