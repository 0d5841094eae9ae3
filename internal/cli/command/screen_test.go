package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

func TestScreen_StatusLineStaysBelow(t *testing.T) {
	var out bytes.Buffer
	s := command.NewLiveScreen(&out)
	s.Status("waiting 2s")
	s.Status("waiting 2s") // no change, no bytes
	s.Print("", "a line")
	s.Status("")
	const amber, reset, erase = "\x1b[33m", "\x1b[0m", "\r\x1b[2K"
	want := amber + "waiting 2s" + reset + erase + "a line\n" + amber + "waiting 2s" + reset + erase
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

func TestScreen_StatusLineFitsColumns(t *testing.T) {
	var out bytes.Buffer
	command.NewLiveScreen(&out).Rows(rows(strings.Repeat("é", 79), strings.Repeat("é", 80))...)
	if want := strings.Repeat("é", 79) + "\n" + strings.Repeat("é", 79); out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestScreen_StatusLinesStayBelow(t *testing.T) {
	var out bytes.Buffer
	s := command.NewLiveScreen(&out)
	s.Rows(rows("one", "two", "three")...)
	s.Rows(rows("one", "two", "three")...) // no change, no bytes
	s.Print("", "a line")
	s.Rows(rows("four")...)
	s.Rows()
	const erase, up = "\r\x1b[2K", "\x1b[1A"
	const gone = erase + up + erase + up + erase
	want := "one\ntwo\nthree" + gone + "a line\none\ntwo\nthree" + gone + "four" + erase
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// rows returns rows without a color.
func rows(texts ...string) (all []command.Row) {
	for _, text := range texts {
		all = append(all, command.Row{Text: text})
	}
	return all
}
