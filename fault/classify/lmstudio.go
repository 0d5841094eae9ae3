package classify

import "github.com/ridethrough/ridethrough/fault"

// lmstudio is LM Studio's server. Its errors are sentences, often with status
// 400 whatever they mean. Sources: the reports in lmstudio-ai/lmstudio-bug-tracker,
// and for the types of its own API lmstudio.ai/docs/developer/rest/streaming-events.
var lmstudio = table{
	vendor: "lmstudio",
	vague: []row{
		{name: "not_implemented", kind: fault.Invalid, why: "its own API's word for what this version cannot do"},
	},
	says: []row{
		{says: "insufficient system resources", kind: fault.Invalid, why: "the guardrail against filling the memory: it stays until somebody unloads something"},
		{says: "insufficient resources", kind: fault.Invalid, why: "the guardrail against filling the memory"},
		{says: "not enough resources", kind: fault.Invalid, why: "the guardrail against filling the memory"},
		{says: "snapshot of system resources failed", kind: fault.Invalid, why: "the program has to be started anew"},
		{says: "error loading model", kind: fault.Invalid, why: "memory, or a broken file"},
		{says: "no models loaded", kind: fault.Invalid, why: "somebody has to load one"},
		{says: "context overflows", kind: fault.TooLong, why: "the context window that the model was loaded with"},
		{says: "greater than the context length", kind: fault.TooLong, why: "the context window that the model was loaded with"},

		{says: "model is unloaded", kind: fault.Overloaded, why: "400, but the next call loads it again"},
		{says: "model unloaded", kind: fault.Overloaded, why: "400, but the next call loads it again"},
		{says: "model was unloaded", kind: fault.Overloaded, why: "400, but the next call loads it again"},
		{says: "the model has crashed", kind: fault.Unavailable, why: "the next call loads it again"},
		{says: "model loading was stopped", kind: fault.Unavailable, why: "another call has unloaded it: the next one loads it again"},
		{says: "failed to load model", kind: fault.Unknown, why: "without a cause: memory that an eviction may free, or a broken file"},
		{says: "failed to load the model", kind: fault.Unknown, why: "without a cause: memory that an eviction may free, or a broken file"},
		{says: "model loading failed", kind: fault.Unknown, why: "without a cause: memory that an eviction may free, or a broken file"},
		{says: "unexpected endpoint or method", kind: fault.Invalid, why: "200, but the address is wrong"},
		{says: "cannot truncate prompt with", kind: fault.TooLong, why: "the context window that the model was loaded with"},
		{says: "cannot connect to lm studio", kind: fault.Unavailable, why: "the server is not running yet"},
	},
}
