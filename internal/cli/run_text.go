package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// newView gives the view that was asked for. unread is called when nobody
// reads the answer any more.
func (c *running) newView(unread func()) view {
	if c.json {
		return &lines{w: c.s.Out, unread: unread}
	}
	onErr := c.s
	onErr.Out = c.s.Err
	return &text{
		out: c.s.Out, screen: newScreen(onErr, c.plain), clean: isTerminal(c.s.Out), shared: isTerminal(c.s.Out) && isTerminal(c.s.Err),
		reasoning: c.reasoning, unread: unread, goOn: c.howToGoOn,
	}
}

// text shows the answer on one stream, and what happens on another.
type text struct {
	out       io.Writer
	screen    *screen // on standard error
	clean     bool    // the answer goes to a terminal, which obeys what a model says
	shared    bool    // both are the same terminal
	reasoning bool
	unread    func()
	goOn      func() string

	open     bool   // the last line of the answer has no end yet
	streamed string // what has been said of the message under way
	block    bool   // what comes next is another message's: it begins on a line of its own
	err      error
	wait     *countdown
}

func (v *text) show(e turn.Event) {
	switch e := e.(type) {
	case turn.TextDelta:
		v.say(e.Text)
		v.streamed += e.Text
	case turn.ReasoningDelta:
		if v.reasoning {
			v.screen.write(visible(e.Text))
		}
	case turn.Restarted:
		if v.streamed != "" {
			v.note(amber, "▲ its worker died: the answer begins anew")
			v.streamed, v.block = "", true
		}
	case turn.AssistantMessage:
		if whole := e.Content.Text(); whole != v.streamed && !e.Partial { // the beginning was missed
			v.block = true
			v.say(whole)
		}
		v.streamed = ""
		v.block = true
		if e.Partial {
			v.note("", "… the answer broke off here")
		}
	case turn.ToolCall:
		v.note(faint, "· %s %s", e.ToolCall.Name, shown(e.ToolCall, lineBound))
	case turn.ToolResult:
		if e.Failed {
			v.note(faint, "· %s failed: %s", oneLine(e.Name), oneLine(e.Output))
		}
	case turn.Compacted:
		v.note(faint, "· the conversation was too long and has been shortened")
	default:
		v.trouble(e)
	}
}

// trouble shows what happens to the provider.
func (v *text) trouble(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		v.stop()
		v.wait = v.count(noteOf(e))
	case turn.Waiting:
		if !v.screen.live && v.wait != nil {
			v.note(amber, "%s", sentence(v.wait.note, e.Remaining, time.Now(), v.screen.columns()))
		}
	case turn.Recovered:
		v.stop()
		v.note(green, "%s", recovered(retry.Note{Run: policy.Run{Tries: e.Retries}, Waited: e.Waited}))
	case turn.Switched:
		v.stop()
		v.note(amber, "▲ %s does not answer (%s): going on with %s", cmp.Or(e.From, "the model"), oneLine(e.Why), e.To)
	case turn.Error:
		v.stop()
		v.finishLine()
		v.note(red, "%s", headline(e))
		v.note("", "%s", details(e))
	case turn.Sealed:
		v.stop()
		v.finishLine()
		if e.Status == turn.Aborted {
			v.note("", "Canceled.")
		}
	}
}

func (v *text) end(turn.Status, int, string, string) {
	if command := v.goOn(); command != "" {
		v.screen.print("", "saved; go on with: %s", command)
	}
}

func (v *text) broken() error { return v.err }

// say writes some of the answer. Between two messages there is a line's end.
func (v *text) say(words string) {
	v.stop()
	if v.block && v.open {
		words = "\n" + words
	}
	v.block = false
	if v.shared {
		v.screen.set("")
	}
	if v.screen.open { // nobody else writes there now
		v.screen.write("\n")
	}
	v.put(words)
}

// put writes to the answer's stream.
func (v *text) put(words string) {
	if v.clean {
		words = visible(words)
	}
	if v.err != nil || words == "" {
		return
	}
	if _, v.err = io.WriteString(v.out, words); v.err != nil {
		v.unread()
	}
	v.open = !strings.HasSuffix(words, "\n")
}

// finishLine ends the answer's last line.
func (v *text) finishLine() {
	if v.open {
		v.put("\n")
	}
}

// note writes a line about what happens. On a shared terminal it does not
// stand behind half a line of the answer.
func (v *text) note(color, format string, args ...any) {
	if hasLeft(v.err) {
		return // whoever has left the answer is not told what becomes of it
	}
	if v.shared {
		v.finishLine()
	}
	v.screen.print(color, format, args...)
}

// stop ends the countdown.
func (v *text) stop() {
	if v.wait != nil {
		v.wait.end()
		v.wait = nil
	}
}

// noteOf gives a retry in the form that the sentences are made of.
func noteOf(e turn.Retry) retry.Note {
	return retry.Note{
		Fault: e.Fault, Run: policy.Run{Tries: e.Attempt + 1}, Verdict: policy.Verdict{Wait: e.Delay, Hinted: e.Hinted},
		Limit: e.Limit, Deadline: e.Deadline,
	}
}

// countdown is a wait that people see getting shorter.
type countdown struct {
	note retry.Note
	due  time.Time
	done chan struct{}
	wg   sync.WaitGroup
}

// count shows a wait: on a terminal second by second, else once.
func (v *text) count(n retry.Note) *countdown {
	c := &countdown{note: n, due: time.Now().Add(n.Verdict.Wait), done: make(chan struct{})}
	line := func() string { return sentence(n, time.Until(c.due), time.Now(), v.screen.columns()) }
	if !v.screen.live {
		v.note(amber, "%s", line())
		return c
	}
	if n.Run.Tries == 1 {
		v.note(faint, "%s", oneLine(n.Fault.Shown()))
	} else if v.shared {
		v.finishLine()
	}
	v.screen.set(line())
	c.wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-c.done:
				v.screen.set("")
				return
			case <-ticker.C:
				v.screen.set(line())
			}
		}
	})
	return c
}

func (c *countdown) end() {
	close(c.done)
	c.wg.Wait()
}

// headline is the first line of a failure.
func headline(e turn.Error) string {
	gone := e.Fault == nil || fault.Transient.Has(e.Fault.Kind) && !e.Committed
	after := fmt.Sprintf("Failed after %d retry %s", e.Retries, map[bool]string{true: "attempt", false: "attempts"}[e.Retries == 1])
	switch {
	case e.Retries == 0:
		after = "Failed: " + causeOf(e)
	case !gone: // it was not the outage that ended it
		after += ": " + causeOf(e)
	default:
		return after + ". " + cmp.Or(remedy(e), "Check your connection and try again.")
	}
	return strings.TrimSuffix(after+". "+remedy(e), " ")
}

// causeOf gives what failed in plain words.
func causeOf(e turn.Error) string {
	if e.Committed {
		return "the answer broke off (" + cmp.Or(causeOfFault(e.Fault), e.Kind) + ")"
	}
	return cmp.Or(causeOfFault(e.Fault), e.Kind)
}

func causeOfFault(f *fault.Error) string {
	if f == nil {
		return ""
	}
	return f.Cause()
}

// remedy gives what there is to do about a failure; "": what is said below.
func remedy(e turn.Error) string {
	switch {
	case e.Fault == nil:
		return ""
	case e.Fault.Kind == fault.Auth:
		return "Check the key for " + e.Provider + " and try again."
	case e.Fault.Kind == fault.Quota && !e.Fault.ResetAt.IsZero():
		return "It opens again at " + e.Fault.ResetAt.Local().Format("15:04 on Jan 2") + "."
	case e.Fault.Kind == fault.Quota:
		return "Check the account at " + e.Provider + " and try again."
	case app.Local(e.Provider) && e.Fault.Status == 0 && !e.Committed && fault.Transient.Has(e.Fault.Kind):
		return "Check that " + e.Provider + " is running and try again."
	case fault.Transient.Has(e.Fault.Kind):
		return "Check your connection and try again."
	}
	return ""
}

// details is what stands below the headline.
func details(e turn.Error) string {
	line := "  " + oneLine(e.Message)
	var more []string
	if name := e.Name.String(); name != "" {
		more = append(more, name)
	}
	if e.WaitedMs > 0 {
		more = append(more, "waited "+seconds(time.Duration(e.WaitedMs)*time.Millisecond))
	}
	if e.RequestID != "" {
		more = append(more, "request "+oneLine(e.RequestID))
	}
	if len(more) > 0 {
		line += "\n  " + strings.Join(more, " · ")
	}
	return line
}

// lineBound is how long a line about something may bearably be, in characters.
const lineBound = 200

// shown gives a call's arguments for people.
func shown(call llm.ToolCall, most int) string {
	return cut(fault.Scrub(string(call.Arguments)), most)
}

// oneLine gives a text on one line of bearable length.
func oneLine(s string) string { return cut(s, lineBound) }

// cut gives a text on one line of so many characters at most.
func cut(s string, most int) string {
	s = strings.Map(upright, visible(strings.Join(strings.Fields(s), " ")))
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// visible gives a text of somebody else's without what a terminal would obey.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, s)
}

// upright takes away what turns the order of letters around: in the middle of
// a line of ours it would turn that as well.
func upright(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}
