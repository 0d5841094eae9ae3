// Package provider is [llm.Model] over the vendors' APIs, and for a model of one's own: [Stream] turns what a client
// makes of a response into what [llm.Model] promises.
//
// A client, an SDK above all, does not report everything. It takes a clean end for the end of a whole answer,
// hides the headers of an error, or reports a broken connection as nothing at all. So a [Call] uses two
// sources: what the client reports and, below it ([Observe]), the actual response. [Stream] makes one
// *fault.Error of both.
//
// Nothing here waits or retries. A model of one's own may stand on an SDK.
package provider

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/transport"
)

// DefaultClient returns the http.Client of a model without one: it sends once, passes on what comes
// unchanged, and allows ten minutes of silence before an answer begins and five inside it.
func DefaultClient() *http.Client {
	return &http.Client{Transport: &transport.Transport{
		Limits: transport.Limits{FirstByte: 10 * time.Minute, Idle: 5 * time.Minute},
	}}
}

// Stream sends a request and yields what [llm.Model] promises. ask is called each time the sequence is ranged
// over. It passes the answer to the Call piece by piece and returns its client's error as it is; its context
// is for the request, whose http.Client must come from [Observe].
//
// An answer without a proper end ([Call.End]) has broken off, whether ask returns an error or nil. by is
// the model; faults classifies failures.
func Stream(ctx context.Context, by llm.Name, faults classify.Classifier, ask func(context.Context, *Call) error) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		c := &Call{by: by, faults: faults, yield: yield}
		c.faults.Provider = cmp.Or(faults.Provider, by.Provider)
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
