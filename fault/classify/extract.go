package classify

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Bounds of what is read from one body.
const (
	maxLayers = 8
	maxDepth  = 10
)

// extractor collects layers, hints and the request id from a text. It reads JSON as errors really carry it:
// cut off at a bound, wrapped in a sentence, quoted inside a string of another error, or printed by Python.
// encoding/json rejects all four, so this scans the text itself.
type extractor struct {
	layers []Layer
	hint   hint
	id     string
	quotas string // the quotas that a Google API names, for the message that they explain

	clock, now time.Time // the provider's time, and ours
}

// headers adds the error names that some providers state in a header: they are the type of the body's error,
// if that states none.
func (g *extractor) headers(h http.Header) {
	if len(h) == 0 {
		return
	}
	for _, name := range [...]string{"X-Amzn-Errortype", ":exception-type", ":Exception-Type"} {
		switch v := h[name]; {
		case len(v) == 0 || v[0] == "":
		case len(g.layers) > 0 && g.layers[len(g.layers)-1].Type == "":
			g.layers[len(g.layers)-1].Type = awsName(v[0])
		default:
			g.layers = slices.Insert(g.layers, 0, Layer{Type: awsName(v[0])})
		}
	}
}

// text adds the objects in a text, and the text itself where it is more than those.
func (g *extractor) text(s string, depth int) {
	if s == "" {
		return
	}
	before, pure := len(g.layers), s[0] == '{' || s[0] == '['
	g.objects(s, depth, !pure || depth > 0)
	if !pure || len(g.layers) == before {
		g.add(Layer{Message: s, Status: statusIn(s), Reason: stopIn(s), quoted: depth > 0})
	}
}

// objects adds every object that starts somewhere in a text.
func (g *extractor) objects(s string, depth int, quoted bool) {
	c := cursor{s: s}
	for depth < maxDepth && len(g.layers) < maxLayers {
		at := strings.IndexByte(c.s[c.i:], '{')
		if at < 0 {
			return
		}
		c.i += at
		if strings.HasPrefix(c.s[c.i+1:], "{") {
			c.i++ // a brace before another does not open an object
			continue
		}
		l := Layer{quoted: quoted}
		if quoted {
			l.Status = statusIn(c.s[max(0, c.i-lead):c.i])
		}
		g.object(&c, l, depth)
	}
}

// lead is how far before a quoted body its status may be, in bytes: "Error code: 400 - {", "status 401, body: {".
const lead = 40

// object adds the object at the cursor; l is what is known of it already. Its children are added before it:
// the innermost comes first.
func (g *extractor) object(c *cursor, l Layer, depth int) {
	inner := len(g.layers)
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
	for i := range g.layers[inner:] { // {"statusCode":400,"responseBody":"{…}"}
		if cause := &g.layers[inner+i]; cause.quoted && cause.Status == 0 {
			cause.Status = l.Status
		}
	}
	setIfEmpty(&l.Message, l.title)
	l.title = ""
	if l.Message != "" {
		l.quotas, g.quotas = g.quotas, ""
	}
	also := Layer{Message: l.also, quoted: l.quoted}
	l.also = ""
	g.add(l)
	g.add(also)
}

// member reads one member's value: an object or list that may hold a cause, or a plain value.
func (g *extractor) member(c *cursor, l *Layer, key string, depth int) {
	switch first := c.s[c.i]; {
	case (first == '{' || first == '[') && depth < maxDepth && holdsCause(key):
		g.nested(c, Layer{quoted: l.quoted, within: key}, depth+1)
	case first == '{' && depth < maxDepth && strings.HasSuffix(key, "Exception"):
		g.object(c, Layer{Type: key, quoted: l.quoted}, depth+1) // an event of AWS: the key is the error's name
	case first == '{' || first == '[':
		c.skip()
	default:
		g.plain(l, key, c.plain(), depth)
	}
}

// nested adds the object at the cursor, or all objects of the list there; l is what is known of each.
func (g *extractor) nested(c *cursor, l Layer, depth int) {
	if c.s[c.i] == '{' {
		g.object(c, l, depth)
		return
	}
	c.i++ // the bracket
	for c.space() && c.s[c.i] != ']' {
		switch start := c.i; {
		case c.s[c.i] == ',':
			c.i++
		case c.s[c.i] == '{' && depth < maxDepth:
			g.object(c, l, depth+1)
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

// plain reads a string, number or literal.
func (g *extractor) plain(l *Layer, key, value string, depth int) {
	switch value {
	case "", "null", "None", "true", "false", "True", "False": // none says anything: {"error":true,"message":…}
		return
	}
	var buf [64]byte
	name := appendCanonical(buf[:0], key)
	switch string(name) {
	case "message", "msg", "error", "detail", "details", "statusmessage", "statusmsg", "errormessage", "errormsg", "errordescription", "faultstring":
		if strings.IndexByte(value, '{') >= 0 {
			g.objects(value, depth+1, true)
		}
		if l.Message != "" && l.Message != value {
			l.also = value // {"error":"Rate limit exceeded","message":"…resets in 12 minutes"}
		}
		setIfEmpty(&l.Message, value)
	case "title", "description": // problem details, RFC 9457: a detail says more
		setIfEmpty(&l.title, value)
	case "raw", "body":
		g.text(value, depth+1)
	case "type", "errortype":
		setIfEmpty(&l.Type, awsName(value))
	case ":exceptiontype", "xamznerrortype":
		l.Type = awsName(value) // a quoted header
	case "code", "errorcode":
		l.put(&l.Code, value)
	case "statuscode", "httpstatus":
		l.putStatusCode(value)
	case "status", "statusname": // a number, or a name such as RESOURCE_EXHAUSTED
		l.put(&l.Reason, value)
	case "reason", "limitsource", "blockreason":
		l.Reason = value // more precise than a status word
	case "quotaid":
		l.Reason = value
		g.quotas += ` "quotaId":"` + value + `"`
	case "quotavalue":
		g.quotas += ` "quotaValue":"` + value + `"`
	case "param":
		setIfEmpty(&l.Param, value)
	case "requestid":
		setIfEmpty(&g.id, value)
	default:
		if isOneOf(words().stopFields, name) {
			l.Reason = stopName(value)
			return
		}
		if isObject(value) && !slices.Contains(words().echoes, string(name)) {
			g.objects(value, depth+1, true)
		}
		g.hint = g.hint.or(fieldHint(name, value, g.clock, g.now))
	}
}

// isObject reports whether a string is JSON that may say what is wrong, whatever the member with it is called.
func isObject(value string) bool {
	value = strings.TrimLeft(value, " \n\r\t[")
	return strings.HasPrefix(value, "{") && (strings.Contains(value, "rror") || strings.Contains(value, "essage"))
}

// put keeps a name in a field that is still empty; one that is an HTTP status becomes the status.
func (l *Layer) put(field *string, value string) {
	if status := httpStatus(value); status != 0 {
		l.Status = status
		return
	}
	setIfEmpty(field, value)
}

// putStatusCode keeps a status code: that of HTTP, or a vendor's own number, which differs in meaning from
// the same number as a code.
func (l *Layer) putStatusCode(value string) {
	if httpStatus(value) == 0 && value != "0" {
		value = "status_code " + value
	}
	l.put(&l.Code, value)
}

// awsName returns the name in an AWS error type, without its namespace and URL.
func awsName(value string) string {
	if at := strings.LastIndexByte(value, '#'); at >= 0 {
		value = value[at+1:]
	}
	name, _, _ := strings.Cut(value, ":http")
	return name
}

// add keeps a layer that is not empty.
func (g *extractor) add(l Layer) {
	said := l
	said.quoted, said.within = false, ""
	if said == (Layer{}) || said == (Layer{Type: "error"}) || len(g.layers) >= maxLayers {
		return
	}
	g.layers = append(g.layers, l)
}

// holdsCause reports whether a member may hold the cause of an error. What a response merely echoes, such
// as the input, is skipped.
func holdsCause(key string) bool {
	var buf [64]byte
	name := appendCanonical(buf[:0], key)
	return isOneOf(words().causes, name)
}

// isOneOf reports whether a list has a canonical name.
func isOneOf(list []string, name []byte) bool {
	return slices.ContainsFunc(list, func(one string) bool { return one == string(name) })
}

// setIfEmpty sets a field that is still empty.
func setIfEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// httpStatus parses a number from 400 to 599; 0: it is not one.
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

// cursor is a position in a text.
type cursor struct {
	s string
	i int
}

// space advances to the next byte that is not white space; false: none.
func (c *cursor) space() bool {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\n' || c.s[c.i] == '\t' || c.s[c.i] == '\r') {
		c.i++
	}
	return c.i < len(c.s)
}

// plain reads a string, number or literal. Python marks its strings: b'…', u'…'.
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

// quotedString reads the string at the cursor, in either kind of quotes; one that is cut off ends with the
// text.
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

// skip advances past the object or list at the cursor.
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

// unescape decodes the escapes of a JSON string; anything else stays.
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
			if low, ok := hexRune(afterBackslash(s, i+1)); ok && utf16.IsSurrogate(r) {
				r, i = utf16.DecodeRune(r, low), i+6
			}
			b.WriteRune(r)
		} else {
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

// afterBackslash returns what follows a backslash at i; "": none.
func afterBackslash(s string, i int) string {
	if i+1 < len(s) && s[i] == '\\' {
		return s[i+1:]
	}
	return ""
}

// hexRune parses uXXXX.
func hexRune(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 32)
	return rune(n), err == nil
}
