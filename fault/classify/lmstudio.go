package classify

import "github.com/ridethrough/ridethrough/fault"

// lmstudio is LM Studio's server. Its errors are texts, often with status
// 400 whatever they mean. Sources: the reports in lmstudio-ai/lmstudio-bug-tracker,
// and for the types of its own API lmstudio.ai/docs/developer/rest/streaming-events.
var lmstudio = table{
	vendor: "lmstudio",
	weakNames: []row{
		{name: "not_implemented", kind: fault.Invalid, reason: "LM Studio's name for what this version does not support"},
	},
	texts: []row{
		{text: "insufficient system resources", kind: fault.Overloaded, reason: "the guardrail against filling the memory: it passes when another model is unloaded"},
		{text: "insufficient resources", kind: fault.Overloaded, reason: "the memory is full: it passes when another model is unloaded"},
		{text: "model loading failed", kind: fault.Overloaded, reason: "mostly the memory is full: it passes when another model is unloaded"},
		{text: "not enough resources", kind: fault.Overloaded, reason: "the guardrail against filling the memory", sure: topic},
		{text: "snapshot of system resources failed", kind: fault.Invalid, reason: "the program has to be started anew"},
		{text: "error loading model", kind: fault.Invalid, reason: "memory, or a broken file"},
		{text: "no models loaded", kind: fault.Invalid, reason: "a model has to be loaded first"},
		{text: "context overflows", kind: fault.TooLong, reason: "the context window that the model was loaded with"},
		{text: "greater than the context length", kind: fault.TooLong, reason: "the context window that the model was loaded with"},

		{text: "model is unloaded", kind: fault.Overloaded, reason: "400, but the next call loads it again"},
		{text: "model unloaded", kind: fault.Overloaded, reason: "400, but the next call loads it again"},
		{text: "model was unloaded", kind: fault.Overloaded, reason: "400, but the next call loads it again"},
		{text: "the model has crashed", kind: fault.Unavailable, reason: "the next call loads it again"},
		{text: "model loading was stopped", kind: fault.Unavailable, reason: "another call has unloaded it: the next one loads it again"},
		{text: "failed to load model", kind: fault.Unknown, reason: "without a cause: memory that an eviction may free, or a broken file"},
		{text: "failed to load the model", kind: fault.Unknown, reason: "without a cause: memory that an eviction may free, or a broken file"},
		{text: "unexpected endpoint or method", kind: fault.Invalid, reason: "200, but the address is wrong"},
		{text: "cannot truncate prompt with", kind: fault.TooLong, reason: "the context window that the model was loaded with"},
		{text: "cannot connect to lm studio", kind: fault.Unavailable, reason: "the server is not running yet"},
	},
}
