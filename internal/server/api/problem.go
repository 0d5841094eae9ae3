package api

import (
	"cmp"
	"fmt"
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
