package gatewaycmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/ridethrough/ridethrough/fault/classify"
)

// width is how wide the text of the evidence is, in columns.
const width = 80

// sign is a piece of evidence as JSON.
type sign struct {
	From    string `json:"from"`
	Found   string `json:"found,omitzero"`
	Kind    string `json:"kind"`
	Sure    int    `json:"sure"` // in percent
	Rule    string `json:"rule"`
	Decides bool   `json:"decides,omitzero"`
	Because string `json:"because,omitzero"`
}

// signs returns the evidence as JSON has it.
func signs(all []classify.Sign) []sign {
	made := make([]sign, 0, len(all))
	for _, s := range all {
		made = append(made, sign{s.From, s.Found, s.Kind.String(), s.Sure, s.Rule, s.Decides, s.Because})
	}
	return made
}

// printSigns writes the evidence as text, what decided with an arrow.
func printSigns(out io.Writer, all []classify.Sign) error {
	var b strings.Builder
	b.WriteString("\nevidence, in the order in which it is asked about\n")
	for _, s := range all {
		mark := "  "
		if s.Decides {
			mark = "> "
		}
		what := s.From
		if s.Found != "" {
			what += " " + quoted(s)
		}
		sure := ""
		if s.Sure > 0 {
			sure = fmt.Sprintf(", %d %% sure", s.Sure)
		}
		wrap(&b, mark, fmt.Sprintf("%s says %s%s (%s)", what, s.Kind, sure, s.Rule))
		if s.Because != "" {
			wrap(&b, "    ", s.Because)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// quoted returns what was found, in quotes where it is words.
func quoted(s classify.Sign) string {
	found := strings.Join(strings.Fields(s.Found), " ")
	if s.From == "text" {
		return `"` + found + `"`
	}
	return found
}

// wrap writes a text in lines of at most the width, the first after the mark and the others indented.
func wrap(b *strings.Builder, mark, text string) {
	const indent = "    "
	line := mark
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+len([]rune(word)) > width && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
