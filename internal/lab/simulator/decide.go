package simulator

import (
	"fmt"
	"net/http"
	"time"
)

// decision is the reply to a request.
type decision struct {
	reply Reply
	limit *window  // the state of the limit; nil: no limit
	rates []bucket // the state of the rates; nil: no rates
	last  bool     // close the connection after the answer: the next reply is Refuse
}

// decide chooses the reply to a request, sets the request's id and records it.
func (p *Provider) decide(x *exchange) decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	at := now.Sub(p.start)
	d := p.choose(x, at, x.endpoint.whole() == "" && x.wrong == nil)
	d.last = p.upcoming() == Refuse
	p.served++
	x.call.id, x.call.at = fmt.Sprintf("%06d", p.served), now
	x.seen.At, x.seen.Outcome = at, x.outcome(d.reply)
	p.log.add(x.seen)
	return d
}

// choose chooses a reply. A scripted request counts towards the limit and uses up a reply.
func (p *Provider) choose(x *exchange, at time.Duration, scripted bool) decision {
	d := decision{reply: p.outage(at)}
	if d.reply == nil && scripted && p.script.Limit.on() {
		d.reply, d.limit = p.admit(at)
	}
	if d.reply == nil && scripted && len(p.buckets) > 0 {
		d.reply, d.rates = p.charge(x, p.start.Add(at))
	}
	if d.reply == nil && scripted {
		d.reply = p.scripted(at)
	}
	if d.reply == nil {
		d.reply = OK
	}
	return d
}

// scripted returns the next scripted reply and uses it up, unless it is a window that is still spent.
func (p *Provider) scripted(at time.Duration) Reply {
	for {
		reply := p.upcoming()
		spent, ok := reply.(SpentWindow)
		if !ok {
			p.next++
			return reply
		}
		before := p.next
		if refusal, refuses := p.refuse(spent, at); refuses || p.next == before {
			return refusal
		}
	}
}

// refuses reports whether a dial is refused now. It records that, and uses up a scripted Refuse.
func (p *Provider) refuses() bool {
	p.mu.Lock()
	at := time.Since(p.start)
	reply := p.outage(at)
	scripted := reply == nil
	if scripted {
		reply = p.upcoming()
	}
	seen := Request{At: at, Outcome: string(Refuse)}
	if reply == Refuse {
		if scripted {
			p.next++
		}
		p.log.add(seen)
	}
	p.mu.Unlock()
	if reply == Refuse {
		p.report(seen)
	}
	return reply == Refuse
}

// outage returns the reply of the current outage, or nil.
func (p *Provider) outage(at time.Duration) Reply {
	for _, o := range p.script.Outages {
		switch {
		case at < o.From || at >= o.To && o.To != 0:
		case o.Reply == nil:
			return Status{Code: 529}
		default:
			return o.Reply
		}
	}
	return nil
}

// upcoming returns the next scripted reply without using it up, or nil for a normal answer.
func (p *Provider) upcoming() Reply {
	if p.next < len(p.script.Replies) {
		return p.script.Replies[p.next]
	}
	return p.script.Then
}

// admit counts a request in its window. The reply is nil within the limit.
func (p *Provider) admit(at time.Duration) (Reply, *window) {
	limit := p.script.Limit
	if now := int64(at / limit.Every); now != p.window {
		p.window, p.used = now, 0
	}
	opens := time.Duration(p.window+1) * limit.Every
	w := &window{limit: limit.N, opens: p.start.Add(opens), in: opens - at}
	if p.used >= limit.N {
		return tooMany(w.in), w
	}
	p.used++
	w.left = limit.N - p.used
	return nil, w
}

// tooMany returns a 429 with Retry-After in whole seconds.
func tooMany(in time.Duration) Reply {
	return Status{Code: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {inSeconds(in)}}}
}
