package load

import (
	"sync"
	"time"
)

// Arrival is what became of one client of a crowd.
type Arrival struct {
	Answered bool // with all that was asked for
	Took     time.Duration
	End      time.Time
	Err      error // or an answer that is none
}

// Crowd sends each request from a client of its own, spread evenly over a
// while, and waits for all answers, each so long at the most.
func Crowd(addr string, requests []*Request, spread, patience time.Duration) []Arrival {
	arrivals := make([]Arrival, len(requests))
	start := time.Now()
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() {
			due := start.Add(spread * time.Duration(i) / time.Duration(len(requests)))
			time.Sleep(time.Until(due))
			arrivals[i] = arrive(addr, r.Next(), patience)
			arrivals[i].Took = arrivals[i].End.Sub(due)
		})
	}
	wg.Wait()
	return arrivals
}

// arrive asks for one stream.
func arrive(addr string, request []byte, patience time.Duration) Arrival {
	c, err := Dial(addr)
	if err != nil {
		return Arrival{End: time.Now(), Err: err}
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	a, err := c.Ask(request)
	return Arrival{Answered: err == nil && a.Whole(true) && !a.First.IsZero(), End: time.Now(), Err: err}
}
