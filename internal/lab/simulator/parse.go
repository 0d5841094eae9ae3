package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// bodyKey is the name of the body among a status's headers. HTTP has no such header.
	bodyKey = "body"

	// maxReplies bounds the replies of one line.
	maxReplies = 10_000

	known = "want ok, a status such as 503 or 429;retry-after=7, too-long, quota, key-echo, blocked, refused, reset, " +
		"silence[:30s], stall[:30s], window:90s, error-first, role-error, cut:3[:clean|:done|:error|:silent], cut:120b, empty, html, error-200, drip:200ms, continue:paraphrase or " +
		`an answer such as think:"Let me see"+say:Hello+call:list{"path":"."}+cut:3, each with *2 to repeat it`
)

// plain returns the reply of a word without arguments.
func plain(word string) (Reply, bool) {
	for _, r := range []Reply{
		OK, Refuse, Reset, Silence{}, Stall{}, ErrorFirst, RoleError, Empty, HTML, Error200, TooLong, Spent, KeyEcho, Blocked,
	} {
		if r.String() == word {
			return r, true
		}
	}
	return nil, false
}

// Parse parses replies separated by commas:
//
//	529*5, 429;retry-after=7, 503;body="go away", too-long, quota,
//	key-echo, blocked, refused, reset, silence, silence:30s, stall,
//	stall:30s, window:90s, error-first, role-error, cut:3, cut:3:clean, cut:3:done, cut:3:error, cut:3:silent,
//	cut:120b, empty, html, error-200, drip:200ms, continue:exact, continue:paraphrase, continue:decline, continue:repeat,
//	continue:no-prefill, ok,
//	think:"Let me see."+say:Hello+call:list{"path":"."}+call:now+mixed
//
// A reply with *5 is repeated five times. A status may have headers, and body for
// the body. A value with a comma, a semicolon, a star, a plus, a brace, a space or
// a quote is written as a Go string in double quotes. An empty text has no replies.
//
// A Say consists of think, say and call, joined by plus signs. The arguments of a call are a JSON object, or
// anything as a Go string in double quotes. Further parts are hidden, mixed, no-ids, stop:length,
// stop:refusal and continue:exact (see Say), and one of cut, drip, silence and stall.
func Parse(words string) ([]Reply, error) {
	if strings.TrimSpace(words) == "" {
		return nil, nil
	}
	var replies []Reply
	for _, item := range split(words, ',') {
		reply, times, err := parseItem(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if len(replies)+times > maxReplies {
			return nil, fmt.Errorf("more than %d replies", maxReplies)
		}
		replies = append(replies, slices.Repeat([]Reply{reply}, times)...)
	}
	return replies, nil
}

// ParseOutage parses an outage: "5s-25s", "5s-" for one without an end,
// "5s-25s=503" or "0s-20s=refused" for one with a reply.
func ParseOutage(s string) (Outage, error) {
	span, word, replies := strings.Cut(s, "=")
	from, to, dashed := strings.Cut(strings.TrimSpace(span), "-")
	start, err := parseTime(from)
	end, err2 := parseTime(to)
	open := strings.TrimSpace(to) == ""
	if !dashed || err != nil || !open && (err2 != nil || end <= start) {
		return Outage{}, fmt.Errorf("outage %q: want FROM-TO or FROM-TO=REPLY, such as 5s-25s or 5s-25s=503", s)
	}
	outage := Outage{From: start, To: end}
	if replies {
		outage.Reply, err = parseReply(strings.TrimSpace(word))
	}
	if err != nil {
		return Outage{}, fmt.Errorf("outage %q: %w", s, err)
	}
	return outage, nil
}

// parseTime reads a time since the start.
func parseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time since the start", s)
	}
	return d, nil
}

// parseItem parses a reply and its repetitions.
func parseItem(item string) (Reply, int, error) {
	parts := split(item, '*')
	reply, err := parseReply(strings.TrimSpace(parts[0]))
	if err != nil || len(parts) == 1 {
		return reply, 1, err
	}
	times, err := strconv.Atoi(strings.TrimSpace(parts[1]))
	if err != nil || len(parts) > 2 || times < 1 || times > maxReplies {
		return nil, 0, fmt.Errorf("reply %q: want one number from 1 to %d after the star", item, maxReplies)
	}
	return reply, times, nil
}

// parseReply parses one reply.
func parseReply(word string) (Reply, error) {
	if reply, ok := plain(word); ok {
		return reply, nil
	}
	if word != "" && '0' <= word[0] && word[0] <= '9' {
		return parseStatus(word)
	}
	if isSay(word) {
		return parseSay(word)
	}
	name, argument, _ := strings.Cut(word, ":")
	switch name {
	case "silence", "stall", "window", "drip":
		d, err := parseWait(word, argument)
		return map[string]Reply{
			"silence": Silence{For: d}, "stall": Stall{For: d}, "window": SpentWindow{For: d}, "drip": Drip{Every: d},
		}[name], err
	case "cut":
		return parseCut(word, argument)
	case continueWord:
		return parseContinue(word, argument)
	}
	return nil, fmt.Errorf("unknown reply %q: %s", word, known)
}

// parseWait reads the time in a word such as "drip:200ms".
func parseWait(word, argument string) (time.Duration, error) {
	d, err := time.ParseDuration(argument)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("reply %q: want a time above zero, such as 200ms, after the colon", word)
	}
	return d, nil
}

// parseCut reads "3", "3:clean", "3:done", "3:error", "3:silent", and the same with bytes, such as "120b:clean".
func parseCut(word, argument string) (Reply, error) {
	count, ending, ended := strings.Cut(argument, ":")
	count, inBytes := strings.CutSuffix(count, "b")
	after, err := strconv.Atoi(count)
	if err != nil || after < 0 {
		return nil, fmt.Errorf("reply %q: want a count of content events, such as cut:3", word)
	}
	if !ended {
		return Cut{After: after, Bytes: inBytes}, nil
	}
	if end := Ending(ending); slices.Contains([]Ending{Clean, Done, Failed, Silent}, end) && !(inBytes && end == Done) {
		return Cut{After: after, Bytes: inBytes, End: end}, nil
	}
	return nil, fmt.Errorf("reply %q: want the ending clean, done, error or silent (after bytes not done)", word)
}

// parseStatus reads a status with its headers and its body.
func parseStatus(word string) (Reply, error) {
	parts := split(word, ';')
	code, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil || code < 200 || code > 599 {
		return nil, fmt.Errorf("reply %q: want a status from 200 to 599", word)
	}
	status := Status{Code: code}
	for _, part := range parts[1:] {
		if status, err = status.with(part); err != nil {
			return nil, fmt.Errorf("reply %q: %w", word, err)
		}
	}
	return status, nil
}

// with returns the status with one more header, or its body, from "name=value".
func (s Status) with(part string) (Status, error) {
	name, value, ok := strings.Cut(part, "=")
	name = strings.ToLower(strings.TrimSpace(name))
	if !ok || !isToken(name) {
		return s, fmt.Errorf("%q is not a header: want name=value", part)
	}
	value, err := unquoted(strings.TrimSpace(value))
	switch {
	case err != nil:
		return s, err
	case name == bodyKey:
		s.Body = value
	case strings.ContainsFunc(value, isControl):
		return s, fmt.Errorf("header %q: control character in %q", name, value)
	default:
		s.Header = s.Header.Clone()
		if s.Header == nil {
			s.Header = http.Header{}
		}
		s.Header.Add(name, value)
	}
	return s, nil
}

// isToken reports whether s can be a header's name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'+-.^_`|~", r)
	})
}

// isControl reports whether a header's value must not contain r.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// quoted returns a value, in double quotes if necessary.
func quoted(value string) string {
	bare := value != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`,;*+{}"`, r)
	})
	if bare {
		return value
	}
	return strconv.Quote(value)
}

// unquoted reverses quoted.
func unquoted(value string) (string, error) {
	if !strings.Contains(value, `"`) {
		return value, nil
	}
	plain, err := strconv.Unquote(value)
	if err != nil || value[0] != '"' {
		return "", fmt.Errorf("%q is not a string in double quotes", value)
	}
	return plain, nil
}

// split cuts s at each separator that is not inside double quotes or braces.
func split(s string, separator byte) []string {
	var parts []string
	inside, depth, start := false, 0, 0
	for i := 0; i < len(s); i++ {
		switch {
		case inside && s[i] == '\\':
			i++
		case s[i] == '"':
			inside = !inside
		case inside:
		case s[i] == '{':
			depth++
		case s[i] == '}':
			depth = max(0, depth-1)
		case depth == 0 && s[i] == separator:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}
