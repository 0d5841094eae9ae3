// Command manpage writes the manual pages of a program, one for each of its commands, in the language of man(7). No
// program of users links it.
//
//	go run ./internal/cli/manpage PROGRAM DIR
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/program"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manpage PROGRAM DIR")
		os.Exit(command.ExitUsage)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manpage:", err)
		os.Exit(command.ExitFailed)
	}
}

// root returns the commands of a program; nil: there is no such program.
func root(name string) *cobra.Command {
	s := command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}
	for _, p := range []program.Program{cli.Whole(), program.Gateway()} {
		if p.Name == name {
			return p.Root(s)
		}
	}
	return nil
}

// write writes the pages of a program into a directory.
func write(name, dir string) error {
	top := root(name)
	if top == nil {
		return fmt.Errorf("no program %s", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return each(top, func(cmd *cobra.Command) error {
		return os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(page(cmd)), 0o644)
	})
}

// each calls f with every command that the help shows.
func each(cmd *cobra.Command, f func(*cobra.Command) error) error {
	if err := f(cmd); err != nil {
		return err
	}
	for _, one := range cmd.Commands() {
		if one.IsAvailableCommand() {
			if err := each(one, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns the page of a command.
func page(cmd *cobra.Command) string {
	program.NameValues(cmd)
	var to strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&to, format+"\n", args...) }
	say(`.TH "%s" 1 "" "%s" "User Commands"`, strings.ToUpper(pageName(cmd)), cmd.Root().Name())
	say(".SH NAME\n%s \\- %s", roff(pageName(cmd)), roff(cmd.Short))
	say(".SH SYNOPSIS\n.B %s", roff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		say(".br\n.B %s", roff(cmd.CommandPath()+" COMMAND [flags]"))
	}
	say(".SH DESCRIPTION")
	for i, part := range strings.Split(longOf(cmd), "\n\n") {
		if i > 0 {
			say(".PP")
		}
		say("%s", roff(part))
	}
	if cmd.HasAvailableSubCommands() {
		say(".SH COMMANDS")
		for _, one := range cmd.Commands() {
			if one.IsAvailableCommand() {
				say(".TP\n.BR %s (1)\n%s", roff(pageName(one)), roff(one.Short))
			}
		}
	}
	say(".SH OPTIONS")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			say("%s", option(f))
		}
	})
	if cmd.Example != "" {
		say(".SH EXAMPLES\n.nf\n%s\n.fi", roff(unindented(cmd.Example)))
	}
	if cmd.HasParent() {
		say(".SH SEE ALSO\n.BR %s (1)", roff(pageName(cmd.Parent())))
	}
	return to.String()
}

// longOf returns what a command does.
func longOf(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return strings.TrimSpace(cmd.Long)
	}
	return cmd.Short + "."
}

// option returns the entry of a flag.
func option(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	names := "--" + f.Name
	if f.Shorthand != "" {
		names = "-" + f.Shorthand + ", " + names
	}
	if name != "" {
		names += " " + name
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
		usage += " (default " + f.DefValue + ")"
	}
	return ".TP\n.B " + roff(names) + "\n" + roff(usage)
}

// unindented returns an example without the indentation that the help has.
func unindented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
	}
	return strings.Join(lines, "\n")
}

// roff returns a text as man(7) takes it: no line is a request, and what is typed keeps its characters.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(text)
	lines := strings.Split(inASCII(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// inASCII returns a text with other characters as roff names them.
func inASCII(text string) string {
	var to strings.Builder
	for _, r := range text {
		if r < 128 {
			to.WriteRune(r)
		} else {
			fmt.Fprintf(&to, `\[u%04X]`, r)
		}
	}
	return to.String()
}
