package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/ridethrough/ridethrough/provider"
)

func TestArguments_ObjectOrString(t *testing.T) {
	tests := []struct{ written, want, object string }{
		{`{"a":1}`, `{"a":1}`, `{"a":1}`},
		{` {"a": 1}` + "\n", `{"a": 1}`, `{"a": 1}`},
		{``, `{}`, `{}`},
		{`null`, `{}`, `{}`},
		{`{"a":`, `"{\"a\":"`, `{"arguments":"{\"a\":"}`},
		{`[1]`, `"[1]"`, `{"arguments":"[1]"}`},
		{`ls -l`, `"ls -l"`, `{"arguments":"ls -l"}`},
	}
	for _, tt := range tests {
		got := provider.Arguments(tt.written)
		if object := provider.ArgumentsObject(got); string(got) != tt.want || string(object) != tt.object {
			t.Errorf("Arguments(%q) = %s, as object %s", tt.written, got, object)
		}
	}
}

func TestArgumentsObject_WrapsOtherValues(t *testing.T) {
	for given, want := range map[string]string{"": `{}`, `[1]`: `{"arguments":[1]}`, `{"a`: `{"arguments":"{\"a"}`} {
		if got := provider.ArgumentsObject(json.RawMessage(given)); string(got) != want {
			t.Errorf("ArgumentsObject(%q) = %s", given, got)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"city":"Köln"}`, `{"city":"K`, `[]`, `"x"`, "\xff", `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, written string) {
		got := provider.Arguments(written)
		var object map[string]any
		if !json.Valid(got) || json.Unmarshal(provider.ArgumentsObject(got), &object) != nil {
			t.Errorf("Arguments(%q) = %s", written, got)
		}
	})
}
