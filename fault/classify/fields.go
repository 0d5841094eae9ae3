package classify

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Bounds of what is gathered from one body: nobody wraps deeper.
const (
	maxLayers = 8
	maxDepth  = 10
)

// gatherer collects layers, hints and the request id from a text. It reads JSON
// as errors really carry it: cut off at a bound, wrapped in a sentence, quoted
// inside a string of another error, or printed by Python. encoding/json refuses
// all four, so this walks over the text itself and takes what it finds.
type gatherer struct {
	layers []Layer
	hint   hint
	id     string
	quotas string // the quotas that a Google API names, for the sentence that they explain
	now    time.Time
}

// headers takes the names that some providers state in a header.
func (g *gatherer) headers(h http.Header) {
	if len(h) == 0 {
		return
	}
	for _, name := range [...]string{"X-Amzn-Errortype", ":exception-type", ":Exception-Type"} {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			g.add(Layer{Type: awsName(v[0])})
		}
	}
}

// text takes the objects that are in a text, and the text itself where it is
// more than those.
func (g *gatherer) text(s string, depth int) {
	if s == "" {
		return
	}
	before, pure := len(g.layers), s[0] == '{' || s[0] == '['
	g.objects(s, depth, !pure || depth > 0)
	if !pure || len(g.layers) == before {
		g.add(Layer{Message: s, Status: statusIn(s), quoted: depth > 0})
	}
}

// objects takes every object that starts somewhere in a text.
func (g *gatherer) objects(s string, depth int, quoted bool) {
	c := cursor{s: s}
	for depth < maxDepth && len(g.layers) < maxLayers {
		at := strings.IndexByte(c.s[c.i:], '{')
		if at < 0 {
			return
		}
		c.i += at
		if strings.HasPrefix(c.s[c.i+1:], "{") {
			c.i++ // a brace that opens another is no object
			continue
		}
		g.object(&c, Layer{quoted: quoted}, depth)
	}
}

// object takes the object at the cursor, of which the layer tells what is known
// already. Its children are added before it: the innermost comes first.
func (g *gatherer) object(c *cursor, l Layer, depth int) {
	c.i++ // the brace
	for c.space() && c.s[c.i] != '}' {
		if c.s[c.i] == ',' {
			c.i++
			continue
		}
		key, ok := c.quotedString()
		if !ok || !c.space() || c.s[c.i] != ':' {
			break
		}
		c.i++
		if !c.space() {
			break
		}
		g.member(c, &l, key, depth)
	}
	if c.i < len(c.s) && c.s[c.i] == '}' {
		c.i++
	}
	if l.Message != "" {
		l.quotas, g.quotas = g.quotas, ""
	}
	g.add(l)
}

// member takes one member's value: an object or list that may hold a cause, or
// a plain value.
func (g *gatherer) member(c *cursor, l *Layer, key string, depth int) {
	switch first := c.s[c.i]; {
	case (first == '{' || first == '[') && depth < maxDepth && holdsCause(key):
		g.nested(c, depth+1, l.quoted)
	case first == '{' && depth < maxDepth && strings.HasSuffix(key, "Exception"):
		g.object(c, Layer{Type: key, quoted: l.quoted}, depth+1) // an event of AWS: the key is the name
	case first == '{' || first == '[':
		c.skip()
	default:
		g.plain(l, key, c.plain(), depth)
	}
}

// nested takes the object at the cursor, or all objects and sentences of the list there.
func (g *gatherer) nested(c *cursor, depth int, quoted bool) {
	if c.s[c.i] == '{' {
		g.object(c, Layer{quoted: quoted}, depth)
		return
	}
	c.i++ // the bracket
	for c.space() && c.s[c.i] != ']' {
		switch start := c.i; {
		case c.s[c.i] == ',':
			c.i++
		case c.s[c.i] == '{' && depth < maxDepth:
			g.object(c, Layer{quoted: quoted}, depth+1)
		case c.s[c.i] == '{' || c.s[c.i] == '[':
			c.skip()
		default:
			if c.plain(); c.i == start {
				c.i++
			}
		}
	}
	if c.i < len(c.s) {
		c.i++
	}
}

// plain takes a string, number or word.
func (g *gatherer) plain(l *Layer, key, value string, depth int) {
	if value == "" || value == "null" || value == "None" {
		return
	}
	var buf [64]byte
	name := squeeze(buf[:0], key)
	switch string(name) {
	case "message", "msg", "error", "detail", "details", "statusmessage", "statusmsg", "errormessage", "errormsg", "errordescription":
		if strings.IndexByte(value, '{') >= 0 {
			g.objects(value, depth+1, true)
		}
		first(&l.Message, value)
	case "raw", "body":
		g.text(value, depth+1)
	case "type", "errortype":
		first(&l.Type, awsName(value))
	case ":exceptiontype", "xamznerrortype":
		l.Type = awsName(value) // a header that somebody has quoted
	case "code", "errorcode":
		l.putCode(value)
	case "statuscode", "httpstatus":
		l.putStatusCode(value)
	case "status", "statusname":
		l.putStatus(value)
	case "reason", "limitsource", "blockreason":
		l.Reason = value // more precise than a status word
	case "quotaid":
		l.Reason = value
		g.quotas += ` "quotaId":"` + value + `"`
	case "quotavalue":
		g.quotas += ` "quotaValue":"` + value + `"`
	case "finishreason", "stopreason":
		l.Reason = "finish_reason " + value
	case "param":
		first(&l.Param, value)
	case "requestid":
		first(&g.id, value)
	default:
		g.hint = g.hint.or(stated(name, value, g.now))
	}
}

// putCode keeps a code; a code that is an HTTP status is one.
func (l *Layer) putCode(value string) {
	if status := httpStatus(value); status != 0 {
		l.Status = status
		return
	}
	first(&l.Code, value)
}

// putStatusCode keeps a status code: that of HTTP, or one of the vendor's own
// numbers, which mean other things than the same numbers as a code.
func (l *Layer) putStatusCode(value string) {
	if httpStatus(value) == 0 && value != "0" {
		value = "status_code " + value
	}
	l.putCode(value)
}

// awsName gives the name in what AWS states as a type: without the namespace
// before it, and the address behind it.
func awsName(value string) string {
	if at := strings.LastIndexByte(value, '#'); at >= 0 {
		value = value[at+1:]
	}
	name, _, _ := strings.Cut(value, ":http")
	return name
}

// putStatus keeps a status: a number, or a word such as RESOURCE_EXHAUSTED.
func (l *Layer) putStatus(value string) {
	if status := httpStatus(value); status != 0 {
		l.Status = status
		return
	}
	first(&l.Reason, value)
}

// add keeps a layer that says something.
func (g *gatherer) add(l Layer) {
	quoted := l.quoted
	l.quoted = false
	if l == (Layer{}) || l == (Layer{Type: "error"}) || len(g.layers) >= maxLayers {
		return
	}
	l.quoted = quoted
	g.layers = append(g.layers, l)
}

// holdsCause tells whether a member may hold the cause of an error. What a
// response merely echoes, such as the input, is passed over.
func holdsCause(key string) bool {
	var buf [64]byte
	switch string(squeeze(buf[:0], key)) {
	case "error", "errors", "response", "detail", "details", "errordetails", "metadata", "raw", "body", "data",
		"cause", "innererror", "originalerror", "upstreamdetails", "previouserrors", "violations", "headers",
		"incompletedetails", "choices", "candidates", "promptfeedback", "exception", "baseresp", "delta":
		return true
	}
	return false
}

// first sets a field that is still empty.
func first(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// httpStatus reads a number from 400 to 599; 0: it is none.
func httpStatus(s string) int {
	if len(s) != 3 {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

// cursor is a place in a text.
type cursor struct {
	s string
	i int
}

// space goes to the next byte that is no white space; false: there is none.
func (c *cursor) space() bool {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\n' || c.s[c.i] == '\t' || c.s[c.i] == '\r') {
		c.i++
	}
	return c.i < len(c.s)
}

// plain reads a string, number or word. Python marks its strings: b'…', u'…'.
func (c *cursor) plain() string {
	if c.i+1 < len(c.s) && (c.s[c.i] == 'b' || c.s[c.i] == 'u') && (c.s[c.i+1] == '\'' || c.s[c.i+1] == '"') {
		c.i++
	}
	if s, ok := c.quotedString(); ok {
		return s
	}
	start := c.i
	for c.i < len(c.s) && !strings.ContainsRune(",}] \n\r\t", rune(c.s[c.i])) {
		c.i++
	}
	return c.s[start:c.i]
}

// quotedString reads the string at the cursor, in either kind of quotes; one
// that is cut off ends where the text does.
func (c *cursor) quotedString() (string, bool) {
	quote := c.s[c.i]
	if quote != '"' && quote != '\'' {
		return "", false
	}
	c.i++
	s := c.s[c.i:]
	if n := strings.IndexByte(s, quote); n >= 0 && strings.IndexByte(s[:n], '\\') < 0 {
		c.i += n + 1
		return s[:n], true
	}
	n := 0
	for n < len(s) && s[n] != quote {
		if s[n] == '\\' {
			n++
		}
		n++
	}
	n = min(n, len(s))
	c.i = min(c.i+n+1, len(c.s))
	return unescape(s[:n]), true
}

// skip passes over the object or list at the cursor.
func (c *cursor) skip() {
	depth := 0
	for c.i < len(c.s) {
		switch c.s[c.i] {
		case '"', '\'':
			c.quotedString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return
		}
	}
}

// escapes are the single letters after a backslash.
var escapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': ' ', 'f': ' ', '"': '"', '\'': '\'', '\\': '\\', '/': '/'}

// unescape undoes the escapes of a JSON string; what is no escape stays.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		n := strings.IndexByte(s[i:], '\\')
		if n < 0 || i+n+1 == len(s) {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+n])
		i += n + 1
		if c := escapes[s[i]]; c != 0 {
			b.WriteByte(c)
		} else if r, ok := hexRune(s[i:]); ok {
			i += 4
			if low, ok := hexRune(after(s, i+1)); ok && utf16.IsSurrogate(r) {
				r, i = utf16.DecodeRune(r, low), i+6
			}
			b.WriteRune(r)
		} else {
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

// after gives what follows a backslash at i; "": there is none.
func after(s string, i int) string {
	if i+1 < len(s) && s[i] == '\\' {
		return s[i+1:]
	}
	return ""
}

// hexRune reads uXXXX.
func hexRune(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 32)
	return rune(n), err == nil
}
