package classify_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// google makes an error body as Google's APIs send it.
func google(status, message, details string) string {
	return `{"error":{"code":0,"message":"` + message + `","status":"` + status + `","details":[` + details + `]}}`
}

// The details of a Gemini 429.
const (
	minuteQuota = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"2"}]}`
	dayQuota    = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"50"}]}`
	noQuota     = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"0"}]}`
	inThirty    = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}`
	currentSaid = "You exceeded your current quota, please check your plan and billing details. For more information, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)

func reasoned(reason string) string {
	return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `"}`
}

func TestFromResponse_Vendors(t *testing.T) {
	aws := func(name string) http.Header {
		return headers("x-amzn-errortype", name+":http://internal.amazon.com/x/")
	}
	tests := []struct {
		vendor string
		status int
		header http.Header
		body   string
		want   fault.Kind
	}{
		{"azure", 404, nil, `{"error":{"code":"DeploymentNotFound","message":"Please wait a moment and try again."}}`, fault.Invalid},
		{"azure", 429, nil, `{"error":{"code":"NoCapacity","message":"Try later"}}`, fault.Overloaded},
		{"azure", 429, nil, `{"error":{"code":"429","message":"Requests have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 6 seconds."}}`, fault.RateLimited},
		{"azure", 429, nil, `{"error":{"code":"429","message":"exceeded token rate limit. Please retry after 86400 seconds."}}`, fault.Invalid},
		{"azure", 403, nil, `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 01:10:00."}`, fault.Quota},
		{"azure", 403, nil, `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 00:10:00."}`, fault.RateLimited},
		{"azure", 400, nil, `{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, fault.Refused},
		{"azure", 401, nil, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, fault.Auth},

		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", currentSaid, minuteQuota), fault.RateLimited},
		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", currentSaid, dayQuota), fault.Quota},
		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", currentSaid, noQuota+","+inThirty), fault.Quota},
		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", currentSaid, ""), fault.Unknown},
		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", "No capacity", reasoned("MODEL_CAPACITY_EXHAUSTED")), fault.Overloaded},
		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", "Your quota will reset after 19h14m47s.", reasoned("QUOTA_EXHAUSTED")), fault.Quota},
		{"gemini", 429, nil, google("RESOURCE_EXHAUSTED", "Your quota will reset after 40s.", reasoned("QUOTA_EXHAUSTED")), fault.RateLimited},
		{"gemini", 400, nil, google("INVALID_ARGUMENT", "API key not valid.", reasoned("API_KEY_INVALID")), fault.Auth},
		{"gemini", 403, nil, google("PERMISSION_DENIED", "Not in use", reasoned("SERVICE_DISABLED")), fault.Refused},
		{"gemini", 400, nil, google("FAILED_PRECONDITION", "User location is not supported for the API use.", ""), fault.Refused},
		{"gemini", 499, nil, google("CANCELLED", "The operation was cancelled.", ""), fault.Unavailable},
		{"gemini", 503, nil, google("UNAVAILABLE", "The model is overloaded. Please try again later.", ""), fault.Overloaded},
		{"gemini", 504, nil, google("DEADLINE_EXCEEDED", "Deadline expired", ""), fault.UpstreamTimeout},
		{"gemini", 429, nil, `{"error":{"code":"quota_exceeded","message":"no"}}`, fault.Quota},
		{"gemini", 401, nil, `{"error":{"code":"authentication","message":"no"}}`, fault.Auth},
		{"vertex", 429, nil, `[{"error":{"code":429,"message":"Quota exceeded for aiplatform.googleapis.com/x_requests_per_minute_per_base_model with base model: m.","status":"RESOURCE_EXHAUSTED"}}]`, fault.RateLimited},
		{"vertex", 429, nil, google("RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", ""), fault.RateLimited},

		{"bedrock", 429, aws("ThrottlingException"), `{"message":"Too many requests, please wait before trying again."}`, fault.RateLimited},
		{"bedrock", 429, aws("ThrottlingException"), `{"message":"Too many tokens per day, please wait before trying again."}`, fault.Quota},
		{"bedrock", 400, aws("ServiceQuotaExceededException"), `{"message":"Your request exceeds the service quota for your account. You can resubmit your request later."}`, fault.Unknown},
		{"bedrock", 400, aws("ThrottlingException"), `{"message":"Too many requests, please wait before trying again."}`, fault.RateLimited},
		{"bedrock", 429, aws("ModelNotReadyException"), `{"message":"The model specified in the request is not ready to serve inference requests."}`, fault.Overloaded},
		{"bedrock", 408, aws("ModelTimeoutException"), `{"message":"The request took too long to process."}`, fault.UpstreamTimeout},
		{"bedrock", 424, aws("ModelErrorException"), `{"message":"no"}`, fault.Unavailable},
		{"bedrock", 403, aws("ExpiredTokenException"), `{"message":"The security token included in the request is expired"}`, fault.Auth},
		{"bedrock", 400, aws("ValidationException"), `{"message":"Input is too long for requested model."}`, fault.TooLong},
		{"bedrock", 400, aws("ValidationException"), `{"message":"Invocation of model ID m with on-demand throughput isn’t supported."}`, fault.Invalid},
		{"bedrock", 503, nil, `{"__type":"com.amazonaws.bedrock#ServiceUnavailableException","message":"no"}`, fault.Overloaded},
		{"bedrock", 400, nil, `{'headers': {':exception-type': 'throttlingException'}, 'body': b'{"message":"no"}'}`, fault.RateLimited},

		{"ollama", 503, nil, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, fault.Overloaded},
		{"ollama", 500, nil, `{"error":"llama runner process has terminated: exit status 2"}`, fault.Unavailable},
		{"ollama", 500, nil, `{"error":"llama runner process has terminated: cudaMalloc failed: out of memory"}`, fault.Invalid},
		{"ollama", 500, nil, `{"error":"model requires more system memory (5 GiB) than is available (4 GiB)"}`, fault.Invalid},
		{"ollama", 404, nil, `{"error":"model 'm' not found"}`, fault.Invalid},
		{"lmstudio", 400, nil, `{"error":"Model is unloaded."}`, fault.Overloaded},
		{"lmstudio", 400, nil, `{"error":"The model has crashed without additional information. (Exit code: 6)"}`, fault.Unavailable},
		{"lmstudio", 400, nil, `{"error":"Model loading aborted due to insufficient system resources."}`, fault.Overloaded},
		{"lmstudio", 404, nil, `{"error":"Model loading aborted due to insufficient system resources."}`, fault.Overloaded},
		{"lmstudio", 500, nil, `{"error":"Model loading aborted due to insufficient system resources."}`, fault.Overloaded},
		{"lmstudio", 400, nil, `{"error":"Insufficient resources"}`, fault.Overloaded},
		{"lmstudio", 404, nil, `{"error":"Insufficient resources"}`, fault.Overloaded},
		{"lmstudio", 500, nil, `{"error":"Insufficient resources"}`, fault.Overloaded},
		{"lmstudio", 400, nil, `{"error":"Model loading failed"}`, fault.Overloaded},
		{"lmstudio", 403, nil, `{"error":"Model loading failed"}`, fault.Overloaded},
		{"lmstudio", 500, nil, `{"error":"Model loading failed"}`, fault.Overloaded},
		{"lmstudio", 500, nil, `{"error":"Failed to load model"}`, fault.Unknown},
		{"lmstudio", 400, nil, `{"error":"Trying to keep the first 9 tokens when context overflows."}`, fault.TooLong},
		{"llama.cpp", 503, nil, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, fault.Overloaded},
		{"vllm", 500, nil, `{"object":"error","message":"EngineCore encountered an issue.","type":"InternalServerError","code":500}`, fault.Unavailable},
		{"tgi", 422, nil, "{\"error\":\"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000\",\"error_type\":\"validation\"}", fault.TooLong},
		{"tgi", 429, nil, `{"error":"Model is overloaded","error_type":"overloaded"}`, fault.Overloaded},

		{"openrouter", 402, nil, `{"error":{"message":"no","code":402,"metadata":{"limit_source":"openrouter_in_flight_budget"}}}`, fault.RateLimited},
		{"openrouter", 402, nil, `{"error":{"message":"You can only afford 7","code":402}}`, fault.Quota},
		{"openrouter", 429, nil, `{"error":{"message":"Rate limit exceeded: free-models-per-day. ","code":429}}`, fault.Quota},
		{"openrouter", 403, nil, `{"error":{"message":"Key limit exceeded (total limit).","code":403}}`, fault.Quota},
		{"openrouter", 502, nil, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"invalid api key\"}}"}}}`, fault.Auth},
		{"groq", 498, nil, openAIBody("", "capacity_exceeded", "no"), fault.Overloaded},
		{"groq", 400, nil, openAIBody("invalid_request_error", "json_validate_failed", "no"), fault.Unknown},
		{"groq", 413, nil, openAIBody("tokens", "rate_limit_exceeded", "Request too large for m on tokens per minute (TPM): Limit 6000, Requested 14368"), fault.Invalid},
		{"mistral", 429, nil, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":null}`, fault.Overloaded},
		{"mistral", 429, nil, `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","code":"1300"}`, fault.RateLimited},
		{"mistral", 500, nil, `{"object":"error","message":"Service unavailable.","type":"unreachable_backend","code":"1100"}`, fault.Unavailable},
		{"deepseek", 402, nil, openAIBody("unknown_error", "invalid_request_error", "Insufficient Balance"), fault.Quota},
		{"xai", 429, nil, `{"code":"Some resource has been exhausted","error":"Your team has used all available credits or reached its monthly spending limit."}`, fault.Quota},
		{"xai", 429, nil, `{"code":"Some resource has been exhausted","error":"Too many requests for team t: Requests per Second (actual/limit): 5/4"}`, fault.RateLimited},
		{"xai", 400, nil, `{"code":"x","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, fault.TooLong},
		{"cerebras", 429, nil, `{"message":"We're experiencing high traffic right now!","type":"too_many_requests_error","param":"queue","code":"queue_exceeded"}`, fault.Overloaded},
		{"cerebras", 429, nil, `{"message":"Tokens per day limit exceeded","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`, fault.Quota},
		{"together", 429, nil, openAIBody("dynamic_request_limited", "", "no"), fault.RateLimited},
		{"together", 403, nil, openAIBody("", "", "Input token count + max_tokens parameter must be less than the context length"), fault.TooLong},
		{"fireworks", 412, nil, openAIBody("", "PRECONDITION_FAILED", "Account a is suspended, possibly due to reaching the monthly spending limit"), fault.Quota},
		{"fireworks", 503, nil, openAIBody("", "DEPLOYMENT_SCALING_UP", "no"), fault.Overloaded},
		{"kimi", 429, nil, openAIBody("exceeded_current_quota_error", "", "no"), fault.Quota},
		{"kimi", 429, nil, openAIBody("rate_limit_reached_error", "", "request reached organization TPD rate limit, current: 9, limit: 8"), fault.Quota},
		{"kimi", 429, nil, openAIBody("rate_limit_reached_error", "", "request reached project TPM rate limit, current: 120, limit: 100"), fault.RateLimited},
		{"kimi", 429, nil, openAIBody("rate_limit_reached_error", "", "request reached project TPM rate limit, current: 201, limit: 100"), fault.Invalid},
		{"qwen", 429, nil, `{"code":"Throttling.AllocationQuota","message":"Allocated quota exceeded, please increase your quota limit."}`, fault.RateLimited},
		{"qwen", 400, nil, `{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}`, fault.Quota},
		{"qwen", 400, nil, `{"code":"InvalidParameter","message":"Range of input length should be [1, 30720]"}`, fault.TooLong},
		{"zhipu", 429, nil, `{"error":{"code":"1302","message":"您当前使用该API的并发数过高"}}`, fault.RateLimited},
		{"zhipu", 429, nil, `{"error":{"code":"1113","message":"您的账户已欠费"}}`, fault.Quota},
		{"zhipu", 429, nil, `{"error":{"code":"1305","message":"no"}}`, fault.Overloaded},
		{"zhipu", 400, nil, `{"error":{"code":"1261","message":"Prompt 超长"}}`, fault.TooLong},
		{"one-api", 403, nil, `{"error":{"message":"用户额度不足, 剩余额度: 0","type":"new_api_error"}}`, fault.Quota},
		{"one-api", 500, nil, `{"error":{"message":"当前分组上游负载已饱和，请稍后再试","type":"new_api_error"}}`, fault.Overloaded},
		{"minimax", 200, nil, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, fault.Quota},
		{"minimax", 200, nil, `{"base_resp":{"status_code":1002,"status_msg":"no"}}`, fault.RateLimited},
		{"minimax", 500, nil, anthropicBody("api_error", "insufficient balance (1008)"), fault.Quota},
		{"ark", 429, nil, openAIBody("TooManyRequests", "RateLimitExceeded.EndpointRPMExceeded", "no"), fault.RateLimited},
		{"ark", 429, nil, openAIBody("TooManyRequests", "ServerOverloaded", "no"), fault.Overloaded},
		{"ark", 403, nil, openAIBody("Forbidden", "AccountOverdueError", "no"), fault.Quota},
		{"cohere", 429, nil, `{"message":"You are using a Trial key, which is limited to 1000 API calls / month."}`, fault.Quota},
		{"cohere", 429, nil, `{"message":"You are using a Trial key, which is limited to 40 API calls / minute."}`, fault.RateLimited},
		{"copilot", 400, nil, openAIBody("", "model_max_prompt_tokens_exceeded", "prompt token count of 130000 exceeds the limit of 128000"), fault.TooLong},
		{"workers-ai", 429, nil, `{"errors":[{"message":"AiError: no","code":3040}],"success":false}`, fault.Overloaded},
		{"workers-ai", 429, nil, `{"errors":[{"message":"AiError: no","code":3036}],"success":false}`, fault.Quota},
		{"litellm", 429, nil, openAIBody("budget_exceeded", "429", "Budget has been exceeded! Current cost: 52.9, Max budget: 50.0"), fault.Quota},
		{"litellm", 400, nil, openAIBody("", "400", "litellm.ContextWindowExceededError: no"), fault.TooLong},
		{"litellm", 429, nil, openAIBody("", "429", "No deployments available for selected model, Try again in 5 seconds."), fault.Overloaded},
		{"kong", 503, nil, `{"message":"failure to get a peer from the ring-balancer"}`, fault.Overloaded},
		{"envoy", 503, nil, "upstream connect error or disconnect/reset before headers. reset reason: overflow", fault.Overloaded},
		{"cloudflare", 429, nil, "error code: 1027", fault.Quota},
		{"cloudflare", 526, nil, "error code: 526", fault.Invalid},

		{"a name that no table has", 429, nil, openAIBody("team_spend_limit_exceeded", "", "no"), fault.Quota},
		{"a name that no table has", 429, nil, openAIBody("shared_pool_overloaded", "", "no"), fault.Overloaded},
		{"a name that no table has", 403, nil, openAIBody("DailyQuotaExceeded", "", "no"), fault.Quota},
		{"a sentence that no table has", 429, nil, `{"error":"Your prepaid balance is exhausted"}`, fault.Quota},
		{"a sentence that no table has", 400, nil, `{"error":"the conversation is too long for this model"}`, fault.TooLong},
		{"a sentence that no table has", 429, nil, `{"error":"the tokens of this minute exceed what you have"}`, fault.RateLimited},
		{"a sentence that no table has", 200, nil, `{"error":"something went wrong"}`, fault.Unavailable},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, tt.header, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("%s: FromResponse(%d, %s): kind %v by %s, want %v", tt.vendor, tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromEvent_ErrorsInside200(t *testing.T) {
	tests := []struct {
		event  string
		want   fault.Kind
		status int
	}{
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded","message":"no"}}}`, fault.Overloaded, 200},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"no"}}}`, fault.TooLong, 200},
		{`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, fault.Invalid, 200},
		{"event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"try again in 20ms\",\"param\":null,\"sequence_number\":1}", fault.RateLimited, 200},
		{"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"code\":\"insufficient_quota\",\"message\":\"no\"}}", fault.Quota, 200},
		{`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, fault.Overloaded, 503},
		{`[{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}]`, fault.Overloaded, 503},
		{`data: {"candidates":[{"finishReason":"SAFETY","index":0}]}`, fault.Refused, 200},
		{`data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, fault.Refused, 200},
		{`{"error":"an error was encountered while running the model: CUDA error: unspecified launch failure"}`, fault.Unavailable, 200},
		{`{"error":"model requires more system memory (5 GiB) than is available (4 GiB)"}`, fault.Invalid, 200},
		{`{"throttlingException":{"message":"Too many tokens, please wait before trying again."}}`, fault.RateLimited, 200},
		{`{"modelStreamErrorException":{"message":"no","originalStatusCode":500}}`, fault.Unavailable, 200},
		{`{":exception-type":"internalServerException","message":"no"}`, fault.Unavailable, 200},
		{"event: serviceUnavailableException\ndata: {\"message\":\"no\"}", fault.Overloaded, 200},
		{"\x00\x00\x00\x9f\x00\x00\x00\x61\x0f:exception-type\x07\x00\x13throttlingException\x0d:content-type\x07\x00\x10application/json{\"message\":\"no\"}", fault.RateLimited, 200},
		{`data: {"choices":[{"delta":{},"finish_reason":"error"}]}`, fault.Unavailable, 200},
		{`data: {"error":{"code":"server_error","message":"Provider disconnected"},"choices":[{"finish_reason":"error"}]}`, fault.Unavailable, 200},
		{"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}", fault.Refused, 200},
		{"<html><head><title>502 Bad Gateway</title></head></html>", fault.Unavailable, 502},
	}
	for _, tt := range tests {
		if f := classify.FromEvent([]byte(tt.event), start); f.Kind != tt.want || f.Status != tt.status {
			t.Errorf("FromEvent(%q): kind %v, status %d by %s; want %v, %d", tt.event, f.Kind, f.Status, f.Rule, tt.want, tt.status)
		}
	}
}

func TestOf_TextsOfOtherLanguages(t *testing.T) {
	tests := []struct {
		text string
		want fault.Kind
	}{
		{"TypeError: fetch failed", fault.Unavailable},
		{"Error: socket hang up", fault.Unavailable},
		{"connect ECONNREFUSED 127.0.0.1:11434", fault.Unavailable},
		{"getaddrinfo ENOTFOUND api.example.com", fault.Unavailable},
		{"getaddrinfo EAI_AGAIN api.example.com", fault.Unavailable},
		{"connect ETIMEDOUT 192.0.2.1:443", fault.UpstreamTimeout},
		{"read ECONNRESET", fault.Unavailable},
		{"connect EHOSTUNREACH 192.0.2.1:443", fault.Unavailable},
		{"TypeError: terminated", fault.Unavailable},
		{"Error: aborted", fault.Unavailable},
		{"SocketError: other side closed", fault.Unavailable},
		{"HeadersTimeoutError: no (UND_ERR_HEADERS_TIMEOUT)", fault.Timeout},
		{"ConnectTimeoutError: no (UND_ERR_CONNECT_TIMEOUT)", fault.UpstreamTimeout},
		{"Stream closed with error code NGHTTP2_REFUSED_STREAM", fault.Unavailable},
		{"httpx.ReadTimeout: The read operation timed out", fault.Timeout},
		{"requests.exceptions.ConnectionError: ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))", fault.Unavailable},
		{"aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected", fault.Unavailable},
		{"openai.RateLimitError: Error code: 429 - {'error': {'message': 'no', 'code': 'insufficient_quota'}}", fault.Quota},
		{"openai.APIConnectionError: Connection error.", fault.Unavailable},
		{"ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", fault.Invalid},
		{"error sending request for url (https://api.example.com/v1)", fault.Unavailable},
		{"error sending request for url (https://api.example.com/v1): invalid peer certificate: UnknownIssuer", fault.Invalid},
		{"connection closed before message completed", fault.Unavailable},
		{"stream disconnected before completion: Transport error", fault.Unavailable},
		{"Cannot connect to server", fault.Unavailable},
		{"javax.net.ssl.SSLHandshakeException: PKIX path building failed", fault.Invalid},
		{"The Internet connection appears to be offline.", fault.Unavailable},
		{"curl: (52) Empty reply from server", fault.Unavailable},
		{"SyntaxError: Unexpected end of JSON input", fault.Unavailable},
		{"Claude AI usage limit reached|1893456000", fault.Quota},
		{"5-hour limit reached ∙ resets 3am", fault.Quota},
	}
	for _, tt := range tests {
		if f := classify.Of(errors.New(tt.text), start); f.Kind != tt.want {
			t.Errorf("Of(%s): kind %v by %s, want %v", tt.text, f.Kind, f.Rule, tt.want)
		}
	}
}
