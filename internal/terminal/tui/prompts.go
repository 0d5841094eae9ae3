package tui

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// Bounds of what is kept of prompts.
const (
	promptsKept  = 1000
	promptLength = 16 << 10 // bytes; a longer one is not for typing again
)

// prompts are what was typed before, the oldest first, across conversations.
// One file serves all terminals: each appends a line for each prompt.
type prompts struct {
	file  string // "": they are not kept
	all   []string
	at    int // the one that is shown; len(all): none of them
	draft string
}

// loadPrompts reads the file. What cannot be read is no reason not to talk.
func loadPrompts(file string) *prompts {
	p := &prompts{file: file}
	f, err := os.Open(file)
	if file == "" || err != nil {
		return p
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16*promptLength)
	read := 0
	for lines.Scan() {
		read++
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			p.all = append(p.all, text)
		}
	}
	p.all = p.all[max(0, len(p.all)-promptsKept):]
	p.at = len(p.all)
	if read > 2*promptsKept {
		p.rewrite()
	}
	return p
}

// rewrite makes the file as short as it may be.
func (p *prompts) rewrite() {
	var text []byte
	for _, one := range p.all {
		text = append(text, line(one)...)
	}
	fresh := p.file + ".new"
	if os.WriteFile(fresh, text, 0o600) == nil {
		_ = os.Rename(fresh, p.file)
	}
}

func line(text string) []byte {
	quoted, _ := json.Marshal(text) // a string always can be
	return append(quoted, '\n')
}

// add keeps a prompt. That it cannot be written is no reason not to talk.
func (p *prompts) add(text string) {
	p.remember(text)
	if p.file == "" || len(text) > promptLength {
		return
	}
	if os.MkdirAll(filepath.Dir(p.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(line(text))
	_ = f.Close()
}

// remember has a prompt among those that can be called up.
func (p *prompts) remember(text string) {
	p.all = append(slices.DeleteFunc(p.all, func(s string) bool { return s == text }), text)
	p.at = len(p.all)
}

// older gives the prompt before the one that is shown. draft is what was being
// typed, which comes back behind the newest.
func (p *prompts) older(draft string) (string, bool) {
	if p.at == 0 {
		return "", false
	}
	if p.at == len(p.all) {
		p.draft = draft
	}
	p.at--
	return p.all[p.at], true
}

// newer gives the prompt behind the one that is shown, or the draft.
func (p *prompts) newer() (string, bool) {
	if p.at >= len(p.all) {
		return "", false
	}
	if p.at++; p.at == len(p.all) {
		return p.draft, true
	}
	return p.all[p.at], true
}
