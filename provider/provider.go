// Package provider is what the models over the vendors' SDKs have in common: it
// sees to it that what comes out of an SDK is what [llm.Model] promises.
//
// An SDK does not tell all. It takes a clean end for the end of a whole answer,
// keeps the headers of an error to itself, or reports a broken connection as
// nothing at all. So a [Call] looks twice: at what the SDK says, and, below it
// ([Observe]), at what really came over the wire. [Stream] makes one *fault.Error
// of both.
//
// Nothing here waits or tries again. The packages below this one each have one
// vendor's SDK; package agent and others' programs use those.
package provider

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/transport"
)

// DefaultClient gives the http.Client of a model that was given none: it sends once,
// hands on what comes as it is, and bears ten minutes of silence before an
// answer begins and five inside it.
func DefaultClient() *http.Client {
	return &http.Client{Transport: &transport.Transport{
		Limits: transport.Limits{FirstByte: 10 * time.Minute, Idle: 5 * time.Minute},
	}}
}

// Stream asks with an SDK and yields what [llm.Model] promises. ask is called
// when the sequence is ranged over, each time anew. It hands the answer to the
// Call piece by piece and returns the SDK's error as it is; its context is for
// the SDK, whose http.Client must be one of [Observe].
//
// An answer of which ask has not seen the proper end ([Call.End]) has broken
// off, whether it returns an error or nil. by is who is asked, faults names what
// goes wrong.
func Stream(ctx context.Context, by llm.Name, faults classify.Classifier, ask func(context.Context, *Call) error) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		c := &Call{by: by, faults: faults, yield: yield}
		err := ask(context.WithValue(ctx, callKey{}, c), c)
		switch {
		case c.left:
		case err == nil && c.ended:
			c.finish()
		default:
			yield(nil, c.fault(ctx, err))
		}
	}
}
