package tui

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/ridethrough/ridethrough/internal/disk"
)

const (
	maxPrompts     = 1000
	maxPromptBytes = 16 << 10 // a longer one is not worth recalling
)

// promptHistory holds the prompts of all conversations, the oldest first. All terminals share one file: each
// appends a line per prompt.
type promptHistory struct {
	file  string // "": it is not kept
	all   []string
	at    int // the prompt that is shown; len(all): none
	draft string
}

// loadPrompts reads the file. An unreadable history is empty.
func loadPrompts(file string) *promptHistory {
	p := &promptHistory{file: file}
	f, err := os.Open(file)
	if file == "" || err != nil {
		return p
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16*maxPromptBytes)
	read := 0
	for lines.Scan() {
		read++
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			p.all = append(p.all, text)
		}
	}
	p.all = p.all[max(0, len(p.all)-maxPrompts):]
	p.at = len(p.all)
	if read > 2*maxPrompts {
		p.rewrite()
	}
	return p
}

func (p *promptHistory) rewrite() {
	var text []byte
	for _, prompt := range p.all {
		text = append(text, jsonLine(prompt)...)
	}
	_ = disk.Write(p.file, text) // otherwise the file stays longer than necessary
}

func jsonLine(text string) []byte {
	quoted, _ := json.Marshal(text) // a string always can be encoded
	return append(quoted, '\n')
}

// add keeps a prompt. If it cannot be written, it is still remembered.
func (p *promptHistory) add(text string) {
	p.remember(text)
	if p.file == "" || len(text) > maxPromptBytes {
		return
	}
	if os.MkdirAll(filepath.Dir(p.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(jsonLine(text))
	_ = f.Close()
}

// remember makes a prompt the newest that can be recalled.
func (p *promptHistory) remember(text string) {
	p.all = append(slices.DeleteFunc(p.all, func(s string) bool { return s == text }), text)
	p.at = len(p.all)
}

// older returns the prompt before the one that is shown. draft is the text being typed, which follows the newest
// prompt.
func (p *promptHistory) older(draft string) (string, bool) {
	if p.at == 0 {
		return "", false
	}
	if p.at == len(p.all) {
		p.draft = draft
	}
	p.at--
	return p.all[p.at], true
}

// newer returns the prompt after the one that is shown, or the draft.
func (p *promptHistory) newer() (string, bool) {
	if p.at >= len(p.all) {
		return "", false
	}
	if p.at++; p.at == len(p.all) {
		return p.draft, true
	}
	return p.all[p.at], true
}
