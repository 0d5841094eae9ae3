package classify

import "github.com/ridethrough/ridethrough/fault"

// vllm is the software that people run models with: vLLM, SGLang, TGI and
// llama.cpp. Sources: the error bodies of their servers, and of the parser of
// gpt-oss.
var vllm = table{
	vendor: "vllm",
	names: []row{
		{name: "exceed_context_size_error", kind: fault.TooLong, why: "llama.cpp: the context that it was started with"},
		{name: "unavailable_error", kind: fault.Overloaded, why: "llama.cpp: the model is being loaded"},
		{name: "overloaded", kind: fault.Overloaded, why: "TGI: the queue is full"},
		{name: "EngineDeadError", kind: fault.Unavailable, why: "vLLM: the process has to start anew, and does so"},
		{name: "HarmonyError", kind: fault.Unknown, why: "a mishap of sampling: the next sample may be well-formed"},
		{name: "incomplete_generation", kind: fault.Unavailable, why: "TGI: the answer broke off"},
		{name: "unhealthy", kind: fault.Overloaded, why: "TGI: the model is not up"},
	},
	vague: []row{
		{name: "validation", kind: fault.Invalid, why: "TGI's word for a bad request"},
		{name: "generation", kind: fault.Unavailable, why: "TGI: the model failed over it"},
	},
	says: []row{
		{says: "unexpected token * while expecting start token", kind: fault.Unknown, why: "a mishap of sampling: the next sample may be well-formed"},
		{says: "unexpected tokens remaining in message header", kind: fault.Unknown, why: "a mishap of sampling: the next sample may be well-formed"},
		{says: "EngineCore encountered an issue", kind: fault.Unavailable, why: "the process has to start anew, and does so"},
		{says: "engine loop is not running", kind: fault.Unavailable, why: "the process has to start anew, and does so"},
		{says: "background loop has errored", kind: fault.Unavailable, why: "the process has to start anew, and does so"},
		{says: "request queue is full", kind: fault.Overloaded, why: "SGLang"},
		{says: "no available workers", kind: fault.Overloaded, why: "SGLang's router"},
		{says: "inputs must have less than", kind: fault.TooLong, why: "TGI"},
		{says: "is longer than the model's context length", kind: fault.TooLong, why: "SGLang"},
	},
}
