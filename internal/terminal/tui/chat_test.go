package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

func TestWhatIsSaidMeanwhileIsQueuedAndCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Late(20*time.Second, llmtest.Says("first answer")), llmtest.Says("second answer"), llmtest.Says("none"))
		s := play(t, config(h), 80, 24)
		s.types("first")
		s.types("second")
		s.types("third")
		s.sees("  next: second\n  next: third\n", "↑ takes back")
		s.golden("queue")
		s.keys("up")
		s.wait(0)
		s.sees("  next: second\n\n> third\n")
		s.keys("ctrl+u")
		s.wait(time.Minute)
		s.sees("> first\n\nfirst answer\n\n> second\n\nsecond answer\n")
		s.misses("next:", "third")
		if n := len(h.model.Requests()); n != 2 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

func TestTabHandsWhatIsQueuedToTheTurnUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, fails(2, llmtest.Says("both"))...)
		h.model.Then = llmtest.Says("another")
		s := play(t, config(h), 80, 24)
		s.types("first")
		s.types("and this")
		s.keys("tab")
		s.wait(20 * time.Second)
		if n := len(h.model.Requests()); n > 4 {
			t.Errorf("the model was asked %d times", n)
		}
		s.sees("> and this", "both")
	})
}

func TestWhatCannotBeSaidIsBackInTheComposer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.refuses = errors.New("no space left on device")
		s := play(t, config(h), 80, 24)
		s.types("hours of work")
		s.sees("× Not sent: no space left on device", "> hours of work\n")
	})
}

// printBlocks is a tool that changes something.
func write(ran *int) tool.Tool {
	return tool.Tool{
		Tool: llm.Tool{Name: "write_file", Schema: json.RawMessage(`{"type":"object"}`)}, Writes: true,
		Func: func(context.Context, json.RawMessage) (string, error) {
			*ran++
			return "1 line\n2 lines\n3 lines\n4 lines\n5 lines", nil
		},
	}
}

// questions has a house ask whether tools may run.
func asking(h *house) <-chan tui.Approval {
	asked := make(chan tui.Approval)
	h.approve = func(ctx context.Context, call llm.ToolCall) error {
		answer := make(chan bool, 1)
		select {
		case asked <- tui.Approval{Call: call, Answer: func(allow bool) {
			select {
			case answer <- allow:
			default:
			}
		}}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case allow := <-answer:
			if allow {
				return nil
			}
			return errors.New("the user said no")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return asked
}

func TestAToolThatChangesThingsAsksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		call := func(id string) llmtest.Answer {
			return llmtest.Calls(llmtest.Call(id, "write_file", `{"path":"a.txt"}`))
		}
		h := newHouse(t, call("1"), call("2"), call("3"), llmtest.Says("done"))
		h.tools = []tool.Tool{write(&ran)}
		c := config(h)
		c.Approvals = asking(h)
		s := play(t, c, 80, 24)
		s.types("x")
		s.sees(`? May write_file run with {"path":"a.txt"}?`, "y yes · n no · a always")
		s.golden("question")
		s.keys("y")
		s.wait(0)
		if ran != 0 {
			t.Error("a key that was pressed before the question could be read has answered it")
		}
		s.wait(time.Second)
		s.keys("n")
		s.wait(time.Second)
		if ran != 0 {
			t.Error("it ran though the answer was no")
		}
		s.keys("a")
		s.wait(time.Second)
		s.sees("· refused: write_file", "· allowed from now on: write_file", `· write_file {"path":"a.txt"}`, "  1 line\n  2 lines\n  3 lines\n  … 2 more lines", "done")
		if ran != 2 {
			t.Errorf("it ran %d times", ran)
		}
	})
}

func TestWhatAModelSaysIsShownAndNotObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evil := "a\x1b]0;title\a b\x1b[2J c\u009b2J d&#27;[31m [link](javascript:x) <script>x</script> List<String> `&#27;`"
		s := play(t, config(newHouse(t, llmtest.Says(evil))), 80, 24)
		s.types("x\x1b[2J")
		s.wait(time.Second) // screen holds every line against control characters
		s.sees("␛]0;title␇", "␛[2J", "d␛[31m", "<script>x</script>", "List<String>")
	})
}

func TestCommandsAreCompletedAndUnknownOnesSayso(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("ok"), llmtest.Says("ok"))
		c := config(h)
		c.Models = func() []string { return []string{"acme/large", "acme/small"} }
		s := play(t, c, 80, 24)
		s.types("/nonsense")
		s.sees("Unknown command /nonsense", "> /nonsense\n")
		s.keys("ctrl+u", "/", "m", "o", "tab")
		s.sees("> /model\n", "  /model acme/large\n  /model acme/small\n")
		s.golden("completion")
		s.keys("tab", "tab", "enter")
		s.wait(0)
		s.sees("The model is acme/small")
		s.types("x")
		if v, err := h.host.Get(t.Context(), "talk-a"); err != nil || v.Settings.Model != "acme/small" {
			t.Errorf("it was made with %q, %v", v.Settings.Model, err)
		}
		s.types("/model acme/large")
		if v, err := h.host.Get(t.Context(), "talk-a"); err != nil || v.Settings.Model != "acme/large" {
			t.Errorf("it goes on with %q, %v", v.Settings.Model, err)
		}
		s.types("/etc/hosts looks odd")
		s.sees("> /etc/hosts looks odd", "· acme/large answers from the next turn on")
		s.types("/help")
		s.sees("/resume", "Ctrl+C")
		s.types("/quit")
		s.wait(2 * time.Second)
		if !s.gone() {
			t.Error("it is still there")
		}
	})
}

func TestAnotherConversationIsBegunAndTheFirstResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three"))
		s := play(t, config(h), 80, 24)
		s.types("question one")
		s.types("/new")
		s.types("question two")
		if len(h.made) != 2 {
			t.Fatalf("there are %d conversations", len(h.made))
		}
		s.types("/resume busy")
		s.sees("× That conversation is open in another terminal")
		s.types("/resume none")
		s.sees("× There is no such conversation")
		s.types("/resume talk-a")
		s.wait(time.Second)
		s.types("question three")
		s.wait(time.Second)
		screen := s.screen()
		if again := screen[strings.LastIndex(screen, "> question one"):]; !strings.Contains(again, "one\n\n> question three\n\nthree\n") {
			t.Errorf("the conversation is not gone on with:\n%s", screen)
		}
		if asked := h.model.Requests(); len(asked[2].Messages) != 3 {
			t.Errorf("the model was shown %d messages", len(asked[2].Messages))
		}
	})
}

func TestOfALongConversationTheEndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.model.Then = llmtest.Says("answer")
		c := config(h)
		first, err := h.New(t.Context(), c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := first.Say(t.Context(), "", fmt.Sprintf("question %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		c.Conversation = first
		s := play(t, c, 80, 40)
		s.wait(time.Second)
		s.sees("… 17 earlier turns\n", "> question 17\n\nanswer\n\n> question 18\n\nanswer\n\n> question 19\n\nanswer\n")
		s.misses("question 16", "next:")
		s.keys("up")
		s.sees("> question 19\n  acme")
	})
}

func TestAMegabyteThatIsPastedDoesNotGetInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("ok"))
		s := play(t, config(h), 80, 24)
		s.send(tea.PasteMsg{Content: strings.Repeat("0123456789abcdef\n", 64<<10)})
		synctest.Wait()
		s.sees("longer than 384 KiB", "\n  That is")
		text := strings.Repeat("0123456789abcdef\r\n", 10<<10) + "end"
		s.keys("s", "e", "e", " ")
		s.send(tea.PasteMsg{Content: text})
		synctest.Wait()
		s.sees("> see [pasted 1: 10241 lines]\n")
		s.keys("enter")
		s.wait(time.Second)
		if said := h.model.Requests()[0].Messages[0].Text(); said != "see "+strings.ReplaceAll(text, "\r\n", "\n") {
			t.Errorf("%d bytes were said, ending in %q", len(said), said[max(0, len(said)-20):])
		}
		s.sees("more lines")
	})
}

func TestSeveralLinesAreTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("ok"))
		s := play(t, config(h), 80, 24)
		s.keys("a", "ctrl+j", "b", `\`, "enter", "c")
		s.sees("> a\n  b\n  c\n")
		s.keys("enter")
		s.wait(time.Second)
		if said := h.model.Requests()[0].Messages[0].Text(); said != "a\nb\nc" {
			t.Errorf("said %q", said)
		}
	})
}

func TestCtrlCTwiceLeavesWhereNothingIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t)), 80, 24)
		s.keys("x", "ctrl+c")
		s.sees("Cleared; ↑ recalls it")
		s.keys("ctrl+c")
		s.sees("Press Ctrl+C again to quit")
		s.wait(3 * time.Second)
		s.keys("ctrl+c")
		s.wait(0)
		if s.gone() {
			t.Fatal("once was enough")
		}
		s.keys("ctrl+c")
		s.wait(time.Second)
		if !s.gone() {
			t.Error("it is still there")
		}
	})
}

func TestWhoeverLooksElsewhereIsToldThatTheWaitIsOver(t *testing.T) {
	for _, tt := range []struct {
		looks bool
		env   []string
		want  string
	}{
		{false, []string{"TERM_PROGRAM", "iTerm.app"}, "\x1b]9;The provider is back\x1b\\"},
		{false, []string{"TERM_PROGRAM", "iTerm.app", "TMUX", "/tmp/x"}, "\a"},
		{false, nil, "\a"},
		{true, nil, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := config(newHouse(t, fails(3, llmtest.Says("ok"))...))
			c.Env, c.Notify = terminalEnv(tt.env...), tui.Notify{Desktop: true, Bell: true, Title: true}
			s := play(t, c, 80, 24)
			s.types("x")
			if v := s.seen(); v.WindowTitle != "▲ ridethrough" || !v.ReportFocus {
				t.Errorf("the title is %q, focus reported: %v", v.WindowTitle, v.ReportFocus)
			}
			if !tt.looks {
				s.send(tea.BlurMsg{})
			} else {
				s.send(tea.FocusMsg{})
			}
			s.wait(20 * time.Second)
			got := s.beside()
			if got = strings.ReplaceAll(got, "\x1b[c", ""); got != tt.want {
				t.Errorf("%v: got %q, want %q", tt.env, got, tt.want)
			}
		})
	}
}

func TestAPromptOnTheCommandLineIsSaidFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newHouse(t, llmtest.Says("The answer.")))
		c.Prompt = "The question"
		c.Settings.Title = "kept"
		s := play(t, c, 80, 24)
		s.wait(time.Second)
		s.sees("> The question\n\nThe answer.\n")
	})
}

func TestWhatIsHeardOfAnAnswerAfterLeavingIsNotSaidOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Hangs(llm.Text{Text: "The beginning"}))
		s := play(t, config(h), 80, 24)
		s.types("x")
		s.sees("The beginning")
		s.keys("ctrl+d")
		if err := h.host.Stop(t.Context(), h.made[0], ""); err != nil {
			t.Error(err)
		}
		s.wait(time.Second)
		if n := strings.Count(s.screen(), "The beginning"); n != 1 {
			t.Errorf("it is there %d times:\n%s", n, s.screen())
		}
	})
}

func TestConversationsAreOfferedThatBeginAsIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, llmtest.Says("one"), llmtest.Says("two"))), 80, 24)
		s.types("question one")
		s.types("/new")
		s.types("question two")
		for _, r := range "/resume talk-b" {
			s.keys(string(r))
		}
		s.wait(0)
		if live := s.live(); !strings.Contains(live, "  /resume talk-b") || strings.Contains(live, "/resume talk-a") {
			t.Errorf("what is offered is\n%s", live)
		}
	})
}

func TestWhatWasPastedIsSaidAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("one"))
		s := play(t, config(h), 80, 24)
		long := strings.Repeat("line\n", 30)
		s.send(tea.PasteMsg{Content: long + "[pasted 2: 31 lines]"})
		s.send(tea.PasteMsg{Content: long + "[pasted 1: 31 lines]"})
		s.keys("enter")
		s.wait(0)
		if want, got := long+"[pasted 2: 31 lines]"+long+"[pasted 1: 31 lines]", h.model.Requests()[0].Messages[0].Text(); got != want {
			t.Errorf("the model is told %q", got)
		}
	})
}
