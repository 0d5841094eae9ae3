package load

import (
	"sync"
	"time"
)

// Arrival is the result of one client of a crowd.
type Arrival struct {
	Answered bool // with all that was asked for
	End      time.Time
	Err      error // or a wrong answer
}

// Crowd sends each request from its own client, spread evenly over a period. It waits for each answer up to
// patience.
func Crowd(addr string, requests []*Request, spread, patience time.Duration) []Arrival {
	arrivals := make([]Arrival, len(requests))
	start := time.Now()
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() {
			time.Sleep(time.Until(start.Add(spread * time.Duration(i) / time.Duration(len(requests)))))
			arrivals[i] = arrive(addr, r.Next(), patience)
		})
	}
	wg.Wait()
	return arrivals
}

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
