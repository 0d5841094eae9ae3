package api

import (
	"bytes"
	"cmp"
	"net/http"
	"strings"
)

// Resuming is what the [Continuation] of an API has whose answers state checkpoints: places with a token. A request
// with the token is answered by what follows the place, with nothing repeated, whatever the answer is made of.
type Resuming interface {
	// Checkpoint returns the token of the place after a frame, as a request has it, or nil.
	Checkpoint(data []byte) (token []byte)
	// Resume returns the request with a token, or an Obstacle.
	Resume(request Object, token []byte) (Object, error)
}

// resumption is where an answer can be resumed.
type resumption struct {
	api      Resuming // nil: the API states no checkpoints, or the answer is resumed at none any more
	token    []byte   // of the latest checkpoint; nil: there was none
	size     int      // of the text up to it
	stated   int      // output tokens up to it, as far as they were stated
	reasoned int      // the same of reasoning, where it is counted apart
	thoughts []byte   // reasoning that was shown behind it
	unsure   bool     // more than text and reasoning was shown behind it, or more than is kept
	running  bool     // what is read is an answer to a request with a token
}

// HasCheckpoints reports whether the API states checkpoints.
func (a *Completion) HasCheckpoints() bool { return a.resumption.api != nil }

// Resumable reports whether Continue resumes the answer at a checkpoint, unless the request forbids it.
func (a *Completion) Resumable() bool {
	return a.resumption.token != nil && !a.resumption.unsure && a.continued < MaxContinuations
}

// Resumes reports whether the request of the latest Continue has a token, which only the server knows that stated it.
func (a *Completion) Resumes() bool { return a.resumption.running }

// Refuse notes that the server does not accept the token, or that its answer differs from the text shown after the
// checkpoint. The next Continue takes another way.
func (a *Completion) Refuse() {
	if a.resumption.running && !a.rest.read {
		a.continued--
	}
	a.forgetCheckpoints()
}

// Refused reports whether an answer's status refuses the token, which is unknown to the server or has expired. It is
// Refuse then.
func (a *Completion) Refused(status int) bool {
	if !a.resumption.running || status != http.StatusBadRequest && status != http.StatusNotFound {
		return false
	}
	a.Refuse()
	return true
}

// forgetCheckpoints has the answer be resumed at none.
func (a *Completion) forgetCheckpoints() {
	if a.resumption.running {
		a.billed = a.BilledTwice()
		a.rest, a.partial = nil, nil
	}
	a.resumption = resumption{}
}

// awaitsCheckpoint reports whether a frame is of no use: the answer is resumed at checkpoints only, and none has come.
func (a *Completion) awaitsCheckpoint(frame []byte) bool {
	if !a.Lossless || a.resumption.token != nil || !a.HasCheckpoints() {
		return false
	}
	_, data := Payload(a.form, frame)
	return a.resumption.api.Checkpoint(data) == nil
}

// noteCheckpoint notes the place behind a frame, and reports whether it is a checkpoint. Text before it is kept only to
// ask for the rest of it.
func (a *Completion) noteCheckpoint(data []byte) bool {
	r := &a.resumption
	if r.api == nil || a.rest != nil && !r.running { // the second: the client's request is another one
		return false
	}
	token := r.api.Checkpoint(data)
	if token == nil {
		return false
	}
	if a.Lossless || a.obstacle != "" {
		a.Blocks, a.size = nil, 0
	}
	*r = resumption{
		api: r.api, token: bytes.Clone(token), size: a.size, stated: a.Stated, reasoned: a.reasoned, running: r.running,
	}
	return true
}

// noteThought notes reasoning that was shown behind a checkpoint.
func (r *resumption) noteThought(p *Part) {
	if r.token == nil || p.Of == SignaturePart || IsEmpty(p.Text) {
		return
	}
	if r.thoughts = append(r.thoughts, p.String()...); len(r.thoughts) > maxShown {
		r.thoughts, r.unsure = nil, true
	}
}

// resume returns the body of a request that resumes the answer. The text shown after the checkpoint comes once more:
// it is left out if it is the same, byte by byte.
func (a *Completion) resume(request Object) ([]byte, error) {
	r := &a.resumption
	request, err := r.api.Resume(request, r.token)
	if err != nil {
		return nil, err
	}
	text := string(bytes.Join(a.Blocks, nil))
	before, behind := text[:r.size], text[r.size:]
	a.billed = a.BilledTwice()
	a.continued++
	a.Stated, a.reasoned, r.running = r.stated, r.reasoned, true
	a.rest = &Second{
		Rest: Rest{finder: finder{whole: behind, exact: true}, found: behind == ""}, Completion: a, thoughts: string(r.thoughts),
		turns: Turns{used: cmp.Or(r.stated, Tokens(before)), reasoned: r.reasoned, repeats: Tokens(behind)},
	}
	a.partial = nil
	return request.JSON(), nil
}

// AddThought takes reasoning of the second answer and returns what of it is shown: nothing before the seam, nor what was
// shown behind a checkpoint and comes once more.
func (c *Second) AddThought(said string) (shown string) {
	rest, repeats := strings.CutPrefix(c.thoughts, said)
	if repeats {
		c.thoughts = rest
		return ""
	}
	said = strings.TrimPrefix(said, c.thoughts)
	if c.thoughts = ""; !c.found {
		return ""
	}
	return said
}
