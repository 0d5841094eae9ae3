package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	pullFor  = 30 * time.Second // how long the servers keep a question for a ticket
	pullRest = time.Second      // how long it rests after they could not
)

func (s *store) Enqueue(ctx context.Context, t Job) error {
	return s.publishJob(ctx, accepting, t, dueSub, func(m *nats.Msg) {
		if t.Key != "" {
			m.Header.Set(jetstream.MsgIDHeader, t.Turn+"/"+t.Key)
		}
	})
}

// Schedule sets the schedule's header itself: the library's option cuts the time to
// seconds, which is early.
func (s *store) Schedule(ctx context.Context, t Job, at time.Time) error {
	if !at.After(time.Now()) { // to take away a former parking might take away a newer one
		return s.publishJob(ctx, appending, t, dueSub, func(*nats.Msg) {})
	}
	return s.publishJob(ctx, appending, t, parkSub, func(m *nats.Msg) {
		m.Header.Set(jetstream.ScheduleHeader, "@at "+instant(at))
		m.Header.Set(jetstream.ScheduleTargetHeader, subject(dueSub, t.Turn))
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	})
}

// enqueue stores a ticket.
func (s *store) publishJob(ctx context.Context, u use, t Job, prefix string, set func(*nats.Msg)) error {
	if err := checkTicket(t); err != nil {
		return err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.room(u); err != nil {
		return err
	}
	data, err := plain(t)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	m := &nats.Msg{Subject: subject(prefix, t.Turn), Header: nats.Header{}, Data: data}
	set(m)
	_, err = s.publish(ctx, m)
	return err
}

func (s *store) Unschedule(ctx context.Context, turn string) error {
	if err := checkID("turn", turn); err != nil {
		return err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var purged struct{}
	return s.api(ctx, "STREAM.PURGE."+turns, map[string]string{"filter": subject(parkSub, turn)}, &purged)
}

// pulls is who waits for tickets, in order. One question at a time is out, for
// all of them.
type pulls struct {
	mu      sync.Mutex
	waiting []chan *storeClaim
	asking  bool
	anew    chan struct{} // tells the one who asks that the question was lost
}

// afresh has the question asked again: the servers are others, perhaps.
func (p *pulls) afresh() {
	select {
	case p.anew <- struct{}{}:
	default:
	}
}

func (s *store) Take(ctx context.Context) (Lease, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	mine := make(chan *storeClaim, 1)
	s.line(mine)
	select {
	case c := <-mine:
		return c, nil
	case <-ctx.Done():
		s.step(mine)
		return nil, context.Cause(ctx)
	}
}

// line puts somebody at the end of the line, and sees to it that somebody asks.
func (s *store) line(mine chan *storeClaim) {
	s.pulls.mu.Lock()
	defer s.pulls.mu.Unlock()
	s.pulls.waiting = append(s.pulls.waiting, mine)
	if !s.pulls.asking {
		s.pulls.asking = true
		s.busy.Go(s.pull)
	}
}

// step takes somebody out of the line, and hands back what came in the same
// moment.
func (s *store) step(mine chan *storeClaim) {
	s.pulls.mu.Lock()
	defer s.pulls.mu.Unlock()
	for i, ch := range s.pulls.waiting {
		if ch == mine {
			s.pulls.waiting = append(s.pulls.waiting[:i:i], s.pulls.waiting[i+1:]...)
			return
		}
	}
	_ = (<-mine).Nack(0)
}

// pull asks for tickets as long as somebody waits for one.
func (s *store) pull() {
	inbox, came := s.nc.NewInbox(), make(chan *nats.Msg, 16)
	sub, err := s.nc.ChanSubscribe(inbox, came)
	for s.awaited() {
		var m *nats.Msg
		if err == nil {
			m, err = s.question(inbox, came)
		}
		switch {
		case m != nil:
			s.hand(m)
		case err != nil && !pause(s.life, pullRest):
		case err != nil:
			err = nil
		}
	}
	if sub != nil {
		_ = sub.Unsubscribe()
	}
	for len(came) > 0 {
		s.hand(<-came)
	}
}

// awaited tells whether somebody waits. If not, nobody asks from now on.
func (s *store) awaited() bool {
	s.pulls.mu.Lock()
	defer s.pulls.mu.Unlock()
	s.pulls.asking = len(s.pulls.waiting) > 0 && s.life.Err() == nil
	return s.pulls.asking
}

// question asks the servers for a ticket. None comes if none is due for a
// while. It needs an inbox of its own: a ticket comes under its own subject, by
// which the library cannot tell whose question it answers.
func (s *store) question(inbox string, came <-chan *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(s.life, pullFor+patience/3)
	defer cancel()
	request := fmt.Appendf(nil, `{"batch":1,"expires":%d}`, pullFor)
	if err := s.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+turns+"."+workers, inbox, request); err != nil {
		return nil, err
	}
	select {
	case m := <-came:
		return ticketIn(m)
	case <-s.pulls.anew:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ticketIn gives an answer, unless it says that no ticket is due.
func ticketIn(m *nats.Msg) (*nats.Msg, error) {
	switch status := m.Header.Get("Status"); status {
	case "":
		return m, nil
	case "404", "408":
		return nil, nil
	default:
		return nil, errors.New(status + " " + m.Header.Get("Description"))
	}
}

// hand gives a ticket to whoever has waited longest.
func (s *store) hand(m *nats.Msg) {
	if m.Header.Get("Status") != "" {
		return
	}
	c := &storeClaim{s: s, reply: m.Reply}
	if err := json.Unmarshal(m.Data, &c.ticket); err != nil {
		_ = c.Done() // nobody could ever read it
		return
	}
	s.pulls.mu.Lock()
	defer s.pulls.mu.Unlock()
	if len(s.pulls.waiting) == 0 {
		_ = c.Nack(0)
		return
	}
	s.pulls.waiting[0] <- c
	s.pulls.waiting = s.pulls.waiting[1:]
}

// storeClaim is a ticket in somebody's hand. Its reply is where to say so.
type storeClaim struct {
	s      *store
	reply  string
	ticket Job
}

func (c *storeClaim) Job() Job { return c.ticket }

func (c *storeClaim) Extend() error { return c.say("+WPI") }

func (c *storeClaim) Nack(after time.Duration) error {
	if after <= 0 {
		return c.say("-NAK")
	}
	return c.say(fmt.Sprintf(`-NAK {"delay":%d}`, after))
}

// say tells the servers about the claim.
func (c *storeClaim) say(what string) error {
	if c.s.life.Err() != nil {
		return ErrClosed
	}
	if err := c.s.nc.Publish(c.reply, []byte(what)); err != nil {
		return explain(c.s.life, err)
	}
	return nil
}

// Done waits for the servers to have heard.
func (c *storeClaim) Done() error {
	if c.s.life.Err() != nil {
		return ErrClosed
	}
	_, err := c.s.ask(c.s.life, c.reply, []byte("+ACK"))
	return err
}
