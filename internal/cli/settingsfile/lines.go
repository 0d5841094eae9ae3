package settingsfile

import (
	"encoding/json"
	"regexp"
	"strings"
)

// lines edits files in which a setting is a line: TOML above its first table, YAML at the top level, and variables.
type lines struct {
	assign string // between name and value
	prefix string // a pattern of what may stand before the name
	table  string // what begins a part with names of its own; "": none
	quote  bool   // values are JSON strings, which TOML and YAML understand
}

// find returns where the line of a name begins and ends; begin < 0: there is none.
func (l lines) find(text, name string) (begin, end int) {
	own := regexp.MustCompile(`^` + l.prefix + regexp.QuoteMeta(name) + `[ \t]*` + strings.TrimSpace(l.assign))
	at, quoted := 0, ""
	for line := range strings.Lines(text) {
		switch {
		case quoted != "": // within a value of several lines
			if strings.Contains(line, quoted) {
				quoted = ""
			}
		case l.table != "" && strings.HasPrefix(strings.TrimSpace(line), l.table):
			return -1, at
		case own.MatchString(line):
			return at, at + len(line)
		default:
			quoted = opens(line, l.table != "")
		}
		at += len(line)
	}
	return -1, at
}

// opens returns the quotation marks of a value of TOML that goes on in the next line; "": none does.
func opens(line string, toml bool) string {
	for _, mark := range []string{`"""`, `'''`} {
		if toml && strings.Count(line, mark)%2 == 1 {
			return mark
		}
	}
	return ""
}

func (l lines) get(text string, path []string) (raw string, there bool, err error) {
	begin, end := l.find(text, path[0])
	if begin < 0 {
		return "", false, nil
	}
	return strings.TrimRight(text[begin:end], "\r\n"), true, nil
}

func (l lines) raw(path []string, value string) string {
	if l.quote {
		quoted, _ := json.Marshal(value) // of a string
		value = string(quoted)
	}
	return path[0] + l.assign + value
}

func (l lines) set(text string, path []string, raw string) (string, error) {
	begin, end := l.find(text, path[0])
	if begin >= 0 {
		old := text[begin:end]
		return text[:begin] + raw + old[len(strings.TrimRight(old, "\r\n")):] + text[end:], nil
	}
	before := text[:end]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + raw + "\n" + text[end:], nil
}

func (l lines) remove(text string, path []string, _ int) (string, error) {
	begin, end := l.find(text, path[0])
	if begin < 0 {
		return text, nil
	}
	return text[:begin] + text[end:], nil
}

// value returns what a line says, for people.
func (l lines) value(raw string) string {
	_, value, _ := strings.Cut(raw, strings.TrimSpace(l.assign))
	return strings.Trim(strings.TrimSpace(value), `"'`)
}
