package classify

import "github.com/ridethrough/ridethrough/fault"

// vllm is the software for running models oneself: vLLM, SGLang, TGI and llama.cpp. Sources: the error bodies
// of their servers, and of the parser of gpt-oss.
var vllm = table{
	vendor: "vllm",
	names: []row{
		{name: "exceed_context_size_error", kind: fault.TooLong, reason: "llama.cpp: the context that it was started with"},
		{name: "unavailable_error", kind: fault.Overloaded, reason: "llama.cpp: the model is being loaded"},
		{name: "overloaded", kind: fault.Overloaded, reason: "TGI: the queue is full"},
		{name: "EngineDeadError", kind: fault.Unavailable, reason: "vLLM: the process has to start anew, and does so"},
		{name: "HarmonyError", kind: fault.Unknown, reason: "a mishap of sampling: the next sample may be well-formed"},
		{name: "incomplete_generation", kind: fault.Unavailable, reason: "TGI: the answer broke off"},
		{name: "unhealthy", kind: fault.Overloaded, reason: "TGI: the model is not up"},
	},
	weakNames: []row{
		{name: "validation", kind: fault.Invalid, reason: "TGI's word for a bad request"},
		{name: "generation", kind: fault.Unavailable, reason: "TGI: the model failed over it"},
	},
	texts: []row{
		{text: "unexpected token * while expecting start token", kind: fault.Unknown, reason: "a mishap of sampling: the next sample may be well-formed"},
		{text: "unexpected tokens remaining in message header", kind: fault.Unknown, reason: "a mishap of sampling: the next sample may be well-formed"},
		{text: "EngineCore encountered an issue", kind: fault.Unavailable, reason: "the process has to start anew, and does so"},
		{text: "engine loop is not running", kind: fault.Unavailable, reason: "the process has to start anew, and does so"},
		{text: "background loop has errored", kind: fault.Unavailable, reason: "the process has to start anew, and does so"},
		{text: "request queue is full", kind: fault.Overloaded, reason: "SGLang"},
		{text: "no available workers", kind: fault.Overloaded, reason: "SGLang's router"},
		{text: "tokens) is too large to process", kind: fault.TooLong, reason: "llama.cpp, with 500: the batch that it was started with"},
		{text: "payload is too big. max payload size", kind: fault.TooLong, reason: "KoboldCpp, with 500: bytes"},
		{text: "inputs must have less than", kind: fault.TooLong, reason: "TGI"},
		{text: "is longer than the model's context length", kind: fault.TooLong, reason: "SGLang"},
	},
}
