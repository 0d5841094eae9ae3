package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store"
)

// Problem is an error document (RFC 9457). Its type is about:blank, which is left out; programs go by the
// code.
type Problem struct {
	Title  string `json:"title"` // the text of the status
	Status int    `json:"status"`
	Code   string `json:"code"`   // stable across versions
	Detail string `json:"detail"` // a sentence to show
}

// Error returns the detail, or else the status.
func (p *Problem) Error() string {
	return cmp.Or(p.Detail, fmt.Sprintf("the server answered %d", p.Status))
}

// Is reports whether the code is that of a conversation's or a store's error, so that a client asks for
// [conversation.ErrNotFound] as a caller in the server's process does.
func (p *Problem) Is(target error) bool {
	for _, k := range known {
		if k.err == target && k.code == p.Code {
			return true
		}
	}
	return false
}

// known are the errors that have a code of their own.
var known = []struct {
	err    error
	status int
	code   string
}{
	{conversation.ErrNotFound, http.StatusNotFound, "not-found"},
	{store.ErrDeleted, http.StatusGone, "gone"},
	{conversation.ErrExists, http.StatusConflict, "exists"},
	{conversation.ErrInvalidText, http.StatusBadRequest, "invalid-input"},
	{conversation.ErrQueueFull, http.StatusTooManyRequests, "queue-full"},
	{store.ErrInvalid, http.StatusBadRequest, "invalid-input"},
	{conversation.ErrIdle, http.StatusConflict, "not-running"},
	{conversation.ErrAnswered, http.StatusConflict, "answered"},
	{conversation.ErrStopped, http.StatusConflict, "already-stopped"},
	{conversation.ErrNotQueued, http.StatusConflict, "not-queued"},
	{conversation.ErrNotAsked, http.StatusConflict, "not-asked"},
	{conversation.ErrInvalidDecision, http.StatusBadRequest, "invalid-input"},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{store.ErrFull, http.StatusServiceUnavailable, "store-full"},
	{store.ErrNotOpen, http.StatusServiceUnavailable, "store-unavailable"},
	{store.ErrUnavailable, http.StatusServiceUnavailable, "store-unavailable"},
	{store.ErrClosed, http.StatusServiceUnavailable, "busy"},
}

// ProblemOf returns the problem of an error that has a code of its own; nil: it has none.
func ProblemOf(err error) *Problem {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &Problem{Title: http.StatusText(k.status), Status: k.status, Code: k.code, Detail: err.Error()}
		}
	}
	return nil
}

// StatusOf returns the status of the code of such an error; 0: there is no such code.
func StatusOf(code string) int {
	for _, k := range known {
		if k.code == code {
			return k.status
		}
	}
	return 0
}
