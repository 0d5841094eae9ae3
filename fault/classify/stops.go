package classify

import "github.com/ridethrough/ridethrough/fault"

// stops are the reasons for which an answer ends without being one, of the vendors that no other table of
// this package is about. Sources: the finish reasons in the references of Gemini's generateContent, Vertex
// AI's BlockedReason, Bedrock's Converse, Cohere's chat, DeepSeek's and Zhipu's completions, and vLLM's.
var stops = table{
	vendor: "stops",
	names: []row{
		{name: "finish_reason IMAGE_SAFETY", kind: fault.Refused, reason: "Gemini: an image of the answer was filtered"},
		{name: "finish_reason IMAGE_PROHIBITED_CONTENT", kind: fault.Refused, reason: "Gemini: an image of the answer was filtered"},
		{name: "finish_reason IMAGE_RECITATION", kind: fault.Refused, reason: "Gemini: an image would have been a copy"},
		{name: "finish_reason MISSING_THOUGHT_SIGNATURE", kind: fault.Invalid, reason: "Gemini: the history lacks a signature"},
		{name: "finish_reason TOO_MANY_TOOL_CALLS", kind: fault.Unknown, reason: "Gemini: a mishap of sampling"},
		{name: "finish_reason MALFORMED_RESPONSE", kind: fault.Unknown, reason: "Gemini: a mishap of sampling"},
		{name: "finish_reason NO_IMAGE", kind: fault.Unknown, reason: "Gemini: a mishap of sampling"},
		{name: "finish_reason MODEL_ARMOR", kind: fault.Refused, reason: "Vertex AI: a filter of the project"},
		{name: "MODEL_ARMOR", kind: fault.Refused, reason: "Vertex AI: a filter of the project"},
		{name: "JAILBREAK", kind: fault.Refused, reason: "Vertex AI: the prompt is taken for an attack"},
		{name: "IMAGE_SAFETY", kind: fault.Refused, reason: "Gemini: an image of the prompt was filtered"},

		{name: "finish_reason guardrail_intervened", kind: fault.Refused, reason: "Bedrock: a guardrail of the account"},
		{name: "finish_reason content_filtered", kind: fault.Refused, reason: "Bedrock: the filter"},
		{name: "finish_reason malformed_model_output", kind: fault.Unknown, reason: "Bedrock: a mishap of sampling"},
		{name: "finish_reason malformed_tool_use", kind: fault.Unknown, reason: "Bedrock: a mishap of sampling"},

		{name: "finish_reason insufficient_system_resource", kind: fault.Overloaded, reason: "DeepSeek: no capacity to finish the answer"},
		{name: "finish_reason sensitive", kind: fault.Refused, reason: "Zhipu: the filter"},
		{name: "finish_reason network_error", kind: fault.Unavailable, reason: "Zhipu: the model failed over it"},
		{name: "finish_reason ERROR_TOXIC", kind: fault.Refused, reason: "Cohere: the filter"},
		{name: "finish_reason ERROR_LIMIT", kind: fault.TooLong, reason: "Cohere: the context window"},
		{name: "finish_reason TIMEOUT", kind: fault.UpstreamTimeout, reason: "Cohere: the answer took too long"},
		{name: "finish_reason abort", kind: fault.Unavailable, reason: "vLLM and SGLang: the server has dropped the request"},
	},
}
