package classify_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFromResponse_WordsOfAURLSayNothing(t *testing.T) {
	for message, want := range map[string]fault.Kind{
		"Slow down, see https://daily.limits.example.com/billing/monthly?quota=exceeded":                                   fault.RateLimited,
		"Too many requests. Get more at (https://example.com/docs/daily-limit).":                                           fault.RateLimited,
		"You have reached the daily limit. See https://example.com/docs":                                                   fault.Quota,
		"See https://example.com/a. You have reached the daily limit.":                                                     fault.Quota,
		"You exceeded your current quota, please check your plan. See https://ai.google.dev/gemini-api/docs/rate-limits":   fault.Unknown,
		"You exceeded your current quota, please check your plan. See https://platform.openai.com/docs/guides/error-codes": fault.Quota,
		"upstream https://[2001:db8::1]:8443/v1/monthly-quota: too many requests":                                          fault.RateLimited,
		"too many requests https://": fault.RateLimited,
	} {
		if f := classify.FromResponse(429, nil, []byte(message), start); f.Kind != want {
			t.Errorf("%s: got %v by %s, want %v", message, f.Kind, f.Rule, want)
		}
	}
}

func TestFromResponse_SentenceBehindAnSDKsClassDecides(t *testing.T) {
	for message, want := range map[string]fault.Kind{
		"litellm.ServiceUnavailableError: OpenAIException - maximum context length is 131072 tokens": fault.TooLong,
		"litellm.ServiceUnavailableError: OpenAIException - Incorrect API key provided":              fault.Auth,
		"litellm.ServiceUnavailableError: OpenAIException - insufficient balance":                    fault.Quota,
		"litellm.ServiceUnavailableError: OpenAIException - The server is overloaded":                fault.Overloaded,
		"litellm.ServiceUnavailableError: OpenAIException - add credits for priority":                fault.Overloaded,
	} {
		f := classify.FromResponse(503, nil, []byte(message), start)
		if f.Kind != want {
			t.Errorf("%s: got %v by %s, want %v", message, f.Kind, f.Rule, want)
		}
	}
}

func TestFromResponse_NameOfAWindowOutweighsWordsOfARate(t *testing.T) {
	for code, want := range map[string]fault.Kind{
		"account_quota_exceeded": fault.Quota, "plan_limit_reached": fault.Quota, "FreeUsageLimitError": fault.Quota,
		"monthly_cap_reached": fault.Quota, "rate_limit_exceeded": fault.RateLimited, "some_limit": fault.RateLimited,
		"too_many_requests": fault.RateLimited, "throttled": fault.RateLimited, "tokens": fault.RateLimited,
	} {
		for _, body := range []string{openAIBody("", code, "Rate limit reached. Try later."), openAIBody(code, "", "Rate limit reached. Try later.")} {
			if f := classify.FromResponse(429, nil, []byte(body), start); f.Kind != want {
				t.Errorf("%s: got %v by %s, want %v", body, f.Kind, f.Rule, want)
			}
		}
	}
}

func TestFromResponse_StatusAndTypeBesideAQuotedCauseAreIts(t *testing.T) {
	const timedOut = `"{\"error\":{\"code\":\"invalid_value\",\"message\":\"Timeout while downloading https://a.test/b.png\"}}"`
	for body, want := range map[string]int{
		`{"statusCode":400,"responseBody":` + timedOut + `}`:                      2,
		`{"responseBody":` + timedOut + `,"statusCode":400}`:                      2,
		`{"error":{"name":"APIError","statusCode":400,"cause":` + timedOut + `}}`: 2,
	} {
		if f := classify.FromResponse(500, nil, []byte(body), start); f.Retries != want || !f.Retryable() {
			t.Errorf("%s: got %v by %s, %d retries, want %d", body, f.Kind, f.Rule, f.Retries, want)
		}
	}
	pays := `{"message":"Access is denied due to INVALID_PAYMENT_INSTRUMENT: none. If you fixed this, try again after 15 minutes."}`
	if f := classify.FromResponse(403, headers("x-amzn-errortype", "AccessDeniedException"), []byte(pays), start); f.Kind != fault.Quota {
		t.Errorf("%s: got %v by %s, want quota", pays, f.Kind, f.Rule)
	}
	if f := classify.FromResponse(403, headers("x-amzn-errortype", "AccessDeniedException"), nil, start); f.Kind != fault.Refused {
		t.Errorf("no body: got %v by %s, want refused", f.Kind, f.Rule)
	}
}

func TestFromEvent_StopReasonInASentence(t *testing.T) {
	for message, want := range map[string]fault.Kind{
		"Unhandled stop reason: abort": fault.Unavailable, "Provider finish_reason: network_error": fault.Unavailable,
		"stop_reason: content_filter": fault.Refused, "finish reason: insufficient_system_resource": fault.Overloaded,
		"stop reason: ": fault.Unknown, "the finish_reason is missing": fault.Unknown,
	} {
		if f := classify.FromEvent([]byte(message), start); f.Kind != want {
			t.Errorf("%s: got %v by %s, want %v", message, f.Kind, f.Rule, want)
		}
	}
}
