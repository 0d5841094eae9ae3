package tui_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// withFiles is a configuration whose directory has these files, and one outside of it.
func withFiles(t *testing.T, h *service, files map[string]string) tui.Config {
	t.Helper()
	top := t.TempDir()
	c := config(h)
	c.Dir = filepath.Join(top, "work")
	files["../outside.txt"] = "secret"
	for name, content := range files {
		name = filepath.Join(c.Dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = os.WriteFile(name, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	return c
}

// lastPrompt is what the model was asked last.
func (s *service) lastPrompt() string {
	asked := s.model.Requests()
	if len(asked) == 0 {
		return ""
	}
	messages := asked[len(asked)-1].Messages
	return messages[len(messages)-1].Text()
}

func TestAttach_SendsAndStoresTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"), llmtest.Says("two"))
		s := start(t, withFiles(t, h, map[string]string{"a.go": "package a\n\nvar x = `</file>`\n", "my notes.txt": "remember"}), 80, 24)
		s.types(`Look at @a.go, and @"my notes.txt" please. @a.go`)
		want := "Look at @a.go, and @\"my notes.txt\" please. @a.go\n\n<filex name=\"a.go\" bytes=\"29\">\npackage a\n\nvar x = `</file>`\n\n</filex>" +
			"\n\n<file name=\"my notes.txt\" bytes=\"8\">\nremember\n</file>"
		if got := h.lastPrompt(); got != want {
			t.Errorf("prompt: got\n%s\nwant\n%s", got, want)
		}
		s.sees("> Look at @a.go, and @\"my notes.txt\" please. @a.go\n  [a.go, 3 lines]\n  [my notes.txt, 1 line]\n\none\n")
		s.keys("up")
		s.sees("> Look at @a.go, and @\"my notes.txt\" please. @a.go\n  acme")
	})
}

func TestAttach_NamesAndAddressesAreText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"))
		s := start(t, withFiles(t, h, map[string]string{}), 80, 24)
		const text = "Ask @alice, or alice@example.com @app.route('/') @"
		s.types(text)
		if got := h.lastPrompt(); got != text {
			t.Errorf("prompt: got %q, want it as typed", got)
		}
	})
}

func TestAttach_PastedTextNamesNoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"))
		s := start(t, withFiles(t, h, map[string]string{"a.txt": "content"}), 80, 24)
		code := strings.Repeat("x\n@a.txt\n@pytest.mark.skip\n", 10)
		s.send(tea.PasteMsg{Content: code})
		s.keys("enter")
		s.wait(0)
		if got := h.lastPrompt(); got != code {
			t.Errorf("prompt: got %q, want the pasted text", got)
		}
	})
}

func TestAttach_SaysWhyAFileIsNotAttached(t *testing.T) {
	big := strings.Repeat("x", 256<<10+1)
	files := map[string]string{"bin.dat": "a\x00b", "latin.txt": "\xe4", "half.png": "\x89PNG\r\n\x1a\n", "large.png": string(llmtest.PNG(1, 1, llm.MaxImage+1)), "big.txt": big, "dir/x": ""}
	for mention, want := range map[string]string{
		"@none.txt":    "▲ none.txt does not exist\n",
		`@"a b"`:       "▲ a b does not exist\n",
		"@bin.dat":     "bin.dat is neither text nor an image",
		"@latin.txt":   "latin.txt is neither text nor an image",
		"@half.png":    "half.png is damaged: it does not say how many pixels it has",
		"@large.png":   "large.png is larger than 3.75 MiB",
		"@big.txt":     "big.txt is longer than 256 KiB",
		"@dir":         "dir is not a file",
		"@dir/":        "dir/ is not a file",
		"@../none.txt": "../none.txt does not exist",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newService(t, llmtest.Says("one"))
			s := start(t, withFiles(t, h, files), 80, 24)
			s.types("Look at " + mention)
			s.sees(want, "  Enter again sends it without\n")
			if got := h.lastPrompt(); got != "" {
				t.Errorf("%s: got prompt %.80q, want none before the second Enter", mention, got)
			}
			s.keys("enter")
			s.wait(0)
			if got := h.lastPrompt(); got != "Look at "+mention {
				t.Errorf("%s: got prompt %.80q, want it without a file", mention, got)
			}
		})
	}
}

func TestAttach_ImagesAreSentAndSaidInALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		png := llmtest.PNG(640, 480, 120_000)
		h := newService(t, llmtest.Says("one"))
		s := start(t, withFiles(t, h, map[string]string{"pic.txt": string(png), "a.go": "package a\n"}), 80, 24)
		s.types("What is in @pic.txt and @a.go? And again @pic.txt")
		s.wait(0)
		s.sees("> What is in @pic.txt and @a.go? And again @pic.txt\n  [a.go, 1 line]\n  [image pic.txt, 640 x 480, 120 KB]\n")
		q := h.model.Requests()[0].Messages[0]
		if got := q.Content.Images(); len(got) != 1 || !bytes.Equal(got[0].Data, png) || got[0].MediaType != "image/png" {
			t.Errorf("images: got %v, want the file, once", got)
		}
		if got := h.lastPrompt(); strings.Contains(got, "PNG") || !strings.Contains(got, "package a") {
			t.Errorf("prompt: got %.200q, want the text file only", got)
		}
	})
}

func TestAttach_ModelThatTakesNoImagesIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blind := &fault.Error{Kind: fault.Invalid, Status: 400, Message: "does not support image input", Images: true}
		h := newService(t, llmtest.Fails(blind), llmtest.Says("hello"))
		s := start(t, withFiles(t, h, map[string]string{"pic.png": string(llmtest.PNG(6, 4, 100))}), 80, 24)
		s.types("What is in @pic.png?")
		s.wait(time.Minute)
		s.sees("Failed: acme did not accept the request. The model does not take the images:", "use one that does, or go on without them.", "m changes the model, r tries", "again.")
		s.types("Never mind")
		s.wait(time.Second)
		if got := h.model.Requests(); len(got) != 2 || len(got[1].Messages[0].Content.Images()) != 0 {
			t.Errorf("requests: got %d, want the next one without the refused image", len(got))
		}
	})
}

func TestAttach_MoreImagesThanAMessageMayHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, prompt := map[string]string{}, "See"
		for i := range llm.MaxImages + 1 {
			name := fmt.Sprintf("%c.png", 'a'+i)
			files[name] = string(llmtest.PNG(1, 1, 100+i))
			prompt += " @" + name
		}
		h := newService(t, llmtest.Says("one"))
		s := start(t, withFiles(t, h, files), 80, 24)
		s.types(prompt)
		s.sees("▲ u.png does not fit: 21 images are more than the 20 that a message may have")
	})
}

func TestAttach_AsksBeforeAFileOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"), llmtest.Says("two"))
		c := withFiles(t, h, map[string]string{"a.txt": "a"})
		if err := os.Symlink("../outside.txt", filepath.Join(c.Dir, "link.txt")); err != nil {
			t.Skip("no symbolic links here")
		}
		s := start(t, c, 80, 24)
		s.types("Look at @link.txt")
		s.sees("▲ link.txt is outside of this directory\n", "  Enter again sends it\n")
		s.keys("ctrl+c")
		s.types("Look at @../outside.txt")
		s.sees("▲ ../outside.txt is outside of this directory\n", "  Enter again sends it\n")
		s.keys("enter")
		s.wait(0)
		if got := h.lastPrompt(); !strings.Contains(got, "\nsecret\n") {
			t.Errorf("prompt: got %q, want the file after the second Enter", got)
		}
	})
}

func TestAttach_TabCompletesPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"))
		s := start(t, withFiles(t, h, map[string]string{"src/main.go": "package main", "src/my notes.txt": "x", "some.txt": "y", ".hidden": "z"}), 40, 24)
		for _, r := range "Look at @s" {
			s.keys(string(r))
		}
		s.sees("  @some.txt\n", "  @src/\n")
		s.misses("hidden")
		s.keys("r", "tab")
		s.sees("> Look at @src/", "  @src/main.go\n", "  @\"src/my notes.txt\"\n")
		s.keys("m", "a", "tab", "enter")
		s.wait(0)
		if got := h.lastPrompt(); !strings.HasPrefix(got, "Look at @src/main.go\n\n<file name=\"src/main.go\" bytes=\"12\">\n") {
			t.Errorf("prompt: got %q, want the completed file", got)
		}
	})
}

func TestAttach_CanceledPromptComesBackAsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Hangs(), llmtest.Says("two"))
		s := start(t, withFiles(t, h, map[string]string{"a.txt": "content"}), 80, 24)
		s.types("Look at @a.txt")
		s.keys("ctrl+c")
		s.wait(time.Second)
		s.sees("Canceled.", "> Look at @a.txt\n  acme")
		s.keys("enter")
		s.wait(time.Second)
		if got := h.lastPrompt(); strings.Count(got, "content") != 1 || len(h.model.Requests()[1].Messages) != 1 {
			t.Errorf("prompt: got %q, want the same once", got)
		}
	})
}

func TestPlain_AttachesFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"))
		p := startPlain(t, withFiles(t, h, map[string]string{"a.txt": "content"}))
		p.line("Look at @a.txt and @../outside.txt")
		_ = p.in.Close()
		<-p.end
		if got, want := p.said(), "▲ Not attached: ../outside.txt is outside of this directory\none\n"; got != want {
			t.Errorf("output: got %q, want %q", got, want)
		}
		if got := h.lastPrompt(); !strings.Contains(got, "\ncontent\n") || strings.Contains(got, "secret") {
			t.Errorf("prompt: got %q, want a.txt only", got)
		}
	})
}
