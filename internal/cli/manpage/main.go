// Command manpage writes the program's manual pages, one for each of its commands, when a release is made. The program
// does not link it.
//
//	go run ./internal/cli/manpage DIR
package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manpage DIR")
		os.Exit(command.ExitUsage)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manpage:", err)
		os.Exit(command.ExitFailed)
	}
}

func root() *cobra.Command {
	top := cli.Root(command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }})
	top.DisableAutoGenTag = true // it has the day on which the page was made
	for cmd := range commands(top) {
		cli.NameValues(cmd)
	}
	return top
}

// commands yields a command and all visible commands below it.
func commands(cmd *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		if !yield(cmd) {
			return
		}
		for _, one := range cmd.Commands() {
			if !one.IsAvailableCommand() {
				continue
			}
			for below := range commands(one) {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// write writes the pages into a directory. SOURCE_DATE_EPOCH is their date.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return doc.GenManTree(root(), &doc.GenManHeader{Section: "1", Source: "ridethrough", Manual: "User Commands"}, dir)
}
