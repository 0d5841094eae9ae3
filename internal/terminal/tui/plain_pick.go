package tui

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// resume continues a conversation, of this id or this number in the list; "": it lists them.
func (ps *plainSession) resume(ctx context.Context, which string) error {
	if which == "" {
		return ps.list(ctx)
	}
	id := which
	if e, ok := ps.numbered(which); ok {
		id = e.ID
	}
	conv, err := ps.Conversations.Open(ctx, id)
	if err != nil {
		return err
	}
	ps.listed = nil
	if err := ps.attach(ctx, conv); err != nil {
		return err
	}
	ps.line("· " + titleOf(ps.settings))
	return nil
}

// maxNumbered is how many conversations are listed with numbers.
const maxNumbered = 20

// list lists the conversations with numbers. The next line may be one of these.
func (ps *plainSession) list(ctx context.Context) error {
	this := ""
	if ps.conv != nil {
		this = ps.conv.ID()
	}
	found, err := listEntries(ps.Conversations.List(ctx), this)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		ps.line("There is no other conversation")
		return nil
	}
	ps.listed = found[:min(len(found), maxNumbered)]
	for i, e := range ps.listed {
		ps.line(fmt.Sprintf("%4d  %s (%s)", i+1, titleOf(e.Settings), printable.Line(strings.Join(aboutEntry(e, time.Now()), ", "))))
	}
	ps.line("Type a number to continue that conversation")
	return nil
}

// numbered returns the conversation with a number in the list.
func (ps *plainSession) numbered(text string) (e Entry, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > len(ps.listed) {
		return e, false
	}
	return ps.listed[n-1], true
}
