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
	"github.com/ridethrough/ridethrough/retry"
)

const kb = 1 << 10

// memory measures what waiting requests cost in a process that has done nothing else. KB are 1024 bytes, as in the
// kernel.
type memory struct {
	what        string
	ask         load.Ask
	link        peer.Link
	begins      bool // the answer begins at once
	alone       bool // the baseline cannot do it
	full, quick int  // how many requests
	total       bool // in MB for the whole process; else in KB for each
	gate, goal  float64
	peak, left  float64 // gates of the whole process while the requests are answered, and after that
}

func (m memory) run(row string) func(context.Context, *bench) ([]figure.Figure, error) {
	return func(ctx context.Context, b *bench) ([]figure.Figure, error) {
		f := figure.Figure{Name: m.what, Unit: "KB", Gate: bound(m.gate), Goal: bound(m.goal)}
		n := pick(b, m.full, m.quick)
		peak := figure.Figure{Name: "most while they are answered", Unit: "MB", Gate: bound(m.peak)}
		left := figure.Figure{Name: "a minute after they have left", Unit: "MB", Gate: bound(m.left)}
		sides := []string{"ours", "baseline"}
		if m.alone {
			sides = sides[:1]
		}
		rounds := pick(b, 3, 1)
		if m.total { // the crowd takes its time
			f.Unit, rounds = "MB", 1
		}
		for range rounds {
			for _, side := range sides {
				found, err := m.round(ctx, b, row, side, n)
				if err != nil {
					return []figure.Figure{f}, err
				}
				f.Add(side, found.held)
				if side == "ours" && found.note != "" {
					f.Notes = append(f.Notes, found.note)
				}
				if m.total {
					peak.Add(side, found.peak)
					left.Add(side, found.left)
				}
			}
		}
		if m.total {
			return []figure.Figure{f, peak, left}, nil
		}
		return []figure.Figure{f}, nil
	}
}

type size struct {
	held float64 // while the requests are held
	peak float64 // of the whole process while they are answered, in MB; 0: not measured
	left float64 // likewise, once their clients have left
	note string
}

func bound(x float64) figure.Bound {
	if x == 0 {
		return figure.Bound{}
	}
	return figure.AtMost(x)
}

// round starts a proxy, has it hold n requests and returns what they cost.
func (m memory) round(ctx context.Context, b *bench, row, side string, n int) (found size, err error) {
	s, err := b.stage(row, setup{link: m.link, free: true}, side)
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
	if m.total {
		found.peak, found.left, err = s.ended(ctx, held, p)
	}
	return found, err
}

// ended ends the outage and returns the memory of the process in MB: the peak until every client has its answer,
// and what is left a minute after they have closed their connections.
func (s *stage) ended(ctx context.Context, held *load.Held, p *Process) (peak, left float64, err error) {
	err = errors.Join(p.ResetPeak(), s.tell(peer.RecoverPath), held.Finish(time.Now().Add(5*time.Minute)))
	most, failed := p.Peak()
	if err := errors.Join(err, failed, held.Close()); err != nil {
		return 0, 0, err
	}
	if err := retry.Sleep(ctx, time.Minute); err != nil {
		return 0, 0, err
	}
	n, err := pss(ctx, p)
	return float64(most) / 1e6, n / 1e6, err
}

func (m memory) cost(before, after float64, n int) float64 {
	if m.total {
		return after / 1e6
	}
	return (after - before) / float64(n) / kb
}

// warmUp has a process answer a few requests, so that its code and its first buffers are loaded, and returns its
// memory after that.
func warmUp(ctx context.Context, s *stage, p *Process) (float64, error) {
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
	if err := s.tell(peer.CountsPath); err != nil { // which forgets them
		return 0, err
	}
	return pss(ctx, p)
}

// fill sends requests no faster than the process takes them.
func fill(ctx context.Context, s *stage, p *Process, held *load.Held, n int, a load.Ask, begins bool) error {
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

func taken(ctx context.Context, p *Process, n int) error {
	for range 2000 {
		sockets, err := p.Sockets()
		if err != nil {
			return err
		}
		if sockets.Open >= n && sockets.Unread == 0 {
			return nil
		}
		if err := retry.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not read its requests", p.Name)
}

// settle waits until all requests are where the row wants them: at the upstream, or in a long wait between two
// tries.
func (m memory) settle(ctx context.Context, s *stage, p *Process, n int) (note string, err error) {
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
		if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d of %d requests have reached the upstream", held, n)
}

// quiet waits until there was no try for three seconds and the proxy is nearly idle. It stops after a number of
// looks, since the tries of an outage never end.
func (s *stage) quiet(ctx context.Context, p *Process, looks int) (note string, err error) {
	var c peer.Counts
	for range looks {
		tries := c.Requests
		used, err := p.CPUWithin(ctx, 3*time.Second)
		if err != nil {
			return "", err
		}
		if c, err = s.counts(); err != nil {
			return "", err
		}
		if c.Requests == tries && used < 150*time.Millisecond {
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

// pss is the memory of a process at rest: the median of five looks, in bytes.
func pss(ctx context.Context, p *Process) (float64, error) {
	var looks []float64
	for range 5 {
		if err := retry.Sleep(ctx, 200*time.Millisecond); err != nil {
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

// atRest is how long a process is idle before its memory is read: by then it has done what it does once after its
// start, and has loaded that code.
const atRest = 10 * time.Second

// idle measures processes before their first request: all their memory, and the part of it that is data and no
// code.
func idle(ctx context.Context, b *bench) ([]figure.Figure, error) {
	all := figure.Figure{Name: "process without requests, PSS", Unit: "MB", Gate: figure.AtMost(28), Goal: figure.AtMost(25)}
	data := figure.Figure{Name: "data of a process without requests", Unit: "MB"}
	for range pick(b, 3, 1) {
		s, err := b.stage("idle", setup{free: true}, "ours", "baseline", "peers")
		if err != nil {
			return nil, err
		}
		err = retry.Sleep(ctx, atRest)
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
