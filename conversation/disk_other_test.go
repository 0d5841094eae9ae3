//go:build unix && !linux

package conversation_test

import (
	"context"
	"errors"

	"github.com/ridethrough/ridethrough/conversation"
)

// disk is the disk as this process sees it: one that can stall.
type disk struct{}

// newDisk returns an error: only Linux can ask before each fsync of a process.
func newDisk() (*disk, error) { return nil, errors.New("a disk stalls on Linux only") }

// stall does nothing.
func (*disk) stall() {}

// resume does nothing.
func (*disk) resume() {}

// power is the file of a store on a disk that may lose its power.
type power struct{}

// newPower returns an error: only Linux can ask before each fsync of a process.
func newPower(string) (*power, error) { return nil, errors.New("power is cut on Linux only") }

// submitAndCut does nothing.
func (*power) submitAndCut(context.Context, *conversation.Runner, string) {}
