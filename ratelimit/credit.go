package ratelimit

import "time"

// credit is what a table may use of a limit that several have in common. It grows by the table's part of what comes
// back, and each second what is left of the limit is divided again.
type credit struct {
	has         float64
	at, divided time.Time
}

// creditWait returns how long it takes until the part of a limit that is this table's has room for a cost.
func (k *known) creditWait(cost, keep, part float64, now time.Time) time.Duration {
	if part == 1 || k.rate == 0 || k.Name == learnedName || now.Before(k.doubted) {
		return 0
	}
	own := &k.own
	cost = min(cost, (1-min(0.9, keep)-margin)*k.limit)
	own.has = min(own.has+part*k.refilled(now.Sub(own.at)), max(cost, part*k.limit))
	if own.at = now; now.Sub(own.divided) >= telling {
		own.has, own.divided = max(min(own.has, cost), part*max(0, k.leftAt(now)-margin*k.limit)), now
	}
	lacks := cost - own.has
	switch {
	case lacks < k.limit*1e-6:
		return 0
	case k.reset.IsZero():
		return min(telling, time.Duration(lacks/(part*k.rate)*float64(time.Second))+time.Millisecond)
	}
	return telling
}

// history is what has happened in the last minute, in parts of a second.
type history struct {
	costs  [128]float64
	latest int64 // the number of the latest part
}

const partLength = time.Second / 2

func (h *history) add(cost float64, at time.Time) {
	n := at.UnixNano() / int64(partLength)
	for ; h.latest < n; h.latest++ {
		if n-h.latest >= int64(len(h.costs)) {
			h.costs, h.latest = [128]float64{}, n
			break
		}
		h.costs[(h.latest+1)%int64(len(h.costs))] = 0
	}
	h.costs[n%int64(len(h.costs))] += cost
}

// since returns what has happened since a time.
func (h *history) since(from, now time.Time) (sum float64) {
	if h == nil {
		return 0
	}
	h.add(0, now)
	first := max(from.UnixNano()/int64(partLength), h.latest-int64(len(h.costs))+1)
	for n := first; n <= h.latest; n++ {
		sum += h.costs[n%int64(len(h.costs))]
	}
	return sum
}
