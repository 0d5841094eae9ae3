package dialect

import (
	"bytes"
	"slices"
)

// Prelude follows a streamed answer up to the first thing that its client keeps, such as text. Until then the
// client has been sent reasoning at most: a tool call is withheld until it is whole. An answer that breaks off in
// its prelude can be asked for again, and Restart makes both one answer to the client.
//
// The zero Prelude follows nothing. It is for one goroutine.
type Prelude struct {
	dialect *Dialect
	form    Form
	client  Client

	rest     []byte  // the beginning of a frame
	repeats  Repeats // frames of reasoning, of a tool call or, if all of the answer is followed, of others
	withheld []byte  // whole frames that the client has not been sent
	failure  []byte  // the error in the answer's place, and what follows
	in       []byte  // that Add is given
	same     int     // in[:same] is to be sent as it is
	held     int     // in[same:same+held] is withheld, and nothing before it; not in withheld yet
	out      []byte  // is to be sent in its place; empty: nothing else is

	shown    bool // the client has been sent a part of the answer
	over     bool // and of what it keeps
	again    bool // this answer follows another one, which has been shown
	watch    bool // frames are cut, and an error is left out, behind the prelude too
	restarts int

	block     blockType // that is open in the answer
	begun     int       // blocks of this answer
	blocks    int       // that the client has been sent
	base      int       // of those, before this answer
	open      bool      // the last of them is open at the client
	signed    bool      // reasoning is refused by the API, when a client returns it, without its signature
	sealed    bool      // the signature of the open block has come, and is withheld
	id        string    // of the first answer, where each frame repeats it
	frames    int       // of this answer and those before, dropped ones left out
	sent      int       // of those, to the client
	crlf      bool      // lines end so
	tokens    int       // that this answer has said to have taken
	discarded int       // those of the answers before
	unstated  int       // of those, how many have said none
}

// MaxWithheld is the most that is withheld of an answer. What is larger is passed on as it comes.
const MaxWithheld = 1 << 20

// part is what a frame is to a client.
type part uint8

const (
	aside     part = iota // nothing of the answer, such as a ping
	opening               // it is of use with what follows only
	reasoning             // it is shown, and not kept without an answer
	calling               // a part of a tool call
	kept                  // the client keeps it, or acts on it
)

// blockType is what a block of an answer is.
type blockType uint8

const (
	noBlock blockType = iota
	reasoningBlock
	callBlock
	textBlock
)

// preludeRules are what a dialect knows of its preludes.
type preludeRules struct {
	part  func(p *Prelude, name, data []byte) part
	again func(p *Prelude, as part, name, data []byte) []byte // the data in an answer that follows another; nil: it is left out
	close func(p *Prelude) []byte                             // the frame that ends the open block; nil: blocks need no end
}

// Begin begins to follow an answer; false: nothing of it can be completed.
func (p *Prelude) Begin(d *Dialect, f Form, c Client) bool {
	if d.prelude == nil || f == JSON {
		return false
	}
	*p = Prelude{dialect: d, form: f, client: c}
	return true
}

// Follows reports whether Add has to be given what comes. Otherwise it is sent as it is.
func (p *Prelude) Follows() bool { return p.dialect != nil && (!p.over || p.again || p.watch) }

// Watch has all of the answer followed: Add returns whole frames, and leaves out an error, behind the prelude too.
func (p *Prelude) Watch() { p.watch = p.dialect != nil }

// Watches reports whether Add leaves an error out.
func (p *Prelude) Watches() bool { return p.dialect != nil && (!p.over || p.watch) }

// Restartable reports whether the answer, if it breaks off now, can be asked for again.
func (p *Prelude) Restartable() bool {
	return p.dialect != nil && !p.over && (!p.open || !p.signed || p.client.dropsUnsigned())
}

// IsOver reports whether the client has been sent something that it keeps.
func (p *Prelude) IsOver() bool { return p.dialect == nil || p.over }

// Restarts returns how often the answer has been asked for again.
func (p *Prelude) Restarts() int { return p.restarts }

// Discarded returns how many tokens the answers that broke off have said to have taken, and how many of those answers
// have said nothing of it.
func (p *Prelude) Discarded() (tokens, unstated int) { return p.discarded, p.unstated }

// Withheld returns how many bytes are withheld.
func (p *Prelude) Withheld() int { return len(p.withheld) + len(p.rest) }

// Fail returns the error with which the answer has ended, as it came. What follows is sent as it is.
func (p *Prelude) Fail() []byte {
	p.over, p.again, p.watch, p.withheld = true, false, false, nil
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
	p.in, p.same, p.out = b, 0, p.out[:0]
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
		case p.Watches() && p.dialect.LaterFrameKind(p.form, b[:n]) == Failure:
			p.failure, failed = bytes.Clone(b), true
		default:
			p.take(b[:n])
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
	p.in, p.same, p.out = nil, 0, p.out[:0]
	if len(p.rest) > 0 {
		p.take(p.rest)
		p.rest = nil
	}
	p.over = true
	p.flush()
	return p.sending()
}

// Release has all that is withheld sent, and all that follows as it comes.
func (p *Prelude) Release() []byte {
	p.in, p.same, p.out = nil, 0, p.out[:0]
	p.over = true
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
	p.rest, p.withheld, p.failure = p.rest[:0], p.withheld[:0], nil
	p.in, p.same, p.out = nil, 0, p.out[:0]
	p.frames = p.sent
	p.again = p.again || p.shown
	if p.open && p.dialect.prelude.close != nil {
		p.send(p.dialect.prelude.close(p))
		p.frames++
		p.sent = p.frames
	}
	p.repeats.Forget()
	p.block, p.open, p.sealed = noBlock, false, false
	p.begun, p.base = 0, p.blocks
	if p.discarded += p.tokens; p.tokens == 0 {
		p.unstated++
	}
	p.tokens = 0
	p.restarts++
	return p.sending()
}

// take takes one frame.
func (p *Prelude) take(frame []byte) {
	name, data := payload(p.form, frame)
	as := aside
	switch {
	case p.over:
		as = kept
	case len(name)+len(data) > 0:
		as = p.dialect.prelude.part(p, name, data)
	}
	if p.again && as != aside {
		if frame = p.merged(as, frame, name, data); frame == nil {
			return
		}
	}
	if as != aside {
		p.frames++
	}
	p.repeats.Forget()
	switch {
	case as == aside:
		p.send(frame)
	case as == kept:
		p.over = true
		p.show(frame)
		if p.watch {
			p.repeats.Learn(frame)
		}
	case as == reasoning && p.block != callBlock:
		p.show(frame)
		p.repeats.Learn(frame)
		p.blocks, p.open = p.base+p.begun, p.block == reasoningBlock
	case p.held+len(p.withheld)+len(frame) > MaxWithheld:
		p.over = true
		p.show(frame)
	default:
		p.withhold(frame)
		if as == calling {
			p.repeats.Learn(frame)
		}
	}
}

// takeMore takes the frame with which b begins, if it is one more of those before, and returns its length; 0: it is
// not.
func (p *Prelude) takeMore(b []byte) (n int) {
	if p.again || p.over && !p.watch {
		return 0
	}
	if n = p.repeats.Next(b).Len; n == 0 || p.held+len(p.withheld)+n > MaxWithheld {
		return 0
	}
	p.frames++
	if p.held+len(p.withheld) > 0 {
		p.withhold(b[:n])
		return n
	}
	p.sent = p.frames
	p.send(b[:n])
	return n
}

// merged returns a frame of an answer that follows another one; nil: it is left out.
func (p *Prelude) merged(as part, frame, name, data []byte) []byte {
	now := data
	if len(data) > 0 && data[0] == '{' {
		if now = p.dialect.prelude.again(p, as, name, data); len(now) == 0 {
			return nil
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
		return awsEvent(name, now)
	default:
		return eventFrame(name, now)
	}
	return frame
}

// eventFrame returns a server-sent event.
func eventFrame(name, data []byte) []byte {
	frame := make([]byte, 0, len("event: \ndata: \n\n")+len(name)+len(data))
	if len(name) > 0 {
		frame = append(append(append(frame, "event: "...), name...), '\n')
	}
	return append(append(append(frame, "data: "...), data...), "\n\n"...)
}

// Middle is a place between two frames of an answer, where keepalives may be sent.
type Middle struct {
	dialect *Dialect
	form    Form
	client  Client
	id      string
	within  bool
	crlf    bool
}

// Middle returns the place up to which the client has been sent the answer.
func (p *Prelude) Middle() Middle {
	return Middle{p.dialect, p.form, p.client, p.id, p.shown, p.crlf}
}

// Ping is [Dialect.Ping] there.
func (m Middle) Ping(state string) []byte {
	if m.crlf && m.dialect == &gemini && m.form == Events {
		return []byte("\r\n\r\n") // a Go client that sees both kinds of line ends reads two events as one
	}
	return m.dialect.Ping(m.form, state)
}

// Heartbeat is [Dialect.Heartbeat] there: it is a part of the answer that has begun.
func (m Middle) Heartbeat() []byte {
	beat := m.dialect.Heartbeat(m.form, m.client)
	switch {
	case beat == nil || !m.within:
	case m.dialect == &openAIChat && m.id != "":
		return bytes.Replace(beat, []byte(`"id":""`), []byte(`"id":`+m.id), 1)
	case m.dialect == &anthropic, m.dialect == &anthropicVertex:
		return []byte("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":0}}\n\n")
	}
	return beat
}

// dropsUnsigned reports whether a client drops reasoning without a signature before it returns it to the API,
// which would refuse it (Vercel's @ai-sdk/anthropic, on which opencode stands).
func (c Client) dropsUnsigned() bool {
	a := c.agent()
	return a == vercelSDK || a == opencode
}
