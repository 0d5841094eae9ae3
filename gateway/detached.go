package gateway

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/transport"
)

// Detached has an answer read to its end although its client has left, and kept for when the client sends the
// same request again. The zero value is off.
type Detached struct {
	Agents []string      // for clients whose User-Agent or Originator begins so, such as "codex", in any case; "all": every client
	Time   time.Duration // how long an answer is read on, and how long it is kept then; 0: 5 min
	Bytes  int64         // the largest answer that is kept; 0: 8 MiB
	Tries  bool          // also a try in progress that has no content so far; false: it ends when the client leaves
}

// AllAgents stands for every client in [Detached.Agents].
const AllAgents = "all"

// withDefaults returns d with the defaults in place of zeros.
func (d Detached) withDefaults() Detached {
	if d.Time == 0 {
		d.Time = 5 * time.Minute
	}
	if d.Bytes == 0 {
		d.Bytes = 8 << 20
	}
	return d
}

// includes reports whether the answers to a client are kept.
func (d *Detached) includes(c dialect.Client) bool {
	return slices.ContainsFunc(d.Agents, func(agent string) bool {
		return agent == AllAgents || beginsWith(c.Agent, agent) || beginsWith(c.Originator, agent)
	})
}

// beginsWith compares in any case.
func beginsWith(s, begin string) bool {
	return len(s) >= len(begin) && strings.EqualFold(s[:len(begin)], begin)
}

// detaches reports whether the client's answer is kept when it leaves.
func (c *call) detaches() bool {
	d := &c.setup.detached
	return len(d.Agents) > 0 && d.includes(c.client())
}

// replayedHeader is "true" on an answer that an earlier request of the same meaning was given, whose client has left, and
// "false" where another gateway of the fleet has such an answer and it could not be had.
const replayedHeader = "X-Ridethrough-Replayed"

// keepAnswer begins to keep the answer that the call is about to send, for when its client leaves.
func (c *call) keepAnswer(resp *http.Response) {
	if c.again > 0 || c.outcome.Verdict.Stop != "" || resp == nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" || !c.detaches() {
		return
	}
	m := c.meant.Load()
	if m == nil {
		return
	}
	w, watched := resp.Body.(transport.Watched)
	k := &keptAnswer{
		requestKey: c.key(), meaning: *m, id: c.info.ID, at: c.shared.at, header: resp.Header.Clone(), watched: watched,
		inFleet: c.shared.leader.answerID(), record: c.gateway.spool.NewRecord(), most: c.setup.detached.Bytes, running: c.shared, client: c.r.Context(),
	}
	if watched {
		k.form = w.Form()
	}
	c.kept = k
	c.gateway.coalescer.keep(k)
}

// replay sends the client the answer to the same request before; false: none is kept.
func (c *call) replay() bool {
	if len(c.setup.detached.Agents) == 0 {
		return false
	}
	k := c.gateway.coalescer.keptFor(c)
	if k == nil {
		k = c.keptElsewhere()
	}
	if k == nil {
		return false
	}
	c.keepalive.stop()
	c.shared = &sharedRequest{Gateway: c.gateway, setup: c.setup, leader: c, at: k.at, finished: true}
	resp := k.response(c.r.Context())
	defer resp.Body.Close()
	defer k.follow(c)()
	c.emit(Event{Replayed: k.id})
	c.w.Header()[replayedHeader] = []string{"true"}
	c.forward(resp)
	if c.r.Context().Err() == nil {
		c.gateway.coalescer.drop(k) // the client has it
		c.gateway.delivered(k)
	}
	return true
}

// takeBack adds a client to a request whose clients may all have left.
func (s *sharedRequest) takeBack(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(c)
}

// forget removes a client without whom the request ends.
func (s *sharedRequest) forget(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

// add adds a client. mu is held.
func (s *sharedRequest) add(c *call) {
	s.calls = append(s.calls, c)
	s.stopDetached()
}

// detach has the request go on for a time although its last client has left; false: it ends. mu is held.
func (s *sharedRequest) detach() bool {
	answers := s.finished && s.resp != nil && s.last.Verdict.Stop == ""
	tries := s.setup.detached.Tries && !s.finished && s.state == stateTrying
	if !answers && !tries || s.draining.Err() != nil || !s.leader.detaches() {
		return false
	}
	expired := time.AfterFunc(s.setup.detached.Time, func() { s.cancel(errLeft) })
	drained := context.AfterFunc(s.draining, func() { s.cancel(errClosing) })
	s.stopDetached()
	s.undetach = func() { expired.Stop(); drained() }
	return true
}

// stopDetached ends the time for which the request runs detached. mu is held.
func (s *sharedRequest) stopDetached() {
	if s.undetach != nil {
		s.undetach()
		s.undetach = nil
	}
}

// isDetached reports whether the request runs on though its clients have left.
func (s *sharedRequest) isDetached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) == 0
}

// goesOn reports whether the call takes an answer although its client has left.
func (c *call) goesOn() bool {
	s := c.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.winner == c && s.resp != nil && s.last.Verdict.Stop == "" && c.detaches()
}

// passOn sends a part of the answer to the client, and keeps it. It reports whether the rest is of use.
func (c *call) passOn(p []byte) bool {
	if c.again > 0 || c.shared.readsUsage() {
		c.shared.used.Scan(p)
	}
	k := c.kept
	if k == nil {
		return c.write(p, clientStallTimeout) == nil
	}
	useful := k.add(p)
	k.mu.Lock()
	left := k.isLeft()
	k.mu.Unlock()
	if !left && c.write(p, clientStallTimeout) == nil {
		return true
	}
	k.mu.Lock()
	k.left = true
	k.mu.Unlock()
	c.shared.leave(c)
	return useful
}

// endKept ends what is kept of the call's answer. It stays for a while if the client has left it, and it is whole.
func (c *call) endKept(whole bool) {
	k := c.kept
	if k == nil {
		return
	}
	c.kept = nil
	k.finish(whole)
	k.mu.Lock()
	left, isWhole := k.left, k.end == io.EOF
	k.until = time.Now().Add(c.setup.detached.Time)
	k.mu.Unlock()
	if !left || !isWhole {
		c.gateway.coalescer.drop(k)
		if isWhole {
			c.gateway.answeredAnew(k)
		}
		return
	}
	time.AfterFunc(c.setup.detached.Time, func() { c.gateway.coalescer.drop(k) })
	c.offer(k)
	c.clientLeft()
}
