package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggest makes a command and its subcommands suggest the likely name of an unknown command or flag, and show the
// usage if arguments are missing or too many.
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
			if hint := meant[args[0]]; hint != "" && !cmd.HasParent() {
				return fmt.Errorf("%w; %s", err, hint)
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

// meant maps the command names of other programs to ours.
var meant = map[string]string{
	"ask":     "did you mean run, or chat?",
	"gateway": "did you mean serve?",
	"init":    "did you mean config init?",
	"list":    "did you mean waits, or status?",
	"login":   "there is no login: clients keep their own keys, and run and chat read variables such as ANTHROPIC_API_KEY",
	"logs":    "serve writes its log to standard error, or to the file of --log-file",
	"ls":      "did you mean waits, or status?",
	"models":  "a model is named as PROVIDER/MODEL, and doctor says which providers are ready",
	"proxy":   "did you mean serve?",
	"ps":      "did you mean waits, or status?",
	"restart": "did you mean service install?",
	"start":   "did you mean serve, or service install?",
	"stop":    "did you mean service uninstall? serve in a terminal ends with Ctrl+C",
	"update":  "what has installed the program updates it",
	"upgrade": "what has installed the program updates it",
}

func withUse(cmd *cobra.Command, err error) error {
	if err == nil || !strings.Contains(err.Error(), "arg(s)") {
		return err
	}
	return fmt.Errorf("want `%s %s`", cmd.Parent().CommandPath(), cmd.Use)
}

func withNearestFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return withNearest(err, unknown.GetSpecifiedName(), names, "--")
}

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

// distance returns how many letters must be changed, added, removed or swapped with the next one to turn a into b.
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

// valueNames are the names of flags' values in the help, for flags whose own text has no name in back quotes.
var valueNames = map[string]string{
	"agent": "NAME", "answer": "TEXT", "budget": "DURATION", "callers": "N", "cap": "DURATION", "config": "FILE", "dir": "DIR",
	"effort": "LEVEL", "expires": "TIME", "fallback": "MODEL", "files": "DIR", "gallery": "DIR", "grace": "DURATION",
	"header": "HEADER", "judge": "MODEL", "judge-budget": "DURATION", "key-env": "VARIABLE", "limit": "N/DURATION",
	"limits": "LIMITS", "listen": "ADDR", "log": "LEVEL", "log-file": "FILE", "max-tokens": "N", "max-wait": "DURATION",
	"mcp": "SERVER", "model": "MODEL", "nats-ca": "FILE", "nats-creds": "FILE", "notify": "LIST", "now": "TIME", "older-than": "AGE", "outage": "OUTAGE",
	"pace": "DURATION", "patience": "DURATION", "policy": "NAME", "provider": "NAME", "quorum": "N", "replies": "LIST",
	"reserve": "DURATION", "retries": "N", "scope": "SCOPES", "seed": "N", "show": "NAME", "status": "CODE", "svg": "FILE",
	"system": "PROMPT", "then": "REPLY", "to": "DIR", "upstream": "NAME=URL", "wrong": "KIND",
}

type named struct {
	pflag.Value
	name string
}

func (n named) Type() string { return n.name }

// NameValues names the values of a command's flags, for its help. Afterwards the flags can only be printed, and no
// longer be read by their type.
func NameValues(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if name := valueNames[f.Name]; name != "" && f.NoOptDefVal == "" {
			f.Value = named{f.Value, name}
			if f.DefValue == "[]" || f.DefValue == "0s" { // which the help leaves out by the types that it knows
				f.DefValue = ""
			}
		}
	})
}
