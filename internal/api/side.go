package api

import (
	"bytes"
	"time"
)

// SideRequest is a request beside an agent's turn: the agent tries it for a while, then proceeds without an answer.
// Held for longer, it delays the turn itself, even if the turn's own model is healthy.
type SideRequest struct {
	What  string        // its purpose, such as "memory"; "": not such a request
	Tried time.Duration // how long the agent tries by itself
}

// sideRequests are those known, by their agent and a text that only they have: see docs/holding.md.
var sideRequests = [...]struct {
	by   Program
	sign string
	is   SideRequest
}{
	// What Gemini CLI 0.61.0 asks itself: which model the prompt is for, who speaks next, whether this is a loop. It makes
	// five tries in 57 s.
	{GeminiCLI, `"responseMimeType":"application/json","responseJsonSchema":`, SideRequest{"the agent's own decision", time.Minute}},
	// Qwen Code 0.24.4, once its answer is whole, which it prints after this. It makes 84 tries in 466 s.
	{QwenCode, `:"You are now acting as the managed memory extraction subagent`, SideRequest{"memory", 8 * time.Minute}},
}

// SideRequest returns what a request is for beside the agent's turn. each is that of [Client.WithBody].
func (c Client) SideRequest(each func(func(part []byte) (more bool)) bool) SideRequest {
	is := c.Program()
	for _, side := range sideRequests {
		if is == side.by && finds(each, func(part []byte) bool { return bytes.Contains(part, []byte(side.sign)) }) {
			return side.is
		}
	}
	return SideRequest{}
}

// longestSign is what is kept of a part for a sign that continues in the next one.
const longestSign = 64

// finds calls found with the parts of a body, and with the seams between them, until it returns true.
func finds(each func(func(part []byte) (more bool)) bool, found func(part []byte) bool) (any bool) {
	var seam []byte // the end of the last part and the beginning of this one
	each(func(part []byte) (more bool) {
		seam = append(seam, part[:min(len(part), longestSign)]...)
		any = found(part) || found(seam)
		seam = append(seam[:0], part[max(0, len(part)-longestSign):]...)
		return !any
	})
	return any
}
