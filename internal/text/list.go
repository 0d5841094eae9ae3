package text

import "strings"

// And returns names as "a, b and c".
func And(names []string) string { return list(names, " and ") }

// Or returns names as "a, b or c".
func Or(names []string) string { return list(names, " or ") }

func list(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}

// Capital starts a text with a capital letter.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
