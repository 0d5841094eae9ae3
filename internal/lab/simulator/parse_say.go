package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The words of an answer.
const (
	thinkWord  = "think"
	sayWord    = "say"
	callWord   = "call"
	stopWord   = "stop"
	hiddenWord = "hidden"
	mixedWord  = "mixed"
	noIDsWord  = "no-ids"
)

// String returns the answer as Parse reads it, `say:""` if it is empty.
func (s Say) String() string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	add(s.Reasoning != "", thinkWord+":"+quoted(s.Reasoning))
	add(s.Hidden, hiddenWord)
	add(s.Text != "" || s.Reasoning == "" && len(s.Calls) == 0, sayWord+":"+quoted(s.Text))
	for _, c := range s.Calls {
		add(true, callWord+":"+c.String())
	}
	add(s.Mixed, mixedWord)
	add(s.NoIDs, noIDsWord)
	add(s.Stop != "", stopWord+":"+string(s.Stop))
	add(s.Continue != "", s.Continue.String())
	if s.How != nil {
		add(true, s.How.String())
	}
	return strings.Join(words, "+")
}

// String returns `list{"path":"."}`, the arguments as a Go string if they are no JSON object.
func (c Call) String() string {
	switch {
	case c.Arguments == "":
		return c.Name
	case isObject(c.Arguments):
		return c.Name + c.Arguments
	}
	return c.Name + fmt.Sprintf("%q", c.Arguments)
}

// isObject reports whether s is a JSON object and no more.
func isObject(s string) bool {
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// isSay reports whether a word is a Say.
func isSay(word string) bool {
	parts := split(word, '+')
	name, _, _ := strings.Cut(strings.TrimSpace(parts[0]), ":")
	return len(parts) > 1 || slices.Contains([]string{thinkWord, sayWord, callWord, stopWord, hiddenWord, mixedWord, noIDsWord}, name)
}

// parseSay parses an answer.
func parseSay(word string) (Reply, error) {
	var s Say
	for _, part := range split(word, '+') {
		if err := s.add(strings.TrimSpace(part)); err != nil {
			return nil, fmt.Errorf("reply %q: %w", word, err)
		}
	}
	return s, nil
}

// add reads one part of an answer into it.
func (s *Say) add(part string) (err error) {
	name, argument, _ := strings.Cut(part, ":")
	switch name {
	case thinkWord:
		s.Reasoning, err = unquoted(argument)
	case sayWord:
		s.Text, err = unquoted(argument)
	case callWord:
		return s.addCall(argument)
	case stopWord:
		s.Stop = Stop(argument)
		if s.Stop != Length && s.Stop != Refusal {
			err = fmt.Errorf("want stop:%s or stop:%s", Length, Refusal)
		}
	case continueWord:
		s.Continue, err = parseContinue(part, argument)
	default:
		return s.addWay(part)
	}
	return err
}

// addCall reads a call.
func (s *Say) addCall(argument string) error {
	name, arguments := argument, ""
	if i := strings.IndexAny(argument, `{"`); i >= 0 {
		name, arguments = argument[:i], argument[i:]
	}
	if strings.HasPrefix(arguments, `"`) {
		plain, err := unquoted(arguments)
		if err != nil {
			return err
		}
		arguments = plain
	} else if arguments != "" && !isObject(arguments) {
		return fmt.Errorf("the arguments %q are not a JSON object: put them in double quotes as a Go string", arguments)
	}
	if !isWord(name, 64) {
		return fmt.Errorf("%q is not a tool name", name)
	}
	s.Calls = append(s.Calls, Call{name, arguments})
	return nil
}

// addWay parses a part other than content: a flag, or Cut, Drip, Silence or Stall.
func (s *Say) addWay(part string) error {
	if flag := map[string]*bool{hiddenWord: &s.Hidden, mixedWord: &s.Mixed, noIDsWord: &s.NoIDs}[part]; flag != nil {
		*flag = true
		return nil
	}
	if strings.Contains(part, "+") {
		return fmt.Errorf("unknown part %q", part)
	}
	how, err := parseReply(part)
	if err != nil {
		return err
	}
	switch how.(type) {
	case Cut, Drip, Silence, Stall:
		if s.How == nil {
			s.How = how
			return nil
		}
	}
	return fmt.Errorf("%q is not a part of an answer: want at most one of cut, drip, silence and stall", part)
}

// isWord reports whether s is a name for vendors: letters, digits, _ and -, and at most longest bytes.
func isWord(s string, longest int) bool {
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	})
}
