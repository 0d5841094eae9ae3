package simulator_test

// everythingSaid is an answer with all that one can hold.
const everythingSaid = `think:"Let me see."+say:"Two files."+call:read{"path":"a.txt"}+call:now`

// asking is the body with which each API is asked for everything it can show.
var asking = []struct{ path, body string }{
	{messages, `{"model":"m","stream":true,"thinking":{"type":"adaptive"},"messages":[]}`},
	{completions, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
	{responses, `{"model":"m","stream":true,"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]}`},
	{geminiSSE, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`},
	{interaction, `{"model":"m","stream":true,"generation_config":{"thinking_summaries":"auto"}}`},
	{ollamaChat, streamed},
	{studio, streamed},
}

// wire is what everythingSaid looks like at each vendor.
var wire = map[string]string{
	messages: `message_start
{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}
ping
{"delta":{"thinking":"Let ","type":"thinking_delta"},"index":0,"type":"content_block_delta"}
{"delta":{"thinking":"me ","type":"thinking_delta"},"index":0,"type":"content_block_delta"}
{"delta":{"thinking":"see.","type":"thinking_delta"},"index":0,"type":"content_block_delta"}
{"delta":{"signature":"c2lnbmF0dXJlIG9mIDAwMDAwMQ==","type":"signature_delta"},"index":0,"type":"content_block_delta"}
{"index":0,"type":"content_block_stop"}
{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}
{"delta":{"text":"Two ","type":"text_delta"},"index":1,"type":"content_block_delta"}
{"delta":{"text":"files.","type":"text_delta"},"index":1,"type":"content_block_delta"}
{"index":1,"type":"content_block_stop"}
{"content_block":{"id":"toolu_000001_0","input":{},"name":"read","type":"tool_use"},"index":2,"type":"content_block_start"}
{"delta":{"partial_json":"","type":"input_json_delta"},"index":2,"type":"content_block_delta"}
{"delta":{"partial_json":"{\"path\":","type":"input_json_delta"},"index":2,"type":"content_block_delta"}
{"delta":{"partial_json":"\"a.txt\"}","type":"input_json_delta"},"index":2,"type":"content_block_delta"}
{"index":2,"type":"content_block_stop"}
{"content_block":{"id":"toolu_000001_1","input":{},"name":"now","type":"tool_use"},"index":3,"type":"content_block_start"}
{"delta":{"partial_json":"","type":"input_json_delta"},"index":3,"type":"content_block_delta"}
{"index":3,"type":"content_block_stop"}
{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta"}
{"type":"message_stop"}`,

	completions: `{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null}
{"delta":{"reasoning_content":"Let "},"finish_reason":null}
{"delta":{"reasoning_content":"me "},"finish_reason":null}
{"delta":{"reasoning_content":"see."},"finish_reason":null}
{"delta":{"content":"Two "},"finish_reason":null}
{"delta":{"content":"files."},"finish_reason":null}
{"delta":{"tool_calls":[{"function":{"arguments":"","name":"read"},"id":"call_000001_0","index":0,"type":"function"}]},"finish_reason":null}
{"delta":{"tool_calls":[{"function":{"arguments":"{\"path\":"},"index":0}]},"finish_reason":null}
{"delta":{"tool_calls":[{"function":{"arguments":"\"a.txt\"}"},"index":0}]},"finish_reason":null}
{"delta":{"tool_calls":[{"function":{"arguments":"","name":"now"},"id":"call_000001_1","index":1,"type":"function"}]},"finish_reason":null}
{"delta":{"tool_calls":[{"function":{"arguments":""},"index":1}]},"finish_reason":null}
{"delta":{},"finish_reason":"tool_calls"}
{}`,

	responses: `response.created
response.in_progress
{"item":{"encrypted_content":"c2lnbmF0dXJlIG9mIDAwMDAwMQ==","id":"rs_000001","summary":[],"type":"reasoning"},"output_index":0,"type":"response.output_item.added"}
{"output_index":0,"part":{"text":"","type":"summary_text"},"type":"response.reasoning_summary_part.added"}
{"delta":"Let ","output_index":0,"type":"response.reasoning_summary_text.delta"}
{"delta":"me ","output_index":0,"type":"response.reasoning_summary_text.delta"}
{"delta":"see.","output_index":0,"type":"response.reasoning_summary_text.delta"}
{"output_index":0,"text":"Let me see.","type":"response.reasoning_summary_text.done"}
{"output_index":0,"part":{"text":"Let me see.","type":"summary_text"},"type":"response.reasoning_summary_part.done"}
{"item":{"encrypted_content":"c2lnbmF0dXJlIG9mIDAwMDAwMQ==","id":"rs_000001","summary":[{"text":"Let me see.","type":"summary_text"}],"type":"reasoning"},"output_index":0,"type":"response.output_item.done"}
{"item":{"content":[],"id":"msg_000001","role":"assistant","status":"in_progress","type":"message"},"output_index":1,"type":"response.output_item.added"}
{"output_index":1,"part":{"annotations":[],"logprobs":[],"text":"","type":"output_text"},"type":"response.content_part.added"}
{"delta":"Two ","output_index":1,"type":"response.output_text.delta"}
{"delta":"files.","output_index":1,"type":"response.output_text.delta"}
{"output_index":1,"text":"Two files.","type":"response.output_text.done"}
{"output_index":1,"part":{"annotations":[],"logprobs":[],"text":"Two files.","type":"output_text"},"type":"response.content_part.done"}
{"item":{"content":[{"annotations":[],"logprobs":[],"text":"Two files.","type":"output_text"}],"id":"msg_000001","role":"assistant","status":"completed","type":"message"},"output_index":1,"type":"response.output_item.done"}
{"item":{"arguments":"","call_id":"call_000001_0","id":"fc_000001_0","name":"read","status":"in_progress","type":"function_call"},"output_index":2,"type":"response.output_item.added"}
{"delta":"{\"path\":","output_index":2,"type":"response.function_call_arguments.delta"}
{"delta":"\"a.txt\"}","output_index":2,"type":"response.function_call_arguments.delta"}
{"arguments":"{\"path\":\"a.txt\"}","output_index":2,"type":"response.function_call_arguments.done"}
{"item":{"arguments":"{\"path\":\"a.txt\"}","call_id":"call_000001_0","id":"fc_000001_0","name":"read","status":"completed","type":"function_call"},"output_index":2,"type":"response.output_item.done"}
{"item":{"arguments":"","call_id":"call_000001_1","id":"fc_000001_1","name":"now","status":"in_progress","type":"function_call"},"output_index":3,"type":"response.output_item.added"}
{"arguments":"","output_index":3,"type":"response.function_call_arguments.done"}
{"item":{"arguments":"","call_id":"call_000001_1","id":"fc_000001_1","name":"now","status":"completed","type":"function_call"},"output_index":3,"type":"response.output_item.done"}
response.completed`,

	geminiSSE: `{"content":{"parts":[{"text":""}],"role":"model"}}
{"content":{"parts":[{"text":"Let ","thought":true}],"role":"model"}}
{"content":{"parts":[{"text":"me ","thought":true}],"role":"model"}}
{"content":{"parts":[{"text":"see.","thought":true}],"role":"model"}}
{"content":{"parts":[{"text":"Two "}],"role":"model"}}
{"content":{"parts":[{"text":"files."}],"role":"model"}}
{"content":{"parts":[{"functionCall":{"args":{"path":"a.txt"},"name":"read"},"thoughtSignature":"c2lnbmF0dXJlIG9mIDAwMDAwMQ=="}],"role":"model"}}
{"content":{"parts":[{"functionCall":{"args":{},"name":"now"}}],"role":"model"}}
{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}`,

	interaction: `{"event_type":"interaction.created"}
{"event_type":"interaction.status_update"}
{"event_type":"step.start","index":0,"step":{"type":"thought"}}
{"delta":{"content":{"text":"Let ","type":"text"},"type":"thought_summary"},"event_type":"step.delta","index":0}
{"delta":{"content":{"text":"me ","type":"text"},"type":"thought_summary"},"event_type":"step.delta","index":0}
{"delta":{"content":{"text":"see.","type":"text"},"type":"thought_summary"},"event_type":"step.delta","index":0}
{"delta":{"signature":"c2lnbmF0dXJlIG9mIDAwMDAwMQ==","type":"thought_signature"},"event_type":"step.delta","index":0}
{"event_type":"step.stop","index":0}
{"event_type":"step.start","index":1,"step":{"type":"model_output"}}
{"delta":{"text":"Two ","type":"text"},"event_type":"step.delta","index":1}
{"delta":{"text":"files.","type":"text"},"event_type":"step.delta","index":1}
{"event_type":"step.stop","index":1}
{"event_type":"step.start","index":2,"step":{"arguments":{},"id":"call_000001_0","name":"read","type":"function_call"}}
{"delta":{"arguments":"{\"path\":","type":"arguments_delta"},"event_type":"step.delta","index":2}
{"delta":{"arguments":"\"a.txt\"}","type":"arguments_delta"},"event_type":"step.delta","index":2}
{"event_type":"step.stop","index":2}
{"event_type":"step.start","index":3,"step":{"arguments":{},"id":"call_000001_1","name":"now","type":"function_call"}}
{"event_type":"step.stop","index":3}
{"event_type":"interaction.completed"}`,

	ollamaChat: `{"done":false,"message":{"content":"","role":"assistant"}}
{"done":false,"message":{"content":"","role":"assistant","thinking":"Let "}}
{"done":false,"message":{"content":"","role":"assistant","thinking":"me "}}
{"done":false,"message":{"content":"","role":"assistant","thinking":"see."}}
{"done":false,"message":{"content":"Two ","role":"assistant"}}
{"done":false,"message":{"content":"files.","role":"assistant"}}
{"done":false,"message":{"content":"","role":"assistant","tool_calls":[{"function":{"arguments":{"path":"a.txt"},"index":0,"name":"read"},"id":"call_000001_0"}]}}
{"done":false,"message":{"content":"","role":"assistant","tool_calls":[{"function":{"arguments":{},"index":1,"name":"now"},"id":"call_000001_1"}]}}
{"done":true,"done_reason":"stop","message":{"content":"","role":"assistant"}}`,

	studio: `{"type":"chat.start"}
{"type":"prompt_processing.start"}
{"type":"prompt_processing.progress"}
{"type":"prompt_processing.end"}
{"type":"reasoning.start"}
{"content":"Let ","type":"reasoning.delta"}
{"content":"me ","type":"reasoning.delta"}
{"content":"see.","type":"reasoning.delta"}
{"type":"reasoning.end"}
{"type":"message.start"}
{"content":"Two ","type":"message.delta"}
{"content":"files.","type":"message.delta"}
{"type":"message.end"}
{"type":"chat.end"}`,
}
