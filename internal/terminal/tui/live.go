package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

func runLive(ctx context.Context, c Config) (err error) {
	s := &screen{}
	m := newModel(ctx, c, s.print)
	in := &terminalInput{}
	in.File, _ = c.In.(*os.File) // Interactive has checked both
	s.File, _ = c.Out.(*os.File)
	s.profile = colorProfile(m.paint, c.Env)
	p := tea.NewProgram(onScreen{m, s}, tea.WithInput(in), tea.WithOutput(s), tea.WithEnvironment(terminalEnv(c.Env)),
		tea.WithColorProfile(s.profile), tea.WithoutSignalHandler())
	in.onEnd = func() { go p.Send(quitMsg{}) }
	_, _ = io.WriteString(c.Out, "\r\n") // some terminals (tmux) keep what is erased from the first row on
	stop := context.AfterFunc(ctx, func() { p.Send(quitMsg{}) })
	defer stop()
	_, err = p.Run()
	if closing := m.closeConversation(); err == nil {
		err = closing
	}
	m.printFarewell(c.Out)
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return errPanic
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// terminalInput is the terminal's input. Its end means that the terminal was closed.
type terminalInput struct {
	*os.File
	onEnd func()
}

func (t *terminalInput) Read(b []byte) (int, error) {
	n, err := t.File.Read(b)
	if n == 0 && err != nil {
		t.onEnd()
	}
	return n, err
}

// colorProfile returns no colors, sixteen, or 256 where the environment says so: it does not query the terminal.
func colorProfile(p palette, env func(string) string) colorprofile.Profile {
	switch {
	case !p.color:
		return colorprofile.ASCII
	case strings.Contains(env("TERM"), "256color") || env("COLORTERM") != "":
		return colorprofile.ANSI256
	}
	return colorprofile.ANSI
}

func terminalEnv(env func(string) string) []string {
	var all []string
	for _, name := range []string{
		"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "NO_COLOR", "WT_SESSION", "SSH_TTY", "TMUX", "STY", "LANG", "LC_ALL", "LC_CTYPE",
	} {
		if value := env(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// closeConversation closes the open conversation. An open question is asked again when it continues.
func (m *model) closeConversation() error {
	if m.feed != nil {
		m.feed.cancel()
	}
	if m.conv == nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- m.conv.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeTimeout):
		return errCloseTimeout
	}
}

// closeTimeout is how long quitting waits for the conversation to close. What it accepted is stored already.
const closeTimeout = 5 * time.Second

var errCloseTimeout = errors.New("close conversation: timed out; the conversation is kept")

func (m *model) printFarewell(out io.Writer) {
	for _, in := range m.outbox {
		fmt.Fprintf(out, "%s\n", m.paint.amber("▲ Possibly not sent; ↑ recalls it next time: "+printable.Line(in.text)))
	}
	if resume := m.resumeLine(); resume != "" {
		fmt.Fprintf(out, "%s\n", m.paint.faint(resume))
	}
}

// quitMsg asks the program to quit gracefully. fenceTimeoutMsg ends the wait for the terminal's answers.
type (
	quitMsg         struct{}
	fenceTimeoutMsg struct{}
)

// quit prints the pending lines and then ends the program. It waits for the terminal's answers, which would
// otherwise be typed into the shell.
func (m *model) quit() tea.Cmd {
	if m.quitting {
		return nil
	}
	m.foldFailure(true)
	m.finishAnswer()
	m.quitting = true
	return tea.Batch(m.fence.ask(), tea.Tick(time.Until(m.fence.due), func(time.Time) tea.Msg { return fenceTimeoutMsg{} }))
}

// fence is a query to the terminal after all others: terminals answer in order, so its answer is the last.
type fence struct {
	due    time.Time // when to stop waiting for the answer; zero: not asked yet
	passed bool      // the answer has come, or does not count any more
}

// fenceTimeout is how long the answer may take over a slow line. Every terminal answers this query.
const fenceTimeout = 2 * time.Second

// fenceDelay postpones the query: Bubble Tea sends its own with the first frames.
const fenceDelay = 100 * time.Millisecond

// ask sends the query once.
func (f *fence) ask() tea.Cmd {
	if !f.due.IsZero() {
		return nil
	}
	f.due = time.Now().Add(fenceTimeout)
	return tea.Tick(fenceDelay, func(time.Time) tea.Msg { return tea.Raw(ansi.RequestPrimaryDeviceAttributes)() })
}
