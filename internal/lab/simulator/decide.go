package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// decision is what happens to a request.
type decision struct {
	reply Reply
	limit *window // what is left of the limit; nil: none holds here
	last  bool    // the connection ends with the answer, since the next one is to be refused
}

// decide finds the reply for a request, gives the request its id and puts it
// on record.
func (p *Provider) decide(x *exchange) decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	at := now.Sub(p.start)
	d := p.choose(at, x.endpoint.generates && x.wrong.status == 0)
	_, d.last = p.upcoming().(Refuse)
	p.served++
	x.call.id, x.call.at = fmt.Sprintf("%06d", p.served), now
	x.seen.At, x.seen.Outcome = at, x.outcome(d.reply)
	p.log.add(x.seen)
	return d
}

// choose finds the reply. scripted says that the request is counted by the
// limit and uses up a reply.
func (p *Provider) choose(at time.Duration, scripted bool) decision {
	d := decision{reply: p.outage(at)}
	if d.reply == nil && scripted && p.script.Limit.on() {
		d.reply, d.limit = p.admit(at)
	}
	if d.reply == nil && scripted {
		d.reply = p.upcoming()
		p.next++
	}
	if d.reply == nil {
		d.reply = OK{}
	}
	return d
}

// refuses reports whether a dial at this moment is refused.
func (p *Provider) refuses() bool {
	seen, ok := p.refusal()
	if ok {
		p.tell(seen)
	}
	return ok
}

// refusal puts a dial on record that is refused, which takes the turn of a
// scripted Refuse.
func (p *Provider) refusal() (Request, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Since(p.start)
	reply := p.outage(at)
	scripted := reply == nil
	if scripted {
		reply = p.upcoming()
	}
	if _, ok := reply.(Refuse); !ok {
		return Request{}, false
	}
	if scripted {
		p.next++
	}
	seen := Request{At: at, Outcome: outcome(reply)}
	p.log.add(seen)
	return seen, true
}

// outage returns the reply of the outage that holds, or nil.
func (p *Provider) outage(at time.Duration) Reply {
	for _, o := range p.script.Outages {
		if o.covers(at) {
			return o.reply()
		}
	}
	return nil
}

// upcoming returns the reply whose turn is next, without using it up; nil: a
// normal answer.
func (p *Provider) upcoming() Reply {
	if p.next < len(p.script.Replies) {
		return p.script.Replies[p.next]
	}
	return p.script.Then
}

// admit counts a request in its window. The reply is nil where it fits.
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

// tooMany is a 429 with the whole seconds after which the next try fits.
func tooMany(in time.Duration) Reply {
	seconds := (in + time.Second - 1) / time.Second
	return Status{Code: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {strconv.Itoa(int(seconds))}}}
}
