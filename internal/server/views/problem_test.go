package views_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/store"
)

func TestRefusal_IsTheErrorOfItsCode(t *testing.T) {
	for _, err := range []error{conversation.ErrNotFound, conversation.ErrIdle, conversation.ErrNotQueued, store.ErrDeleted, store.ErrFull} {
		p, ok := errors.AsType[*api.Problem](views.Explain(fmt.Errorf("c: %w", err)))
		if !ok || !errors.Is(views.Refusal(p), err) || errors.Is(views.Refusal(p), conversation.ErrAnswered) || views.StatusOf(p.Code) != p.Status {
			t.Errorf("problem of %v: got %+v, want one that is this error and no other", err, p)
		}
	}
}

func TestExplain_KeepsTheError(t *testing.T) {
	damage := &store.Damage{Conversation: "c1"}
	for _, c := range []struct {
		err    error
		status int // 0: it has no problem
		code   string
		detail error
	}{
		{fmt.Errorf("get: %w", conversation.ErrNotFound), 404, "not-found", nil},
		{store.ErrFull, 507, "store-full", nil},
		{fmt.Errorf("%w: it is being opened", store.ErrNotOpen), 503, "store-unavailable", nil},
		{fmt.Errorf("read log: %w", store.ErrUnavailable), 503, "store-unavailable", nil},
		{fmt.Errorf("read log: %w", damage), 500, "damaged", damage},
		{errors.New("disk error in /var/lib"), 0, "", nil},
	} {
		got := views.Explain(c.err)
		if !errors.Is(got, c.err) || got.Error() != c.err.Error() {
			t.Errorf("Explain(%v): got %v, want the same error", c.err, got)
		}
		p, ok := errors.AsType[*api.Problem](got)
		if ok != (c.status != 0) {
			t.Fatalf("problem of %v: got %v, want status %d", c.err, p, c.status)
		}
		if c.detail == nil {
			c.detail = c.err
		}
		if ok && (p.Status != c.status || p.Code != c.code || p.Detail != c.detail.Error()) {
			t.Errorf("problem of %v: got %+v, want %d %s with the detail %q", c.err, p, c.status, c.code, c.detail)
		}
	}
	if err := views.Explain(nil); err != nil {
		t.Errorf("Explain(nil): got %v, want nil", err)
	}
}
