package sharing

import (
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// circuit has the news of one circuit of an upstream.
type circuit struct {
	Upstream string
	breaker.News
}

// news returns the news as of now, by the clock here.
func (c *circuit) news(at, now time.Time) breaker.News {
	n, age := c.News, now.Sub(at)
	n.Age, n.Wait, n.Probes, n.Waiting = n.Age+age, max(0, n.Wait-age), min(max(n.Probes, 0), 1<<20), c.waiting()
	if n.Begun > 0 {
		n.Begun += age
	}
	return n
}

func (c *circuit) waiting() int { return min(max(c.Waiting, 0), 1<<24) }

// headroom has the news of the limits of a key of an upstream, which all replicas name alike.
type headroom struct {
	Base string
	ratelimit.News
}

// within returns a load within what can be meant.
func within(l breaker.Load) breaker.Load {
	const most = 1e6
	return breaker.Load{Usual: min(max(l.Usual, 0), most), Peak: min(max(l.Peak, 0), most), Retries: min(max(l.Retries, 0), most)}
}
