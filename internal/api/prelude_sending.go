package api

import (
	"bytes"
	"slices"
)

// What of a prelude its client is sent, and what is withheld.

// show sends what is withheld, and a frame.
func (p *Prelude) show(frame []byte) {
	p.flush()
	p.send(frame)
	p.shown, p.sent = true, p.at.Frames
	p.crlf = bytes.HasSuffix(frame, []byte("\r\n"))
}

// overflows reports whether there is no room to withhold a frame.
func (p *Prelude) overflows(frame []byte) bool {
	return p.passing || p.held+len(p.withheld)+len(frame) > MaxWithheld
}

// withholdOrShow withholds a frame, or shows it with the withheld ones.
func (p *Prelude) withholdOrShow(frame []byte) {
	if p.overflows(frame) {
		p.over, p.passing = true, true
		p.show(frame)
		return
	}
	p.withhold(frame)
	if p.calls {
		p.repeats.Learn(frame)
	}
}

// withhold withholds a frame. What Add is given is copied only if it is still withheld when Add returns.
func (p *Prelude) withhold(frame []byte) {
	if len(p.withheld)+len(p.out) == 0 && p.isNext(p.same+p.held, frame) {
		p.held += len(frame)
		return
	}
	p.keepHeld()
	p.keep(frame)
}

// isNext reports whether bytes are those at a place of what Add is given.
func (p *Prelude) isNext(at int, b []byte) bool {
	return at+len(b) <= len(p.in) && &p.in[at] == &b[0]
}

// keepHeld keeps what is withheld of what Add is given.
func (p *Prelude) keepHeld() {
	if p.held > 0 {
		p.keep(p.in[p.same : p.same+p.held])
		p.held = 0
	}
}

// keep adds to what is withheld. There may be thousands of frames, so that the room for them doubles.
func (p *Prelude) keep(frame []byte) {
	if len(p.withheld)+len(frame) > cap(p.withheld) {
		p.withheld = slices.Grow(p.withheld, max(len(p.withheld), 4<<10)+len(frame))
	}
	p.withheld = append(p.withheld, frame...)
}

// flush sends what is withheld.
func (p *Prelude) flush() {
	if p.held > 0 {
		p.same, p.held = p.same+p.held, 0
		return
	}
	if p.same == 0 && len(p.out) == 0 {
		p.out, p.withheld = p.withheld, nil
		return
	}
	p.send(p.withheld)
	p.withheld = nil // most streams withhold nothing more
}

// pass sends what is withheld and the rest, and follows nothing any more.
func (p *Prelude) pass(rest []byte) {
	p.over, p.passing, p.again, p.watch = true, true, false, false
	p.show(rest)
	p.withheld, p.rest = nil, nil
}

// send adds bytes to those that Add returns, without a copy where they are those that it was given.
func (p *Prelude) send(b []byte) {
	switch p.keepHeld(); {
	case len(b) == 0:
	case len(p.out) == 0 && p.isNext(p.same, b):
		p.same += len(b)
	default:
		if len(p.out) == 0 {
			p.out = append(p.out, p.in[:p.same]...)
		}
		p.out = append(p.out, b...)
	}
}

// sending returns what is to be sent.
func (p *Prelude) sending() []byte {
	p.keepHeld()
	if len(p.out) > 0 {
		return p.out
	}
	return p.in[:p.same]
}
