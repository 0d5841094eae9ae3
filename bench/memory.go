//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
	"github.com/ridethrough/ridethrough/bench/internal/proc"
)

const kb = 1 << 10

// memory measures what requests that wait cost in a process that has done
// nothing else. KB are 1024 bytes, as in the kernel.
type memory struct {
	what        string
	ask         load.Ask
	link        peer.Link
	begins      bool // the answer begins at once
	alone       bool // the baseline cannot do it
	full, quick int  // how many requests
	total       bool // in MB for the whole process; else in KB for each
	gate, goal  float64
}

func (m memory) run(row string) func(context.Context, *bench) ([]figure.Figure, error) {
	return func(ctx context.Context, b *bench) ([]figure.Figure, error) {
		f := figure.Figure{Name: m.what, Unit: "KB", Gate: bound(m.gate), Goal: bound(m.goal)}
		n := pick(b, m.full, m.quick)
		if m.total {
			f.Unit = "MB"
		}
		after := figure.Figure{Name: "15 s after its end", Unit: "MB"}
		for range pick(b, m.rounds(), 1) {
			ours, err := m.round(ctx, b, row, "ours", n)
			if err != nil {
				return []figure.Figure{f}, err
			}
			f.Ours = append(f.Ours, ours.held)
			if ours.note != "" {
				f.Notes = append(f.Notes, ours.note)
			}
			if m.total {
				after.Ours = append(after.Ours, ours.after)
			}
			if m.alone {
				continue
			}
			base, err := m.round(ctx, b, row, "baseline", n)
			if err != nil {
				return []figure.Figure{f}, err
			}
			f.Base = append(f.Base, base.held)
		}
		if m.total {
			return []figure.Figure{f, after}, nil
		}
		return []figure.Figure{f}, nil
	}
}

// size is what one round has found.
type size struct {
	held  float64 // while the requests are held
	after float64 // of the whole process once they are answered, in MB; 0: not measured
	note  string
}

// rounds is how often a full run measures: the crowd takes its time.
func (m memory) rounds() int {
	if m.total {
		return 1
	}
	return 3
}

// bound is a bound, or none where there is no number.
func bound(x float64) figure.Bound {
	if x == 0 {
		return figure.Bound{}
	}
	return figure.AtMost(x)
}

// round starts a proxy, has it hold n requests and gives what they cost.
func (m memory) round(ctx context.Context, b *bench, row, side string, n int) (found size, err error) {
	s, err := b.stage(row, setup{link: m.link, free: true, memory: true}, side)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p := s.ours
	if side == "baseline" {
		p = s.baseline
	}
	before, err := warmUp(ctx, s, p)
	if err != nil {
		return found, err
	}
	held := &load.Held{}
	defer func() { _ = held.Close() }() // a server that is ended has closed them
	if err := fill(ctx, s, p, held, n, m.ask, m.begins); err != nil {
		return found, err
	}
	if found.note, err = m.settle(ctx, s, p, n); err != nil {
		return found, err
	}
	after, err := pss(ctx, p)
	if err != nil {
		return found, err
	}
	found.held = m.cost(before, after, n)
	if err := s.snapshot(ctx, p); err != nil || !m.total {
		return found, err
	}
	found.after, err = s.ended(ctx, held, p)
	return found, err
}

// ended ends the outage and gives the memory of the process, in MB, once every client has its answer and has left.
func (s *stage) ended(ctx context.Context, held *load.Held, p *proc.Process) (float64, error) {
	if err := errors.Join(s.recover(), held.Finish(time.Now().Add(5*time.Minute)), held.Close()); err != nil {
		return 0, err
	}
	if err := pause(ctx, 15*time.Second); err != nil {
		return 0, err
	}
	n, err := pss(ctx, p)
	return n / 1e6, err
}

// cost is what the row says of a process that has grown by n requests.
func (m memory) cost(before, after float64, n int) float64 {
	if m.total {
		return after / 1e6
	}
	return (after - before) / float64(n) / kb
}

// warmUp has a process answer a few requests, so that its code and its first
// buffers are there, and gives its memory after that.
func warmUp(ctx context.Context, s *stage, p *proc.Process) (float64, error) {
	for _, a := range []load.Ask{
		{Scene: peer.Scene{Kind: peer.Answer}.String(), Size: 2 * kb},
		{Scene: peer.Scene{Kind: peer.Stream, Chunks: 5}.String(), Size: 2 * kb, Stream: true},
	} {
		o, err := load.NewOpen(p.Addr, s.requests(p, 1, a), a.Stream)
		if err != nil {
			return 0, err
		}
		_, err = o.Run(20, 5*time.Millisecond)
		if err = errors.Join(err, o.Close()); err != nil {
			return 0, err
		}
	}
	if err := s.forget(); err != nil {
		return 0, err
	}
	return pss(ctx, p)
}

// fill sends requests no faster than the process takes them.
func fill(ctx context.Context, s *stage, p *proc.Process, held *load.Held, n int, a load.Ask, begins bool) error {
	for i := range n {
		r := s.bench.book.Request(p.Addr, a)
		if err := held.Hold(p.Addr, r.Next(), begins); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if i%64 == 63 || i == n-1 {
			if err := taken(ctx, p, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// taken waits until the process has read all that was sent to it.
func taken(ctx context.Context, p *proc.Process, n int) error {
	for range 2000 {
		sockets, err := p.Sockets()
		if err != nil {
			return err
		}
		if sockets.Open >= n && sockets.Unread == 0 {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not read its requests", p.Name)
}

// settle waits until all requests are where the row wants them: at the
// upstream, or in a wait between two tries that goes on for a while.
func (m memory) settle(ctx context.Context, s *stage, p *proc.Process, n int) (note string, err error) {
	scene, err := peer.ParseScene(m.ask.Scene)
	if err != nil {
		return "", err
	}
	if scene.Kind != peer.Refuse {
		return "", s.holds(ctx, n)
	}
	looks := 4
	if m.total {
		looks = 10
	}
	return s.quiet(ctx, p, looks)
}

// holds waits until the upstream has taken n requests.
func (s *stage) holds(ctx context.Context, n int) error {
	var held int64
	for range 200 {
		c, err := s.counts()
		if err != nil {
			return err
		}
		if held = c.Held; held >= int64(n) {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d of %d requests have reached the upstream", held, n)
}

// quiet waits until there was no try for three seconds and the proxy has little
// to do, or it has looked so often: an outage goes on, and so do the tries.
func (s *stage) quiet(ctx context.Context, p *proc.Process, looks int) (note string, err error) {
	var c peer.Counts
	for range looks {
		before, tries := time.Duration(0), c.Requests
		if before, err = p.CPU(); err != nil {
			return "", err
		}
		if err := pause(ctx, 3*time.Second); err != nil {
			return "", err
		}
		after, err := p.CPU()
		if err != nil {
			return "", err
		}
		if c, err = s.counts(); err != nil {
			return "", err
		}
		if c.Requests == tries && after-before < 150*time.Millisecond {
			break
		}
	}
	sockets, err := s.upstream.Sockets()
	if err != nil {
		return "", err
	}
	peak, err := p.Peak()
	return fmt.Sprintf("%d tries so far, %d connections to the upstream, %.0f MB at the peak", c.Requests, sockets.Open, float64(peak)/1e6), err
}

// pss is the memory of a process that has come to rest: the median of five looks, in bytes.
func pss(ctx context.Context, p *proc.Process) (float64, error) {
	var looks []float64
	for range 5 {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
		n, err := p.PSS()
		if err != nil {
			return 0, err
		}
		looks = append(looks, float64(n))
	}
	return figure.Median(looks), nil
}

// atRest is how long a process has had nothing to do when its memory is read: by then it has also done what it does
// once after its start, and has its code for that in memory.
const atRest = 10 * time.Second

// idle measures processes before their first request: all their memory, and what of it are data and no code.
func idle(ctx context.Context, b *bench) ([]figure.Figure, error) {
	all := figure.Figure{Name: "process without requests, PSS", Unit: "MB", Gate: figure.AtMost(28), Goal: figure.AtMost(25)}
	data := figure.Figure{Name: "data of a process without requests", Unit: "MB"}
	for range pick(b, 3, 1) {
		s, err := b.stage("idle", setup{free: true}, "ours", "baseline", "peers")
		if err != nil {
			return nil, err
		}
		err = pause(ctx, atRest)
		for _, p := range s.sides() {
			size, failed := pss(ctx, p)
			anon, failed2 := p.Data()
			err = errors.Join(err, failed, failed2)
			all.Add(p.Name, size/1e6)
			data.Add(p.Name, float64(anon)/1e6)
		}
		if err := errors.Join(err, s.close()); err != nil {
			return nil, err
		}
	}
	return []figure.Figure{all, data}, nil
}
