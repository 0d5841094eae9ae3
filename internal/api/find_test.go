package api

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFinder_FindsTheSeamOrNothing tells a finder the second answer letter by letter and at once.
func TestFinder_FindsTheSeamOrNothing(t *testing.T) {
	const said = "The circuit opens when five tries in a row have failed, and then"
	for _, row := range []struct {
		name, said, Second, rest string // rest "-": no seam
		Closed                   bool
	}{
		{"the ending", said, "when five tries in a row have failed, and then it closes.", " it closes.", false},
		{"all of it", said, said + " it closes.", " it closes.", false},
		{"inside a word", said + " it clo", "in a row have failed, and then it closes.", "ses.", false},
		{"white space at the seam, shown", said + " ", "in a row have failed, and then it closes.", "it closes.", false},
		{"white space at the seam, half of it shown", said + "\n\n", "in a row have failed, and then\n\n\t  it closes.", "\t  it closes.", false},
		{"white space at the seam, not shown", said, "in a row have failed, and then  \n  It closes.", "  \n  It closes.", false},
		{"white space at the seam is another", said + "\n", "in a row have failed, and then it closes.", "-", false},
		{"white space inside is another", said, "in\ta\u00a0row\n\nhave failed,   and then it closes.", " it closes.", false},
		{"white space before", said, "\n\nin a row have failed, and then it closes.", " it closes.", false},
		{"words before", said, "Sure: in a row have failed, and then it closes.", "-", false},
		{"a quotation", said, "\"in a row have failed, and then\", I see.", "-", false},
		{"another word inside", said, "in one row have failed, and then it closes.", "-", false},
		{"another case", said, "In a row have failed, and then it closes.", "-", false},
		{"too little", said, "failed, and then it closes.", "-", false},
		{"the rest alone", said, " it closes.", "-", false},
		{"the ending alone", said, "in a row have failed, and then", "-", false},
		{"the ending and white space", said, "in a row have failed, and then \n", "-", false},
		{"the ending of a whole text", said, "in a row have failed, and then", "", true},
		{"more than a whole text", said, "in a row have failed, and then it closes.", "-", true},
		{"the ending twice", said, "in a row have failed, and then\n\nin a row have failed, and then it closes.", "-", false},
		{"the ending, and then all", said, "in a row have failed, and then\n" + said + " it closes.", "-", false},
		{"a paragraph of its own", said, "in a row have failed, and then\n\nit closes.", "-", false},
		{"a paragraph behind a sentence", said + " it closes.", "have failed, and then it closes.\n\nthe end", "\n\nthe end", false},
		{"what looks like the ending again", said, "in a row have failed, and then in a row have closed.", " in a row have closed.", false},
		{"half of the ending again, at the end", said, "in a row have failed, and then in a row", " in a row", false},
		{"CJK", "网关在五次失败之后打开断路器，然后等待", "五次失败之后打开断路器，然后等待恢复。", "恢复。", false},
		{"emoji of several characters", "The whole family has come to see it: 👩\u200d👩", "has come to see it: 👩\u200d👩\u200d👧!", "\u200d👧!", false},
		{"a combining mark", "The whole family has come to the cafe", "family has come to the cafe\u0301.", "\u0301.", false},
		{"a composed letter", "The whole family has come to the cafe", "family has come to the caf\u00e9.", "-", false},
		{"code", "```go\nfunc f() {\n\tif x {\n\t\treturn strings.Repeat(", "\tif x {\n\t\treturn strings.Repeat(\"x\", 2)\n\t}\n", "\"x\", 2)\n\t}\n", false},
		{"code in a fence of its own", "```go\nfunc f() {\n\tif x {\n\t\treturn strings.Repeat(", "```go\n\tif x {\n\t\treturn strings.Repeat(\"x\", 2)\n\t}\n", "\"x\", 2)\n\t}\n", false},
		{"a fence where none is open", "func f() {\n\tif x {\n\t\treturn strings.Repeat(", "```go\n\tif x {\n\t\treturn strings.Repeat(\"x\", 2)\n\t}\n", "-", false},
		{"a table", "| name | count |\n|------|------:|\n| gateway | 12 |\n| circuit |", "| gateway | 12 |\n| circuit | 13 |\n", " 13 |\n", false},
		{"nothing", said, "", "-", false},
	} {
		for _, step := range []int{1, 3, 1000} {
			f, err := newFinder(row.said, row.Closed, false)
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
				continue
			}
			rest, ok := tell(&f, row.Second, step)
			if want := row.rest; ok != (want != "-") || ok && rest != want {
				t.Errorf("%s, %d characters at a time: got %q, %t, want %q", row.name, step, rest, ok, want)
			}
		}
	}
}

// tell tells a finder a text in steps of some characters, and returns what is shown.
func tell(f *finder, text string, step int) (rest string, ok bool) {
	v := seamUndecided
	for runes := []rune(text); len(runes) > 0; {
		n := min(step, len(runes))
		part := string(runes[:n])
		runes = runes[n:]
		if v == seamFound {
			rest += part
			continue
		}
		if rest, v = f.add(part); v == seamLost {
			return "", false
		}
	}
	if v == seamUndecided {
		rest, v = f.end(false)
	}
	return rest, v == seamFound
}

func TestFinder_RefusesWhatDoesNotIdentifyItself(t *testing.T) {
	for name, said := range map[string]string{
		"short":             "I will look",
		"a line of dashes":  "The table:\n" + strings.Repeat("-", 400),
		"a repeated line":   strings.Repeat("- nothing to report, once more\n", 30),
		"half a character":  "The whole family has come to see it: \ufffd",
		"white space alone": strings.Repeat(" \n", 60),
	} {
		if f, err := newFinder(said, false, false); err == nil {
			t.Errorf("%s: got the anchor %q, want a refusal", name, f.anchor)
		}
	}
}

// TestFinder_AnchorIsLengthenedUntilItIsUnique repeats the end of the text in its middle.
func TestFinder_AnchorIsLengthenedUntilItIsUnique(t *testing.T) {
	const line = "the request is held until the provider is back again, as ever"
	said := "First, " + line + ".\nSecond, " + line
	f, err := newFinder(said, false, false)
	if err != nil {
		t.Fatalf("a finder behind %q: %v", said, err)
	}
	if strings.Count(said, f.anchor) != 1 || !strings.HasSuffix(said, f.anchor) || !strings.Contains(f.anchor, "Second") {
		t.Errorf("got the anchor %q, want the end of the text from %q on", f.anchor, "Second")
	}
	if f, err = newFinder("It is written that "+line+". Then", false, false); err != nil || utf8.RuneCountInString(f.anchor) > anchorLength+wordLength {
		t.Errorf("got the anchor %q and %v, want %d characters and the rest of a word", f.anchor, err, anchorLength)
	}
}

// longText is longer than what a finder withholds, and does not repeat itself.
func longText() string {
	var b strings.Builder
	for i := range 90 {
		b.WriteString(string(rune('a'+i%26)) + strings.Repeat(string(rune('a'+i%25)), i%9) + " ")
	}
	return b.String()
}

// TestFinder_WithholdsNoMoreThanItsBound lets a model repeat what was said long ago.
func TestFinder_WithholdsNoMoreThanItsBound(t *testing.T) {
	said := longText()
	f, err := newFinder(said, false, false)
	if err != nil {
		t.Fatalf("a finder behind a long text: %v", err)
	}
	withheld := 0
	for _, r := range said[1:] {
		withheld++
		if _, v := f.add(string(r)); v == seamLost {
			break
		}
	}
	if withheld > maxUnfound+1 {
		t.Errorf("withheld %d characters, want at most %d", withheld, maxUnfound)
	}
}

// A server that answers alike to the same question repeats all that was shown: each byte must be the same.
func TestFinder_RepetitionOfAllIsASeam(t *testing.T) {
	said := longText()
	core := strings.TrimSpace(said)
	at := len(said) * 2 / 3
	for name, c := range map[string]struct{ second, rest string }{
		"all of it, and more":       {said + "goes on", "goes on"},
		"all of it alone":           {said, "-"},
		"another byte":              {said[:at] + "#" + said[at+1:] + "goes on", "-"},
		"a byte less":               {said[:at] + said[at+1:] + "goes on", "-"},
		"another space at its end":  {core + "\ngoes on", "-"},
		"all of it twice":           {said + said + "goes on", "-"},
		"all of it, behind a space": {" " + said + "goes on", "-"},
		"its beginning":             {said[:at], "-"},
	} {
		for _, step := range []int{1, 7, 5000} {
			f, err := newFinder(said, false, false)
			if err != nil {
				t.Fatalf("a finder behind a long text: %v", err)
			}
			rest, ok := tell(&f, c.second, step)
			if ok != (c.rest != "-") || ok && rest != c.rest {
				t.Errorf("%s, %d characters at a time: got %q, %t, want %q", name, step, rest, ok, c.rest)
			}
		}
	}
}

// FuzzFinder checks that what is found is what follows the repetition, however the second answer comes.
func FuzzFinder(f *testing.F) {
	f.Add("The circuit opens when five tries in a row have failed, and then", "in a row have failed, and then it closes.", uint8(3))
	f.Add("网关在五次失败之后打开断路器，然后等待", "五次失败之后打开断路器，然后等待恢复。", uint8(1))
	f.Add("```go\nfunc f() {\n\tif x {\n\t\treturn strings.Repeat(", "```\n\t\treturn strings.Repeat(\"x\")", uint8(7))
	f.Add("A line of it that is long enough  \n", " A line of it that is long enough  \n\n", uint8(2))
	f.Add(longText(), longText()+"goes on", uint8(9))
	f.Fuzz(func(t *testing.T, said, second string, step uint8) {
		said, second = strings.ToValidUTF8(said, ""), strings.ToValidUTF8(second, "")
		one, err := newFinder(said, false, false)
		if err != nil {
			return
		}
		if !strings.HasSuffix(said, one.anchor) || strings.Count(normalize(said).text, normalize(one.anchor).trimmed().text) != 1 {
			t.Fatalf("anchor %q of %q", one.anchor, said)
		}
		other := one
		rest, ok := tell(&one, second, 1+int(step))
		again, okAgain := tell(&other, second, 1)
		if ok != okAgain || ok && rest != again {
			t.Fatalf("%q behind %q: got %q, %t at %d characters, and %q, %t at one", second, said, rest, ok, 1+step, again, okAgain)
		}
		if !ok {
			return
		}
		before, isEnd := strings.CutSuffix(second, rest)
		shown, repeated := normalize(said).trimmed().text, normalize(before).trimmed().text
		if _, body, fenced := strings.Cut(strings.TrimLeft(before, " \t\n"), "\n"); fenced && !strings.HasSuffix(shown, repeated) {
			repeated = normalize(body).trimmed().text
		}
		if !isEnd || rest == "" || !strings.HasSuffix(shown, repeated) || len(repeated) < leastBytes {
			t.Fatalf("%q behind %q: got %q, want what follows a repetition", second, said, rest)
		}
	})
}

func TestTokens_AreNotTooFew(t *testing.T) {
	for _, row := range []struct {
		text string
		want int // what common tokenizers count
	}{
		{"The circuit opens when five tries in a row have failed.", 12},
		{"func (a *Answer) note(frame []byte) {\n\tif a.obstacle != \"\" {\n", 22},
		{"网关在五次失败之后打开断路器", 12},
		{"👩🎉🚀", 6},
	} {
		if got := Tokens(row.text); got < row.want || got > 2*row.want {
			t.Errorf("%q: got %d tokens, want %d or somewhat more", row.text, got, row.want)
		}
	}
}
