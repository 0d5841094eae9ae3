package api_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/store"
)

func TestProblem_IsTheErrorOfItsCode(t *testing.T) {
	for _, err := range []error{conversation.ErrNotFound, conversation.ErrIdle, conversation.ErrNotQueued, store.ErrDeleted, store.ErrFull} {
		p := api.ProblemOf(fmt.Errorf("c: %w", err))
		if p == nil || !errors.Is(p, err) || errors.Is(p, conversation.ErrAnswered) || api.StatusOf(p.Code) != p.Status {
			t.Errorf("ProblemOf(%v): got %+v, want a problem that is this error and no other", err, p)
		}
	}
	if p := api.ProblemOf(errors.New("other")); p != nil {
		t.Errorf("ProblemOf(other): got %+v, want nil", p)
	}
}
