package load

import (
	"errors"
	"sync"
	"time"
)

// Rush sends each request from a client of its own that asks again as soon as it is answered, and returns what
// was sent within a span, after a while in which nothing counts.
func Rush(addr string, requests []*Request, stream bool, warm, span time.Duration) ([]Sample, error) {
	clients := make([]*Client, 0, len(requests))
	defer func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}()
	for range requests {
		c, err := Dial(addr)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	from := time.Now().Add(warm)
	samples, errs := make([][]Sample, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { samples[i], errs[i] = c.rush(requests[i], stream, from, from.Add(span)) })
	}
	wg.Wait()
	var all []Sample
	for _, s := range samples {
		all = append(all, s...)
	}
	return all, errors.Join(errs...)
}

// rush asks until a moment, and keeps what was sent after another.
func (c *Client) rush(r *Request, stream bool, from, to time.Time) (samples []Sample, err error) {
	for {
		sent := time.Now()
		if sent.After(to) {
			return samples, nil
		}
		a, err := c.whole(r.Next(), stream, sent)
		if err != nil {
			return nil, err
		}
		if sent.After(from) {
			samples = append(samples, Sample{First: a.First.Sub(sent), Whole: time.Since(sent)})
		}
	}
}
