package classify_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFromResponse_WhatAMessageDeniesIsNoLimit(t *testing.T) {
	for message, want := range map[string]fault.Kind{
		"Server is temporarily limiting requests (not your usage limit)":                            fault.RateLimited,
		"We are busy. This does not count against your usage limit.":                                fault.RateLimited,
		"Slow down. Your usage limit has not been reached.":                                         fault.RateLimited,
		"Too many requests at the moment; your weekly limit is not affected.":                       fault.RateLimited,
		"You have reached your usage limit.":                                                        fault.Quota,
		"This request does not count against your usage limit. You have reached your weekly limit.": fault.Quota,
		"Your usage limit has not been reset so far.":                                               fault.Quota,
		"You have reached your usage limit. It is not possible to say when it will be restored.":    fault.Quota,
		"Your organization's usage limit is reached; this is not your personal fault.":              fault.Quota,
	} {
		if f := classify.FromResponse(429, nil, []byte(anthropicBody("rate_limit_error", message)), start); f.Kind != want {
			t.Errorf("%s: got %v by %s, want %v", message, f.Kind, f.Rule, want)
		}
	}
	own := classify.Classifier{Judges: []classify.Judge{classify.Rows([]classify.Row{{Text: "not your usage limit", Kind: fault.Overloaded, Rule: "own"}})}}
	if f := own.FromResponse(429, nil, []byte("not your usage limit"), start); f.Kind != fault.Overloaded {
		t.Errorf("a row of the user's: got %v by %s, want overloaded", f.Kind, f.Rule)
	}
}

func TestFromResponse_CauseMayBeAStringInAnyMember(t *testing.T) {
	const cause = `"{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}"`
	for body, want := range map[string]fault.Kind{
		`{"error":{"message":"Stream error","value":{"error_message":` + cause + `}}}`: fault.TooLong,
		`{"error":{"message":"Stream error","data":{"responseBody":` + cause + `}}}`:   fault.TooLong,
		`{"error":{"message":"Stream error","whatever":` + cause + `}}`:                fault.TooLong,
		`{"error":{"message":"Stream error","input":` + cause + `}}`:                   fault.Unavailable,
		`{"error":{"message":"Stream error","failed_generation":` + cause + `}}`:       fault.Unavailable,
		`{"error":{"message":"Stream error","whatever":"{\"model\":\"m\"}"}}`:          fault.Unavailable,
	} {
		if f := classify.FromResponse(500, nil, []byte(body), start); f.Kind != want {
			t.Errorf("%s: got %v by %s, want %v", body, f.Kind, f.Rule, want)
		}
	}
}

func TestFromResponse_DownloadThatTimedOutIsAskedForTwice(t *testing.T) {
	for body, want := range map[string]int{
		`{"error":{"message":"Timeout while downloading https://a.test/x.png","param":"url","code":"invalid_value"}}`: 2,
		`{"error":{"message":"Unable to download https://a.test/x.png: connection timed out","param":"url"}}`:         2,
		`{"error":{"message":"Error while downloading https://a.test/x.png. Upstream status code: 404."}}`:            0,
		`{"error":{"message":"Invalid value: the timeout must be a number","code":"invalid_value"}}`:                  0,
	} {
		f := classify.FromResponse(400, nil, []byte(body), start)
		if f.Retries != want || f.Retryable() != (want > 0) {
			t.Errorf("%s: got %v by %s, %d retries, want %d", body, f.Kind, f.Rule, f.Retries, want)
		}
	}
}
