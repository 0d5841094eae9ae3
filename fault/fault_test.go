package fault_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// start is the current time in these tests.
var start = time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)

func TestError_TextAndLabel(t *testing.T) {
	tests := []struct {
		fault       fault.Error
		text, cause string
	}{
		{fault.Error{Kind: fault.Overloaded, Status: 529, Code: "overloaded_error", Message: "Overloaded"}, "HTTP 529: Overloaded", "server overloaded"},
		{fault.Error{Kind: fault.Overloaded, Status: 529, Code: "overloaded_error"}, "HTTP 529: overloaded_error", "server overloaded"},
		{fault.Error{Kind: fault.Overloaded, Status: 200, Message: "Overloaded"}, "error in a 200: Overloaded", "server overloaded"},
		{fault.Error{Kind: fault.Unavailable, Status: 502}, "HTTP 502: server error", "server error"},
		{fault.Error{Kind: fault.Unavailable, Err: io.EOF}, "EOF", "network"},
		{fault.Error{Kind: fault.Timeout}, "timeout", "timeout"},
		{fault.Error{Kind: 99}, "unknown failure", "unknown failure"},
	}
	for _, tt := range tests {
		if got := tt.fault.Error(); got != tt.text || tt.fault.Label() != tt.cause {
			t.Errorf("text %q, label %q; want %q, %q", got, tt.fault.Label(), tt.text, tt.cause)
		}
	}
	if f := (&fault.Error{Err: io.EOF}); !errors.Is(f, io.EOF) {
		t.Error("errors.Is does not find the cause")
	}
}

func TestError_RetryAfterIsTheWaitOrTheTimeToTheReset(t *testing.T) {
	tests := []struct {
		fault fault.Error
		want  time.Duration
	}{
		{fault.Error{}, 0},
		{fault.Error{Wait: 7 * time.Second, ResetAt: start.Add(time.Hour)}, 7 * time.Second},
		{fault.Error{ResetAt: start.Add(time.Hour)}, time.Hour},
		{fault.Error{ResetAt: start.Add(-time.Hour)}, 0},
	}
	for _, tt := range tests {
		if got := tt.fault.RetryAfter(start); got != tt.want {
			t.Errorf("RetryAfter of %+v = %v, want %v", tt.fault, got, tt.want)
		}
	}
}

func TestError_RedactedIsBoundedAndHasNoKeys(t *testing.T) {
	key := "sk-ant-" + strings.Repeat("a1", 20)
	f := &fault.Error{Kind: fault.Auth, Err: errors.New("refused " + key + " " + strings.Repeat("é", 4000))}
	if m := f.Redacted(); strings.Contains(m, key) || len(m) > 2<<10 || !strings.HasPrefix(m, "refused *** é") {
		t.Errorf("Redacted has %d bytes: %.80q; want at most 2048 and no key", len(m), m)
	}
	f = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: `{"type":"overloaded_error"}`}
	if m := f.Redacted(); m != `HTTP 529: {"type":"overloaded_error"}` {
		t.Errorf("Redacted = %q, want the status and the JSON", m)
	}
}

func TestSet_HasWithWithout(t *testing.T) {
	s := fault.Set(0).With(fault.Quota, fault.Unknown).Without(fault.Quota)
	if s.Has(fault.Quota) || !s.Has(fault.Unknown) || s.Has(fault.Overloaded) {
		t.Errorf("set %b, want unknown alone", s)
	}
	if fault.Transient.Has(fault.Unknown) || fault.Transient.Has(fault.Quota) || !fault.Transient.Has(fault.Truncated) {
		t.Error("Transient holds other kinds than those that pass by themselves")
	}
}

func TestKind_NamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for k := fault.Unknown; k <= fault.Canceled; k++ {
		if k.String() == "" || k.Text() == "" || seen[k.String()] {
			t.Errorf("kind %d: name %q, text %q; want names of its own", k, k.String(), k.Text())
		}
		seen[k.String()] = true
		if fault.KindOf(k.String()) != k {
			t.Errorf("KindOf(%q) = %v, want the same kind", k, fault.KindOf(k.String()))
		}
	}
	if fault.KindOf("tea-time") != fault.Unknown {
		t.Errorf("KindOf(tea-time) = %v, want unknown", fault.KindOf("tea-time"))
	}
	if fault.Kind(99).String() != "unknown" {
		t.Errorf("Kind(99) = %q, want unknown", fault.Kind(99))
	}
}
