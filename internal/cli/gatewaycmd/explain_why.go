package gatewaycmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/text"
)

const width = 80

type sign struct {
	From    string `json:"from"`
	Found   string `json:"found,omitzero"`
	Kind    string `json:"kind"`
	Sure    int    `json:"sure"` // in percent
	Rule    string `json:"rule"`
	Decides bool   `json:"decides,omitzero"`
	Because string `json:"because,omitzero"`
}

func signs(all []classify.Sign) []sign {
	made := make([]sign, 0, len(all))
	for _, s := range all {
		made = append(made, sign{s.From, s.Found, s.Kind.String(), s.Sure, s.Rule, s.Decides, s.Because})
	}
	return made
}

func printSigns(out io.Writer, all []classify.Sign) error {
	var b strings.Builder
	b.WriteString("\nevidence, in order of precedence\n")
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

func quoted(s classify.Sign) string {
	found := strings.Join(strings.Fields(s.Found), " ")
	if s.From == "text" {
		return `"` + found + `"`
	}
	return found
}

// wrap writes a text in lines of bounded width, the first after the mark and the others indented.
func wrap(b *strings.Builder, mark, words string) {
	b.WriteString(mark + strings.ReplaceAll(text.Wrap(words, width-4), "\n", "\n    ") + "\n")
}
