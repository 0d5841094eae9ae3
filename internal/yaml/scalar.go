package yaml

import (
	"slices"
	"strconv"
	"strings"
)

// plain reads a scalar without quotes, inside of a collection that is indented so far.
func (p *parser) plain(parent int, inFlow bool) *Node {
	n := p.node(Text)
	if c := p.char(0); strings.IndexByte("@`|>", c) >= 0 || strings.IndexByte("-?:", c) >= 0 && p.blank(1) {
		n.fail("found character '%c' that cannot start a text; it needs quotes", c)
	}
	n.Plain = true
	text := []byte(p.plainLine(inFlow))
	for {
		here := *p
		breaks := p.breaks()
		if breaks == 0 || !p.goesOn(parent, inFlow) {
			*p = here
			break
		}
		text = append(append(text, folded(breaks)...), p.plainLine(inFlow)...)
	}
	if !inFlow && p.char(0) == ':' {
		n.fail("mapping value is not allowed in this context")
	}
	n.Text = string(text)
	n.Kind = kindOf(n.Text)
	return n
}

// goesOn reports whether a scalar without quotes goes on on a line.
func (p *parser) goesOn(parent int, inFlow bool) bool {
	switch {
	case p.done() || p.marker() || p.char(0) == '#':
		return false
	case inFlow:
		return !isFlow(p.char(0)) && (p.char(0) != ':' || !p.blank(1))
	}
	return p.spaces() > parent
}

// plainLine reads a scalar without quotes up to the end of its line, or to what ends it before.
func (p *parser) plainLine(inFlow bool) string {
	from := p.at
	for !p.done() && p.char(0) != '\n' {
		c := p.char(0)
		if c == ':' && (p.blank(1) || inFlow && isFlow(p.char(1))) || inFlow && isFlow(c) {
			break
		}
		if c == '#' && p.at > from && (p.text[p.at-1] == ' ' || p.text[p.at-1] == '\t') {
			break
		}
		p.at++
	}
	return strings.TrimRight(p.text[from:p.at], " \t")
}

// spaces returns by how many spaces the line is indented.
func (p *parser) spaces() int {
	return len(p.text[p.start:]) - len(strings.TrimLeft(p.text[p.start:], " "))
}

// breaks skips space and ends of lines, and returns the number of these.
func (p *parser) breaks() (count int) {
	for p.skipSpace(); p.char(0) == '\n'; p.skipSpace() {
		p.newLine()
		count++
	}
	return count
}

// folded returns what ends of lines are in a text that is not kept as it is.
func folded(breaks int) string {
	if breaks == 1 {
		return " "
	}
	return strings.Repeat("\n", breaks-1)
}

// quoted reads a scalar in quotes.
func (p *parser) quoted() *Node {
	n, quote := p.node(Text), p.char(0)
	var b []byte
	kept := 0 // what no end of a line takes away
	for p.at++; ; {
		c := p.char(0)
		switch {
		case p.done() || p.marker():
			kind := "double"
			if quote == '\'' {
				kind = "single"
			}
			n.fail("could not find end character of %s-quoted text", kind)
		case c == quote && quote == '\'' && p.char(1) == '\'':
			b = append(b, '\'')
			p.at += 2
		case c == quote:
			p.at++
			n.Text = string(b)
			return n
		case c == '\n':
			for len(b) > kept && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
				b = b[:len(b)-1]
			}
			b = append(b, folded(p.breaks())...)
			kept = len(b)
		case c == '\\' && quote == '"':
			b = p.escape(b)
			kept = len(b)
		default:
			b = append(b, c)
			p.at++
		}
	}
}

// escapes are the characters behind a backslash, each with what it stands for.
var escapes = [...]string{
	"0\x00", "a\a", "b\b", "t\t", "\t\t", "n\n", "v\v", "f\f", "r\r", "e\x1b", "  ", `""`, "//", `\\`, "N\u0085", "_\u00a0", "L\u2028", "P\u2029",
}

// escape reads a backslash and what is behind it.
func (p *parser) escape(b []byte) []byte {
	at := p.node(Null)
	c := p.char(1)
	p.at += 2
	switch digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; {
	case c == '\n':
		p.at--
		if count := p.breaks(); count > 1 {
			b = append(b, strings.Repeat("\n", count-1)...)
		}
		return b
	case digits > 0:
		code := p.hex(at, digits)
		if code>>10 == 0xd800>>10 && p.char(0) == '\\' && p.char(1) == 'u' { // a pair, as in JSON
			p.at += 2
			code = 0x10000 + (code&0x3ff)<<10 + p.hex(at, 4)&0x3ff
		}
		return append(b, string(rune(code))...)
	}
	i := slices.IndexFunc(escapes[:], func(e string) bool { return e[0] == c })
	if i < 0 || p.at > len(p.text) {
		at.fail("found an escape that does not exist; write \\\\ for a backslash, or use single quotes")
	}
	return append(b, escapes[i][1:]...)
}

// hex reads the digits of an escape.
func (p *parser) hex(at *Node, digits int) uint64 {
	text := p.text[min(p.at, len(p.text)):min(p.at+digits, len(p.text))]
	code, err := strconv.ParseUint(text, 16, 32)
	if err != nil || len(text) < digits || code > 0x10ffff {
		at.fail("found an escape with an invalid number")
	}
	p.at += digits
	return code
}

// kindOf returns the kind of a plain scalar.
func kindOf(text string) Kind {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Boolean
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "-.inf", "-.Inf", "-.INF", "+.inf", "+.Inf", "+.INF":
		return Number
	}
	if isNumber(text) {
		return Number
	}
	return Text
}

// isNumber reports whether a plain scalar is a number: a decimal one, one of another base or one with a point.
func isNumber(text string) bool {
	if strings.HasPrefix(text, "_") || !strings.ContainsAny(text, "0123456789") {
		return false
	}
	digits := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-"), "_", "")
	if strings.HasPrefix(digits, "-") || strings.HasPrefix(digits, "+") {
		return false
	}
	if strings.Contains(digits, ".") {
		_, err := strconv.ParseFloat(digits, 64)
		return err == nil && !strings.ContainsAny(digits, "xXpP")
	}
	base := 10
	if prefixed := map[string]int{"0x": 16, "0o": 8, "0b": 2}; len(digits) > 1 && digits[0] == '0' {
		if base = prefixed[digits[:2]]; base > 0 {
			digits = digits[2:]
		} else {
			base = 8
		}
	}
	_, err := strconv.ParseUint(digits, base, 64)
	return err == nil
}
