package api

import (
	"bytes"
	"slices"
)

// Prelude follows a streamed answer. Up to the first thing that its client keeps, such as text, the client has been
// sent reasoning at most: an answer that breaks off in its prelude can be asked for again, and Restart makes both one
// answer to the client. From its first tool call on an answer is withheld until it is whole, behind a text too: a
// client that has one call and an error may make it, and then ask again and make it twice.
//
// The zero Prelude follows nothing. It is for one goroutine.
type Prelude struct {
	api    *API
	form   Form
	client Client

	rest     []byte  // the beginning of a frame
	repeats  Repeats // frames of reasoning, of a tool call or, if all of the answer is followed, of others
	withheld []byte  // whole frames that the client has not been sent
	failure  []byte  // the error in the answer's place, and what follows
	in       []byte  // that Add is given
	same     int     // in[:same] is to be sent as it is
	held     int     // in[same:same+held] is withheld, and nothing before it; not in withheld yet
	out      []byte  // is to be sent in its place; empty: nothing else is

	shown   bool // the client has been sent a part of the answer
	over    bool // and of what it keeps
	calls   bool // a tool call has begun: all is withheld up to the end
	passing bool // nothing is withheld any more
	again   bool // this answer follows another one, which has been shown
	watch   bool // an error is left out behind the prelude too

	at        Position
	block     PartKind // what the open block of the answer has; 0: none is open
	begun     int      // blocks of this answer
	signed    bool     // reasoning is refused by the API, when a client returns it, without its signature
	sealed    bool     // the signature of the open block has come, and is withheld
	tokens    int      // that this answer has said to have taken
	starts    bool     // the frame has nothing but the start of the answer
	open      bool     // the last block that the client has been sent is open there
	sent      int      // frames, to the client
	crlf      bool     // lines end so
	discarded int      // tokens of the answers before
	unstated  int      // of those, how many have said none
}

// MaxWithheld is the most that is withheld of an answer. What is larger is passed on as it comes.
const MaxWithheld = 1 << 20

// effect is what a frame is to a client.
type effect uint8

const (
	asAside     effect = iota // nothing of the answer, such as a ping
	asOpening                 // it is of use with what follows only
	asReasoning               // it is shown, and not kept without an answer
	asCalling                 // a part of a tool call
	asKept                    // the client keeps it, or acts on it
)

// PreludeRules are what only one API knows of its preludes. In an answer that follows another one, a frame that only
// starts it is left out.
type PreludeRules struct {
	OnceReasoned bool                                        // readers append reasoning to that of before, so that it is left out
	Index        string                                      // the member that has the number of a block; "": none has
	Edit         func(p *Position, name, data []byte) []byte // the data, in the numbers and with the ids of the first answer; nil: as it is
	Closes       bool                                        // an open block of reasoning needs its end
}

// Position is where an answer that follows another one continues.
type Position struct {
	ID     string // of the first answer
	Blocks int    // that the client has been sent
	Base   int    // of those, before this answer
	Frames int    // of this answer and those before, dropped ones left out
}

// Begin begins to follow an answer; false: nothing of it can be completed.
func (p *Prelude) Begin(a *API, f Form, c Client) bool {
	if a.is.Prelude == nil || f == JSON {
		return false
	}
	*p = Prelude{api: a, form: f, client: c}
	return true
}

// Follows reports whether Add has to be given what comes. Otherwise it is sent as it is.
func (p *Prelude) Follows() bool { return p.api != nil && (!p.passing || p.again || p.watch) }

// Watch has Add return whole frames and leave out an error up to the end of the answer, after the prelude too.
func (p *Prelude) Watch() { p.watch = p.api != nil }

// Watches reports whether Add leaves an error out.
func (p *Prelude) Watches() bool { return p.api != nil && (!p.over || p.watch) }

// Restartable reports whether the answer, if it breaks off now, can be asked for again.
func (p *Prelude) Restartable() bool {
	return p.api != nil && !p.over && (!p.open || !p.signed || p.client.dropsUnsigned())
}

// IsOver reports whether the client has been sent something that it keeps.
func (p *Prelude) IsOver() bool { return p.api == nil || p.over }

// Discarded returns how many tokens the answers that broke off have said to have taken, and how many of those answers
// have said nothing of it.
func (p *Prelude) Discarded() (tokens, unstated int) { return p.discarded, p.unstated }

// Withheld returns how many bytes are withheld.
func (p *Prelude) Withheld() int { return len(p.withheld) + len(p.rest) }

// Fail returns the error with which the answer has ended, as it came. What follows is sent as it is.
func (p *Prelude) Fail() []byte {
	p.over, p.passing, p.again, p.watch, p.withheld = true, true, false, false, nil
	return append(p.failure, p.rest...)
}

// Add takes the next bytes of the answer, and returns those that the client is to be sent now. They are valid until
// the next call. failed reports that the answer has ended with an error, which is not among them.
func (p *Prelude) Add(b []byte) (send []byte, failed bool) {
	if !p.Follows() {
		return b, false
	}
	if len(p.rest) > 0 {
		b = slices.Concat(p.rest, b)
		p.rest = p.rest[:0]
	}
	p.in, p.same, p.out = b, 0, nil
	for len(b) > 0 && !failed {
		if n := p.takeMore(b); n > 0 {
			b = b[n:]
			continue
		}
		n := len(b)
		if p.Follows() {
			n = p.form.FrameLen(b, 0)
		}
		switch {
		case n <= 0 && len(b) < MaxWithheld:
			p.rest = append(p.rest, b...)
			return p.sending(), false
		case n <= 0, !p.Follows():
			p.pass(b)
			return p.sending(), false
		default:
			if failed = p.take(b[:n]); failed {
				p.failure = bytes.Clone(b)
			}
		}
		b = b[n:]
	}
	return p.sending(), failed
}

// End returns what the client is still to be sent of an answer that has ended properly.
func (p *Prelude) End() []byte {
	if !p.Follows() {
		return nil
	}
	p.in, p.same, p.out = nil, 0, nil
	if len(p.rest) > 0 {
		p.take(p.rest)
		p.rest = nil
	}
	p.over, p.passing = true, true
	p.flush()
	return p.sending()
}

// Release has all that is withheld sent, and all that follows as it comes.
func (p *Prelude) Release() []byte {
	p.in, p.same, p.out = nil, 0, nil
	p.over, p.passing = true, true
	p.flush()
	if !p.Follows() {
		p.send(p.rest)
		p.rest = nil
	}
	return p.sending()
}

// Restart drops what is withheld, and has the next bytes be those of another answer to the same request. It
// returns what the client is to be sent before.
func (p *Prelude) Restart() []byte {
	p.drop()
	p.in, p.same, p.out = nil, 0, nil
	p.at.Frames = p.sent
	p.again = p.again || p.shown
	if p.open && p.api.is.Prelude.Closes {
		p.send(p.api.Forms().Encoder(p.form, Head{}).closeBroken(p.at.Blocks - 1))
		p.at.Frames++
		p.sent = p.at.Frames
	}
	p.block, p.open, p.sealed = 0, false, false
	p.begun, p.at.Base = 0, p.at.Blocks
	if p.discarded += p.tokens; p.tokens == 0 {
		p.unstated++
	}
	p.tokens = 0
	return p.sending()
}

// Rejoin drops what is withheld, and has the next bytes be the rest of the answer, in its own numbers.
func (p *Prelude) Rejoin() {
	p.drop()
	p.block, p.again = 0, false
}

// drop drops what is withheld.
func (p *Prelude) drop() {
	p.repeats.Clear()
	p.rest, p.withheld, p.held, p.failure, p.calls = p.rest[:0], p.withheld[:0], 0, nil, false
}

// take takes one frame; failed: it is an error, which is left out.
func (p *Prelude) take(frame []byte) (failed bool) {
	kind := p.api.LaterFrameKind(p.form, frame)
	if kind == Failure && p.Watches() {
		return true
	}
	name, data := Payload(p.form, frame)
	as := p.effectOf(name, data)
	if p.again && as != asAside {
		if frame = p.merged(as, frame, name, data); frame == nil {
			return false
		}
	}
	if as != asAside {
		p.at.Frames++
	}
	p.repeats.Forget()
	switch ends := as == asKept && kind >= Finish; {
	case kind == Failure: // behind what the client keeps: of a call it has seen nothing
		p.withheld, p.held, p.calls = p.withheld[:0], 0, false
		p.show(frame)
	case as == asCalling, p.calls && !ends:
		p.calls = !p.overflows(frame)
		p.withholdOrShow(frame)
	case as == asAside:
		p.send(frame)
	case as == asKept:
		p.over, p.calls = true, false
		p.show(frame)
		if ends {
			p.repeats.Clear()
		} else {
			p.repeats.Learn(frame)
		}
	case as == asReasoning:
		p.show(frame)
		p.repeats.Learn(frame)
		p.at.Blocks, p.open = p.at.Base+p.begun, p.block == ReasoningPart
	default:
		p.withholdOrShow(frame)
	}
	return false
}

// effectOf returns what a frame is to the client of this answer.
func (p *Prelude) effectOf(name, data []byte) effect {
	switch {
	case p.passing:
		return asKept
	case len(name)+len(data) == 0:
		return asAside
	}
	parts := p.api.is.Decode(name, data)
	as := p.read(&parts)
	if p.over && as != asAside && as != asCalling {
		return asKept
	}
	return as
}

// takeMore takes the frame with which b begins, if it is one more of those before, and returns its length; 0: it is
// not.
func (p *Prelude) takeMore(b []byte) (n int) {
	if p.again {
		return 0
	}
	if p.over {
		n = p.repeats.NextLen(b)
	} else {
		n = p.repeats.Next(b).Len
	}
	if n == 0 || p.overflows(b[:n]) {
		return 0
	}
	p.at.Frames++
	if p.held+len(p.withheld) > 0 {
		p.withhold(b[:n])
		return n
	}
	p.sent = p.at.Frames
	p.send(b[:n])
	return n
}

// merged returns a frame of an answer that follows another one; nil: it is left out.
func (p *Prelude) merged(as effect, frame, name, data []byte) []byte {
	now := data
	if len(data) > 0 && data[0] == '{' {
		rules := p.api.is.Prelude
		switch {
		case p.starts && as == asOpening, rules.OnceReasoned && (as == asOpening || as == asReasoning):
			return nil
		case rules.Edit != nil:
			now = rules.Edit(&p.at, name, data)
		case rules.Index != "":
			now = Shifted(data, rules.Index, p.at.Base)
		}
	}
	switch {
	case p.form == Array:
		if rest, ok := bytes.CutPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte("[")); ok {
			return append([]byte(","), rest...)
		}
	case len(data) == 0 || &now[0] == &data[0] && len(now) == len(data):
	case p.form == Lines:
		return append(slices.Clip(now), '\n')
	case p.form == AWSEvents:
		return AWSEvent(name, now)
	default:
		return EventFrame(name, now)
	}
	return frame
}

// EventFrame returns a server-sent event.
func EventFrame(name, data []byte) []byte {
	frame := make([]byte, 0, len("event: \ndata: \n\n")+len(name)+len(data))
	if len(name) > 0 {
		frame = append(append(append(frame, "event: "...), name...), '\n')
	}
	return append(append(append(frame, "data: "...), data...), "\n\n"...)
}

// Middle is a place between two frames of an answer, where keepalives may be sent.
type Middle struct {
	api    *API
	form   Form
	client Client
	id     string
	within bool
	crlf   bool
}

// Middle returns the place up to which the client has been sent the answer.
func (p *Prelude) Middle() Middle {
	return Middle{p.api, p.form, p.client, p.at.ID, p.shown, p.crlf}
}

// Ping is [Dialect.Ping] there.
func (m Middle) Ping(state string) []byte {
	return m.api.ping(m.form, m.client, state, m.crlf)
}

// Heartbeat is [Dialect.Heartbeat] there: it is a part of the answer that has begun.
func (m Middle) Heartbeat() []byte {
	beat := m.api.Heartbeat(m.form, m.client)
	if beat == nil || !m.within || m.api.is.HeartbeatWithin == nil {
		return beat
	}
	return []byte(m.api.is.HeartbeatWithin(string(beat), m.id))
}

// dropsUnsigned reports whether a client drops reasoning without a signature before it returns it to the API,
// which would refuse it (Vercel's @ai-sdk/anthropic, on which opencode stands).
func (c Client) dropsUnsigned() bool {
	a := c.Program()
	return a == VercelSDK || a == Opencode
}
