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
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

func TestQueue_KeepsPromptsThatCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Late(20*time.Second, llmtest.Says("first answer")), llmtest.Says("second answer"), llmtest.Says("none"))
		s := start(t, config(h), 80, 24)
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
			t.Errorf("requests to the model: got %d, want 2", n)
		}
	})
}

func TestTab_SteersTheTurnInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, fails(2, llmtest.Says("both"))...)
		h.model.Then = llmtest.Says("another")
		s := start(t, config(h), 80, 24)
		s.types("first")
		s.types("and this")
		s.keys("tab")
		s.wait(20 * time.Second)
		if n := len(h.model.Requests()); n != 3 {
			t.Errorf("requests to the model: got %d, want 3: what steers the turn has none of its own", n)
		}
		s.sees("> and this\n\n✓ Recovered after 2 retries (waited 3s)\n\nboth\n")
		s.misses("another")
	})
}

func TestSend_FailureRestoresThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t)
		h.sendErr = errors.New("no space left on device")
		s := start(t, config(h), 80, 24)
		s.types("hours of work")
		s.sees("× Not sent: no space left on device", "> hours of work\n")
	})
}

// writeTool is a tool that writes and counts its runs.
func writeTool(ran *int) tool.Tool {
	return tool.Tool{
		Tool: llm.Tool{Name: "write_file", Schema: json.RawMessage(`{"type":"object"}`)}, Writes: true,
		Func: func(context.Context, json.RawMessage) (string, error) {
			*ran++
			return "1 line\n2 lines\n3 lines\n4 lines\n5 lines", nil
		},
	}
}

func TestApproval_AsksBeforeAToolWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		call := func(id string) llmtest.Answer {
			return llmtest.Calls(llmtest.Call(id, "write_file", `{"path":"a.txt"}`))
		}
		h := newService(t, call("1"), call("2"), call("3"), llmtest.Says("done"))
		h.tools = []tool.Tool{writeTool(&ran)}
		s := start(t, config(h), 80, 24)
		s.types("x")
		s.sees(`? May write_file run with {"path":"a.txt"}?`, "y yes · n no · a always")
		s.golden("question")
		s.keys("y")
		s.wait(0)
		if ran != 0 {
			t.Error("runs after a key pressed too early: got one, want none")
		}
		s.wait(time.Second)
		s.keys("n")
		s.wait(time.Second)
		if ran != 0 {
			t.Error("runs after a refusal: got one, want none")
		}
		s.keys("a")
		s.wait(time.Second)
		s.sees("· refused: write_file", "· allowed from now on: write_file", `· write_file {"path":"a.txt"}`, "  1 line\n  2 lines\n  3 lines\n  … 2 more lines", "done")
		if ran != 2 {
			t.Errorf("runs: got %d, want 2", ran)
		}
	})
}

func TestAnswer_ControlCharactersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evil := "a\x1b]0;title\a b\x1b[2J c\u009b2J d&#27;[31m [link](javascript:x) <script>x</script> List<String> `&#27;`"
		s := start(t, config(newService(t, llmtest.Says(evil))), 80, 24)
		s.types("x\x1b[2J")
		s.wait(time.Second) // screen holds every line against control characters
		s.sees("␛]0;title␇", "␛[2J", "d␛[31m", "<script>x</script>", "List<String>")
	})
}

func TestSlash_CompletesAndRunsCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("ok"), llmtest.Says("ok"))
		c := config(h)
		c.Models = func() []string { return []string{"acme/large", "acme/small"} }
		s := start(t, c, 80, 24)
		s.types("/nonsense")
		s.sees("Unknown command /nonsense", "> /nonsense\n")
		s.keys("ctrl+u", "/", "m", "o", "tab")
		s.sees("> /model\n", "  /model acme/large\n  /model acme/small\n")
		s.golden("completion")
		s.keys("tab", "tab", "enter")
		s.wait(0)
		s.sees("The model is acme/small")
		s.types("x")
		if v, err := h.runner.Get(t.Context(), "conv-a"); err != nil || v.Settings.Model != "acme/small" {
			t.Errorf("model of the new conversation: got %q, %v, want acme/small", v.Settings.Model, err)
		}
		s.types("/model acme/large")
		if v, err := h.runner.Get(t.Context(), "conv-a"); err != nil || v.Settings.Model != "acme/large" {
			t.Errorf("model after /model: got %q, %v, want acme/large", v.Settings.Model, err)
		}
		s.types("/etc/hosts looks odd")
		s.sees("> /etc/hosts looks odd", "· acme/large answers from the next turn on")
		s.types("/help")
		s.sees("/resume", "Ctrl+C")
		s.types("/quit")
		s.wait(2 * time.Second)
		if !s.ended() {
			t.Error("program after /quit: got it running, want it ended")
		}
	})
}

func TestSlash_NewAndResumeConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three"))
		s := start(t, config(h), 80, 24)
		s.types("question one")
		s.types("/new")
		s.types("question two")
		if len(h.made) != 2 {
			t.Fatalf("conversations: got %d, want 2", len(h.made))
		}
		s.types("/resume busy")
		s.sees("× That conversation is open in another terminal")
		s.types("/resume none")
		s.sees("× There is no such conversation")
		s.types("/resume conv-a")
		s.wait(time.Second)
		s.types("question three")
		s.wait(time.Second)
		screen := s.screen()
		if again := screen[strings.LastIndex(screen, "> question one"):]; !strings.Contains(again, "one\n\n> question three\n\nthree\n") {
			t.Errorf("screen after /resume: got no continued conversation:\n%s", screen)
		}
		if asked := h.model.Requests(); len(asked[2].Messages) != 3 {
			t.Errorf("messages of the third request: got %d, want 3", len(asked[2].Messages))
		}
	})
}

func TestReplay_PrintsTheEndOfALongConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t)
		h.model.Then = llmtest.Says("answer")
		c := config(h)
		first, err := h.New(t.Context(), c.Settings)
		if err != nil {
			t.Fatalf("create conversation: %v", err)
		}
		for i := range 20 {
			if err := first.Do(t.Context(), tui.Send{ID: fmt.Sprint("input-", i), Text: fmt.Sprintf("question %d", i)}); err != nil {
				t.Fatalf("send prompt %d: %v", i, err)
			}
			if i > 10 { // before that, prompts wait for one another
				time.Sleep(time.Minute)
			}
		}
		c.Conversation = first
		s := start(t, c, 80, 40)
		s.wait(time.Second)
		s.sees("… 17 earlier turns\n", "> question 17\n\nanswer\n\n> question 18\n\nanswer\n\n> question 19\n\nanswer\n")
		s.misses("question 16", "next:")
		s.keys("up")
		s.sees("> question 19\n  acme")
	})
}

func TestPaste_LongTextsBecomePlaceholders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("ok"))
		s := start(t, config(h), 80, 24)
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
			t.Errorf("prompt: got %d bytes ending in %q, want the pasted text", len(said), said[max(0, len(said)-20):])
		}
		s.sees("more lines")
	})
}

func TestComposer_TakesSeveralLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("ok"))
		s := start(t, config(h), 80, 24)
		s.keys("a", "ctrl+j", "b", `\`, "enter", "c")
		s.sees("> a\n  b\n  c\n")
		s.keys("enter")
		s.wait(time.Second)
		if said := h.model.Requests()[0].Messages[0].Text(); said != "a\nb\nc" {
			t.Errorf("prompt: got %q, want \"a\\nb\\nc\"", said)
		}
	})
}

func TestCtrlC_TwiceQuitsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t)), 80, 24)
		s.keys("x", "ctrl+c")
		s.sees("Cleared; ↑ recalls it")
		s.keys("ctrl+c")
		s.sees("Press Ctrl+C again to quit")
		s.wait(3 * time.Second)
		s.keys("ctrl+c")
		s.wait(0)
		if s.ended() {
			t.Fatal("program after two separate Ctrl+C: got it ended, want it running")
		}
		s.keys("ctrl+c")
		s.wait(time.Second)
		if !s.ended() {
			t.Error("program after Ctrl+C twice: got it running, want it ended")
		}
	})
}

func TestNotify_RecoveryNotifiesAUserWhoIsAway(t *testing.T) {
	for _, tt := range []struct {
		looks bool
		env   []string
		want  string
	}{
		{false, []string{"TERM_PROGRAM", "iTerm.app"}, "\x1b]9;The provider is back: x\x1b\\"},
		{false, []string{"TERM_PROGRAM", "iTerm.app", "TMUX", "/tmp/x"}, "\a"},
		{false, nil, "\a"},
		{true, nil, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := config(newService(t, fails(3, llmtest.Says("ok"))...))
			c.Env, c.Notify = terminalEnv(tt.env...), tui.Notify{Desktop: true, Bell: true, Title: true}
			s := start(t, c, 80, 24)
			s.types("x")
			if v := s.seen(); v.WindowTitle != "▲ x - ridethrough" || !v.ReportFocus {
				t.Errorf("view: got title %q, focus reports %v, want \"▲ x - ridethrough\", true", v.WindowTitle, v.ReportFocus)
			}
			if !tt.looks {
				s.send(tea.BlurMsg{})
			} else {
				s.send(tea.FocusMsg{})
			}
			s.wait(20 * time.Second)
			got := s.escapes()
			if got = strings.ReplaceAll(got, "\x1b[c", ""); got != tt.want {
				t.Errorf("escape sequences with %v: got %q, want %q", tt.env, got, tt.want)
			}
		})
	}
}

func TestConfig_PromptIsSentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newService(t, llmtest.Says("The answer.")))
		c.Prompt = "The question"
		c.Settings.Title = "kept"
		s := start(t, c, 80, 24)
		s.wait(time.Second)
		s.sees("> The question\n\nThe answer.\n")
	})
}

func TestQuit_PrintsThePartialAnswerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Hangs(llm.Text{Text: "The beginning"}))
		s := start(t, config(h), 80, 24)
		s.types("x")
		s.sees("The beginning")
		s.keys("ctrl+d")
		if err := h.runner.Stop(t.Context(), h.made[0], ""); err != nil {
			t.Errorf("Stop: %v", err)
		}
		s.wait(time.Second)
		if n := strings.Count(s.screen(), "The beginning"); n != 1 {
			t.Errorf("copies of the text: got %d, want 1:\n%s", n, s.screen())
		}
	})
}

func TestPaste_TextsThatLookLikePlaceholdersAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"))
		s := start(t, config(h), 80, 24)
		long := strings.Repeat("line\n", 30)
		s.send(tea.PasteMsg{Content: long + "[pasted 2: 31 lines]"})
		s.send(tea.PasteMsg{Content: long + "[pasted 1: 31 lines]"})
		s.keys("enter")
		s.wait(0)
		if want, got := long+"[pasted 2: 31 lines]"+long+"[pasted 1: 31 lines]", h.model.Requests()[0].Messages[0].Text(); got != want {
			t.Errorf("prompt: got %q, want %q", got, want)
		}
	})
}

// At forty columns the help is whole, and each explanation stays in its column.
func TestHelp_FitsFortyColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t)), 40, 24)
		s.types("/help")
		s.sees("  Ctrl+C    cancel (Esc twice as well);\n            twice when idle: quit\n", "  ↑ ↓       take back a queued prompt;\n            recall")
		s.misses("…")
		for line := range strings.Lines(s.screen()) {
			if n := lipgloss.Width(strings.TrimSpace(line)); n > 39 {
				t.Errorf("line: got %d columns, want at most 39: %q", n, line)
			}
		}
	})
}

// The end of an answer moves from the view to what is printed, and is on the screen all the time.
func TestAnswer_IsNeverOffTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, llmtest.Parts(llm.Text{Text: "one\n\n"}, llm.Text{Text: "two"}))), 80, 24)
		s.mu.Lock()
		seen := map[string]bool{}
		s.onDraw = func(screen string) {
			for _, word := range []string{"one", "two"} {
				is := strings.Contains(screen, word)
				if seen[word] && !is {
					t.Errorf("screen: got no %q any more, want it:\n%s", word, screen)
				}
				seen[word] = is || seen[word]
			}
		}
		s.mu.Unlock()
		s.types("x")
		s.wait(time.Minute)
		if !seen["two"] {
			t.Errorf("screen: got no answer, want it:\n%s", s.screen())
		}
	})
}
