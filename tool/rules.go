package tool

import "path"

// Permission is what happens to a call of a tool.
type Permission string

// The permissions.
const (
	Allow Permission = "allow" // it runs
	Ask   Permission = "ask"   // the user is asked first
	Deny  Permission = "deny"  // it does not run, and no model is offered it
)

// Rules decide whether tools may run, by patterns of [path.Match] for their names. Deny comes before Ask, and Ask
// before Allow. A tool that no pattern matches is allowed if it only reads, and asked about if it writes.
type Rules struct{ Allow, Ask, Deny []string }

// Of returns the permission of a tool.
func (r Rules) Of(t Tool) Permission {
	switch {
	case matches(r.Deny, t.Name):
		return Deny
	case matches(r.Ask, t.Name):
		return Ask
	case matches(r.Allow, t.Name), !t.Writes:
		return Allow
	}
	return Ask
}

// matches reports whether one of some patterns matches a name.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok { // a malformed pattern matches nothing
			return true
		}
	}
	return false
}
