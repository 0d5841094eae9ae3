package program

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// valueNames are the names of flags' values in the help, where the flag's own text has none in back quotes.
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

// named is a flag's value with a name in place of its type.
type named struct {
	pflag.Value
	name string
}

// Type returns the name, which the help shows.
func (n named) Type() string { return n.name }

// NameValues names the values of a command's flags, for its help. The flags can be shown then, but no longer be
// asked for by their type.
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
