package conversation

import (
	"context"
	"strings"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/store"
)

// maxTitle is the longest title that is made of a text, in characters.
const maxTitle = 60

// TitleOf returns the title of a conversation that begins with a text and has been given none: its first line,
// shortened.
func TitleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	words := []rune(strings.Join(strings.Fields(first), " "))
	if len(words) > maxTitle {
		return string(words[:maxTitle-1]) + "…"
	}
	return string(words)
}

// change applies settings. A title that is empty stands for the first words.
func (l *log) change(s Settings) {
	l.settings, l.changed, l.named = s, true, s.Title != ""
	l.nameByWords()
}

// nameByWords makes the first words the title, unless one was set.
func (l *log) nameByWords() {
	title := TitleOf(l.first.Text)
	if l.named || title == l.settings.Title {
		return
	}
	l.settings.Title, l.changed = title, true
}

// noteFirst notes what the user has said first, or its new text.
func (l *log) noteFirst(in Input) {
	if in.Text != "" && !in.Compact && (l.first.ID == "" || l.first.ID == in.ID) {
		l.first = in
		l.nameByWords()
	}
}

// forgetFirst notes that an input was removed: what waits next may now be what the user has said first.
func (l *log) forgetFirst(id string) {
	if l.first.ID != id {
		return
	}
	l.first = Input{}
	for _, in := range l.inputs {
		l.noteFirst(in)
	}
	l.nameByWords()
}

// renames reports whether a record changes the first words, which are the title: the caption would be the old one.
func (l *log) renames(r store.Record) bool {
	return !l.named && r.Turn == l.first.ID && (r.Type == inputQueued || r.Type == inputRemoved)
}

// firstRecords is how many records are searched for the first words of a conversation: files of images may come first.
const firstRecords = 16 + llm.MaxImages

// firstWords returns the title of a conversation whose last record lacks one, as in logs of older programs and where
// that record changes it.
func (r *Runner) firstWords(ctx context.Context, conversation string) string {
	l := &log{id: conversation}
	for record, err := range r.Store.Read(ctx, conversation, 0) {
		if err != nil || l.apply(record) != nil || record.N == firstRecords {
			break // without one: who opens the conversation is told of the damage
		}
	}
	return TitleOf(l.first.Text)
}
