package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggest lets a command and those below it name what was meant, where a command or a flag is unknown, and how they are
// used, where arguments are missing or too many.
func suggest(cmd *cobra.Command) {
	if check := cmd.Args; check != nil && !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return withUse(cmd, check(cmd, args)) }
	}
	if check := cmd.Args; check != nil && cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || len(args) == 0 {
				return err
			}
			var names []string
			for _, one := range cmd.Commands() {
				if one.IsAvailableCommand() {
					names = append(names, one.Name())
				}
			}
			return withNearest(err, args[0], names, "")
		}
	}
	for _, one := range cmd.Commands() {
		suggest(one)
	}
	own := cmd.FlagErrorFunc() // not yet that of its parent: run and council end their JSON with it
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return own(cmd, withNearestFlag(cmd, err)) })
}

// withUse says how a command is used instead of how many arguments cobra wants.
func withUse(cmd *cobra.Command, err error) error {
	if err == nil || !strings.Contains(err.Error(), "arg(s)") {
		return err
	}
	return fmt.Errorf("want `%s %s`", cmd.Parent().CommandPath(), cmd.Use)
}

// withNearestFlag adds the flag that was probably meant to an error about an unknown one.
func withNearestFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return withNearest(err, unknown.GetSpecifiedName(), names, "--")
}

// withNearest adds the name that was probably meant to an error about an unknown one.
func withNearest(err error, unknown string, names []string, dashes string) error {
	best, least := "", 3 // of more changes it is another word
	for _, name := range names {
		d := distance(unknown, name)
		if len(unknown) > 2 && strings.HasPrefix(name, unknown) {
			d = 1
		}
		if d < least && d < len(unknown) {
			best, least = name, d
		}
	}
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean %s%s?", err, dashes, best)
}

// distance returns how many letters must be changed, added, left out or swapped with the next one to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
