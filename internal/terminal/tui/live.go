package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// live is the conversation on a screen whose last lines change.
func live(ctx context.Context, c Config) (err error) {
	m := newModel(ctx, c, func(text string, then tea.Msg) tea.Cmd {
		return tea.Sequence(tea.Println(text), func() tea.Msg { return then })
	})
	in := &typing{}
	in.File, _ = c.In.(*os.File) // Live has seen that it is one
	p := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(c.Out), tea.WithEnvironment(environment(c.Env)),
		tea.WithColorProfile(profile(m.paint)), tea.WithoutSignalHandler(),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			m.followReflow(c.Out, msg)
			return msg
		}))
	in.ended = func() { go p.Send(leave{}) }
	// Some terminals (tmux) keep what is erased from the first row on, so that
	// a view which begins there is found in the scrollback, once a frame.
	_, _ = io.WriteString(c.Out, "\r\n")
	stop := context.AfterFunc(ctx, func() { p.Send(leave{}) })
	defer stop()
	_, err = p.Run()
	if closing := m.close(); err == nil {
		err = closing
	}
	m.farewell(c.Out)
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return errPanic
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// typing is what is typed. Its end is that of the terminal: nobody is there any
// more.
type typing struct {
	*os.File
	ended func()
}

func (t *typing) Read(b []byte) (int, error) {
	n, err := t.File.Read(b)
	if n == 0 && err != nil {
		t.ended()
	}
	return n, err
}

// profile gives the colors that are used: the sixteen, or none. So nobody has
// to ask the terminal which it has.
func profile(p paint) colorprofile.Profile {
	if p.color {
		return colorprofile.ANSI
	}
	return colorprofile.ASCII
}

// environment gives what a terminal's programs look at.
func environment(env func(string) string) []string {
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

// close closes the conversation that is open. Who has not answered a question is
// asked again when it goes on.
func (m *model) close() error {
	if m.feed != nil {
		m.feed.cancel()
	}
	if m.talk == nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- m.talk.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeTime):
		return errStuck
	}
}

// closeTime is how long somebody who leaves is kept by something that does not
// end. What was accepted has long been kept.
const closeTime = 5 * time.Second

var errStuck = errors.New("something under way does not end; the conversation is kept as it stood")

// farewell says how to go on.
func (m *model) farewell(out io.Writer) {
	for _, in := range m.unsaid {
		fmt.Fprintf(out, "%s\n", m.paint.amber("▲ Not said, as far as is known; ↑ has it next time: "+display.OneLine(in.text)))
	}
	if m.talk == nil {
		return
	}
	if command := m.Resume(m.talk.ID()); command != "" {
		fmt.Fprintf(out, "%s\n", m.paint.faint("To resume: "+command))
	}
}

// leave asks to leave in good order; left says that the terminal has had its
// time.
type (
	leave struct{}
	left  struct{}
)

// leave prints what is still to be printed and then ends the program. What the
// terminal was asked is waited for: its answers would be typed into the shell.
func (m *model) leave() tea.Cmd {
	if m.leaving {
		return nil
	}
	m.fold(true)
	m.endAnswer()
	m.leaving = true
	return tea.Batch(m.fence.ask(), tea.Tick(time.Until(m.fence.due), func(time.Time) tea.Msg { return left{} }))
}

// gone tells whether everything is said and answered.
func (m *model) gone() bool {
	return m.leaving && !m.printing && len(m.out) == 0 && (m.fence.passed || m.fence.late)
}

// fence is a question to the terminal behind all the others: terminals answer
// in order, so with its answer there all are.
type fence struct {
	due          time.Time // the answer is waited for until then; zero: nothing was asked
	passed, late bool
}

// fenceTime is how long the answer may take, over however slow a line. Every
// terminal answers this question; what does not is none.
const fenceTime = 2 * time.Second

// fenceDelay is when it is asked: what the program asks by itself goes out with
// its first frames.
const fenceDelay = 100 * time.Millisecond

// ask asks, once.
func (f *fence) ask() tea.Cmd {
	if !f.due.IsZero() {
		return nil
	}
	f.due = time.Now().Add(fenceTime)
	return tea.Tick(fenceDelay, func(time.Time) tea.Msg { return tea.Raw(ansi.RequestPrimaryDeviceAttributes)() })
}

// answered tells whether a message is the answer.
func (f *fence) answered(msg tea.Msg) bool {
	if _, ok := msg.(uv.PrimaryDeviceAttributesEvent); ok {
		f.passed = true
	}
	return f.passed
}
