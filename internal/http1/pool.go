package http1

import (
	"sync"
	"time"
)

// pool keeps idle connections by host, the latest used at the end. It has no goroutine: a connection is
// checked when it is taken, and one timer closes those that have been idle for too long.
type pool struct {
	mu    sync.Mutex
	hosts map[string][]*conn
	timer *time.Timer // nil: nothing to close later
	shut  bool        // no connection is kept until the next request
}

// take returns the connection to the host that was used last; nil: none is left.
func (t *Transport) take(host string) *conn {
	for {
		c := t.idle.pop(host)
		if c == nil {
			return nil
		}
		if time.Since(c.since) < t.idleTimeout() && c.usable() {
			c.reused = true
			return c
		}
		_ = c.Close()
	}
}

func (p *pool) pop(host string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
	idle := p.hosts[host]
	if len(idle) == 0 {
		return nil
	}
	c := idle[len(idle)-1]
	idle[len(idle)-1] = nil
	p.hosts[host] = idle[:len(idle)-1]
	return c
}

// put keeps a connection, or closes it where enough are kept.
func (t *Transport) put(c *conn) {
	c.since = time.Now()
	limit := t.IdlePerHost
	if limit == 0 {
		limit = 256
	}
	p := &t.idle
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.hosts[c.host]
	if len(idle) >= limit || p.shut {
		_ = c.Close()
		return
	}
	if p.hosts == nil {
		p.hosts = make(map[string][]*conn)
	}
	p.hosts[c.host] = append(idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(t.idleTimeout(), t.sweep)
	}
}

// sweep closes connections that have been idle for too long, and sets the timer for the others.
func (t *Transport) sweep() {
	p := &t.idle
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return // cleared
	}
	now, limit, next := time.Now(), t.idleTimeout(), time.Duration(0)
	for host, idle := range p.hosts {
		for len(idle) > 0 && now.Sub(idle[0].since) >= limit {
			_ = idle[0].Close()
			idle = idle[1:]
		}
		if p.hosts[host] = append([]*conn(nil), idle...); len(idle) == 0 {
			delete(p.hosts, host)
			continue
		}
		if left := limit - now.Sub(idle[0].since); next == 0 || left < next {
			next = left
		}
	}
	if p.timer = nil; next > 0 {
		p.timer = time.AfterFunc(next, t.sweep)
	}
}

func (t *Transport) idleTimeout() time.Duration {
	if t.IdleTimeout == 0 {
		return 90 * time.Second
	}
	return t.IdleTimeout
}

// clear closes all connections, also those put back before the next request.
func (p *pool) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, idle := range p.hosts {
		for _, c := range idle {
			_ = c.Close()
		}
	}
	p.hosts = nil
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}
