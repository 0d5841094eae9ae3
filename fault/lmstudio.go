package fault

// lmstudio is LM Studio's server. Its errors are sentences, often with status
// 400 whatever they mean. Sources: the reports in lmstudio-ai/lmstudio-bug-tracker,
// and for the types of its own API lmstudio.ai/docs/developer/rest/streaming-events.
var lmstudio = table{
	vendor: "lmstudio",
	vague: []row{
		{name: "not_implemented", kind: Invalid, why: "its own API's word for what this version cannot do"},
	},
	says: []row{
		{says: "insufficient system resources", kind: Invalid, why: "the guardrail against filling the memory: it stays until somebody unloads something"},
		{says: "insufficient resources", kind: Invalid, why: "the guardrail against filling the memory"},
		{says: "not enough resources", kind: Invalid, why: "the guardrail against filling the memory"},
		{says: "snapshot of system resources failed", kind: Invalid, why: "the program has to be started anew"},
		{says: "error loading model", kind: Invalid, why: "memory, or a broken file"},
		{says: "no models loaded", kind: Invalid, why: "somebody has to load one"},
		{says: "context overflows", kind: TooLong, why: "the context window that the model was loaded with"},
		{says: "greater than the context length", kind: TooLong, why: "the context window that the model was loaded with"},

		{says: "model is unloaded", kind: Overloaded, why: "400, but the next call loads it again"},
		{says: "model unloaded", kind: Overloaded, why: "400, but the next call loads it again"},
		{says: "model was unloaded", kind: Overloaded, why: "400, but the next call loads it again"},
		{says: "the model has crashed", kind: Unavailable, why: "the next call loads it again"},
		{says: "model loading was stopped", kind: Unavailable, why: "another call has unloaded it: the next one loads it again"},
		{says: "failed to load model", kind: Unknown, why: "without a cause: memory that an eviction may free, or a broken file"},
		{says: "failed to load the model", kind: Unknown, why: "without a cause: memory that an eviction may free, or a broken file"},
		{says: "model loading failed", kind: Unknown, why: "without a cause: memory that an eviction may free, or a broken file"},
		{says: "unexpected endpoint or method", kind: Invalid, why: "200, but the address is wrong"},
		{says: "cannot truncate prompt with", kind: TooLong, why: "the context window that the model was loaded with"},
		{says: "cannot connect to lm studio", kind: Unavailable, why: "the server is not running yet"},
	},
}
