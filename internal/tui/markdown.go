package tui

import (
	"html"
	"regexp"
	"strings"
	"unicode"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"

	"github.com/ridethrough/ridethrough/internal/notice"
)

// markdown renders blocks of Markdown for a width.
type markdown struct {
	paint paint
	width int // what the renderer is for
	made  *glamour.TermRenderer
}

// render gives a block as lines of less than width columns, without blank ones
// around them. What cannot be rendered is shown as it is.
func (m *markdown) render(block string, width int) []string {
	if m.made == nil || m.width != width {
		m.width = width
		m.made, _ = glamour.NewTermRenderer( // fails of options that cannot be read
			glamour.WithStyles(m.style()), glamour.WithWordWrap(max(8, width-1)), glamour.WithChromaFormatter("terminal16"),
		)
	}
	block = literal(notice.Visible(block))
	out, err := m.made.Render(block)
	if err != nil {
		out = block
	}
	var lines []string
	for _, line := range strings.Split(onlyColors(out), "\n") {
		line = trailing.ReplaceAllStringFunc(line, func(end string) string {
			if strings.Contains(end, "\x1b") {
				return "\x1b[m"
			}
			return ""
		})
		lines = append(lines, wrappedOrBlank(line, width)...)
	}
	return trimBlank(lines)
}

func wrappedOrBlank(line string, width int) []string {
	if blank(line) {
		return []string{""}
	}
	return wrapped(line, width)
}

// trailing is what the renderer fills lines up with.
var trailing = regexp.MustCompile(`(?:[ ]|\x1b\[[0-9;]*m)+$`)

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func blank(line string) bool { return strings.TrimSpace(sgr.ReplaceAllString(line, "")) == "" }

func trimBlank(lines []string) []string {
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// onlyColors takes away all that a terminal would obey but for colors: links,
// whose address might be another one than the words say, among it.
func onlyColors(s string) string {
	return commands.ReplaceAllStringFunc(s, func(c string) string {
		if sgr.MatchString(c) {
			return c
		}
		return ""
	})
}

// commands are the sequences that a terminal obeys.
var commands = regexp.MustCompile(`\x1b\[[0-9;:<=>?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[^\[\]]?`)

// literal has the renderer show what it would interpret or drop: HTML, which
// is what a model has said as much as all else, and references to control
// characters.
func literal(block string) string {
	block = reference.ReplaceAllStringFunc(block, func(r string) string {
		if plain := html.UnescapeString(r); strings.ContainsFunc(plain, unicode.IsControl) {
			return notice.Visible(strings.TrimSpace(plain))
		}
		return r
	})
	lines := strings.Split(block, "\n")
	fence := ""
	for i, line := range lines {
		if fence = fenceAfter(fence, line); fence == "" && !opensFence(line) && !strings.HasPrefix(line, "    ") {
			lines[i] = escapeTags(line)
		}
	}
	return strings.Join(lines, "\n")
}

var reference = regexp.MustCompile(`&#?[0-9A-Za-z]+;`)

// escapeTags escapes what begins a tag outside of code.
func escapeTags(line string) string {
	if !strings.Contains(line, "<") {
		return line
	}
	var b strings.Builder
	code := false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '`':
			code = !code
		case c == '<' && !code && (i == 0 || line[i-1] != '\\'):
			b.WriteByte('\\')
		}
		b.WriteByte(line[i])
	}
	return b.String()
}

// style is how Markdown looks: as it was written, with the marks that carry no
// meaning replaced by colors where there are any.
func (m *markdown) style() ansi.StyleConfig {
	s := ansi.StyleConfig{
		BlockQuote:     ansi.StyleBlock{Indent: ref(uint(1)), IndentToken: ref(m.paint.letters("│ "))},
		List:           ansi.StyleList{LevelIndent: 2},
		Heading:        ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockSuffix: "\n"}},
		H1:             heading("# "),
		H2:             heading("## "),
		H3:             heading("### "),
		H4:             heading("#### "),
		H5:             heading("##### "),
		H6:             heading("###### "),
		HorizontalRule: ansi.StylePrimitive{Format: "\n--------\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: m.bullet()},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		ImageText:      ansi.StylePrimitive{Format: "Image: {{.text}}"},
		CodeBlock:      ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: ref(uint(2))}},
	}
	if !m.paint.color {
		s.Emph, s.Strong = marks("*"), marks("**")
		s.Strikethrough, s.Code.Prefix, s.Code.Suffix = marks("~~"), "`", "`"
		return s
	}
	s.Heading.Bold = ref(true)
	s.Emph.Italic, s.Strong.Bold, s.Strikethrough.CrossedOut = ref(true), ref(true), ref(true)
	s.Code.Color, s.Link.Color, s.BlockQuote.Faint = ref("6"), ref("4"), ref(true)
	s.CodeBlock.Chroma = chroma()
	return s
}

func (m *markdown) bullet() string {
	if m.paint.ascii {
		return "* "
	}
	return "• "
}

func heading(prefix string) ansi.StyleBlock {
	return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: prefix}}
}

func marks(mark string) ansi.StylePrimitive {
	return ansi.StylePrimitive{BlockPrefix: mark, BlockSuffix: mark}
}

func chroma() *ansi.Chroma {
	in := func(color string) ansi.StylePrimitive { return ansi.StylePrimitive{Color: ref(color)} }
	return &ansi.Chroma{
		Comment: in("#ansidarkgray"), CommentPreproc: in("#ansidarkgray"),
		Keyword: in("#ansipurple"), KeywordReserved: in("#ansipurple"), KeywordNamespace: in("#ansipurple"), KeywordType: in("#ansiteal"),
		NameBuiltin: in("#ansiteal"), NameFunction: in("#ansidarkblue"), NameClass: in("#ansiteal"), NameTag: in("#ansidarkblue"),
		LiteralNumber: in("#ansiteal"), LiteralString: in("#ansidarkgreen"), LiteralStringEscape: in("#ansiteal"),
		GenericDeleted: in("#ansidarkred"), GenericInserted: in("#ansidarkgreen"),
	}
}

func ref[T any](v T) *T { return &v }
