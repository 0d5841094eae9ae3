package load

import (
	"errors"
	"sync"
	"time"
)

// Sample is one request of an open loop.
type Sample struct {
	Late  time.Duration // by which it was sent after it was due: the clients' fault, or an answer that took too long
	First time.Duration // from sending to the first piece of content of a stream
	Whole time.Duration // from sending to the end of the answer
}

// Open sends requests at a fixed rate, answered or not: client i of n sends the requests i, i+n, i+2n … of one
// steady beat. It is for one goroutine and keeps its connections between runs.
type Open struct {
	clients  []*Client
	requests []*Request
	stream   bool
}

// NewOpen connects as many clients as it is given requests.
func NewOpen(addr string, requests []*Request, stream bool) (*Open, error) {
	clients, err := dialAll(addr, len(requests))
	return &Open{clients, requests, stream}, err
}

// Run sends n requests, one every beat.
func (o *Open) Run(n int, beat time.Duration) ([]Sample, error) {
	samples := make([]Sample, n)
	errs := make([]error, len(o.clients))
	start := time.Now().Add(beat)
	var wg sync.WaitGroup
	for i, c := range o.clients {
		wg.Go(func() {
			for k := i; k < n && errs[i] == nil; k += len(o.clients) {
				errs[i] = o.one(c, o.requests[i].Next(), start.Add(time.Duration(k)*beat), &samples[k])
			}
		})
	}
	wg.Wait()
	return samples, errors.Join(errs...)
}

func (o *Open) one(c *Client, request []byte, due time.Time, s *Sample) error {
	time.Sleep(time.Until(due))
	sent := time.Now()
	a, err := c.whole(request, o.stream, sent)
	if err != nil {
		return err
	}
	*s = Sample{Late: sent.Sub(due), First: a.First.Sub(sent), Whole: time.Since(sent)}
	return nil
}

// Close ends the connections.
func (o *Open) Close() error { return closeAll(o.clients) }
