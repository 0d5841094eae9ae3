package recipe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Hint tells a person how to point a program at a gateway.
type Hint struct {
	Program string
	File    string // its configuration file, where ~ is the home directory; "": Text is for a shell
	Text    string // what the file needs, where {url} is the gateway's address; it may have more
	Also    string // what else to know; "": nothing
}

// Hints returns a hint for each of [Programs], and one for all others.
func Hints() (all []Hint) {
	home := filepath.Join(os.TempDir(), "~") // of no user: its reader may be at another machine
	for _, program := range Programs() {
		l, err := Lastingly(program, "{url}", func(name string) string { return map[string]string{"HOME": home}[name] })
		h := Hint{Program: program, Text: l.Command, Also: l.Also}
		if l.File != "" {
			h.File = "~" + filepath.ToSlash(strings.TrimPrefix(l.File, home))
			h.Text, _, err = l.Format.Apply("", l.Settings)
		}
		if err != nil {
			continue // none that is tested
		}
		if program == "codex" {
			h.Also = "With the login of a ChatGPT account, `ridethrough setup codex` says what it needs."
		}
		all = append(all, h)
	}
	return append(all, Hint{Program: "another program", Text: exports(), Also: "SDKs read these variables too."})
}

// exports returns the commands of a shell that set the variables that most programs read.
func exports() string {
	var lines []string
	for name := range Upstreams() {
		if value, ok := everywhere[name]; ok && strings.HasSuffix(name, "_BASE_URL") {
			lines = append(lines, "export "+name+"="+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
