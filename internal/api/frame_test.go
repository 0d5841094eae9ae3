package api_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// An error of any vendor's is one in every API, since relays put them there.
func TestAPI_BodyKind(t *testing.T) {
	rows := []struct {
		body string
		want api.FrameKind
	}{
		{`{"id":"c","choices":[{"message":{"content":"Hi"}}]}`, api.Content},
		{`{"type":"message","content":[{"type":"text","text":"an \"error\":{} in words"}]}`, api.Content},
		{`{"id":"r","error":null,"output":[]}`, api.Content},
		{`{"id":"r","error":false,"choices":[]}`, api.Content},
		{`{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"gone"},"output":[]}`, api.Failure},
		{`{"id":"resp_1","object":"response","status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}}`, api.Content},
		{`{"promptFeedback":{"blockReason":"SAFETY"}}`, api.Content},
		{`{"model":"m","response":"Hi","done":true}`, api.Content},
		{`{"error":"model requires more system memory"}`, api.Failure},
		{`{"error":{"message":"overloaded"}}`, api.Failure},
		{`{"type":"error","error":{"type":"overloaded_error"}}`, api.Failure},
		{`[{"error":{"code":503}}]`, api.Failure},
		{`<!DOCTYPE html><title>502</title>`, api.Failure},
		{`{"id":"c","choices":[{"mess`, api.Opening},
		{` `, api.Opening},
	}
	for _, d := range registry.All() {
		for _, row := range rows {
			if got := d.BodyKind([]byte(row.body)); got != row.want {
				t.Errorf("%s: BodyKind(%s) = %d, want %d", d.Name(), row.body, got, row.want)
			}
		}
	}
}
