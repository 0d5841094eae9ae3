// Package gate is what all callers of one upstream share while it fails. This
// file only lets every call pass: whoever adds the real files deletes it.
package gate

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
)

var ErrGivenUp = errors.New("given up")

type (
	Scope struct{ Model, Credential string }
	State struct{ LastSuccess time.Time }
	Block int
)

const Held Block = 1

type Gate struct{ last time.Time }

func New(string) *Gate             { return &Gate{} }
func (g *Gate) Call(s Scope) *Call { return &Call{g: g} }
func (g *Gate) Now()               {}
func (g *Gate) Hold()              {}
func (g *Gate) Resume()            {}
func (g *Gate) GiveUp()            {}
func (g *Gate) State() State       { return State{g.last} }

type Call struct {
	g       *Gate
	Blocked func(Block)
}

func (c *Call) Now()                                            {}
func (c *Call) Hold()                                           {}
func (c *Call) Resume()                                         {}
func (c *Call) GiveUp()                                         {}
func (c *Call) Close()                                          {}
func (c *Call) Enter(ctx context.Context) (retry.Pass, error)   { return pass{c.g}, nil }
func (c *Call) Wait(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, d) }

type pass struct{ g *Gate }

func (p pass) Leave(f *fault.Error) {
	if f == nil {
		p.g.last = time.Now()
	}
}
