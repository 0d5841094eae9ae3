package gatewaycmd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/server/audit"
)

// Token returns the command `token`.
func Token(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make tokens for the clients of a gateway",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tokenNew(s))
	return cmd
}

func tokenNew(s command.Streams) *cobra.Command {
	c := tokenCmd{streams: s}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a token and the line for the file of tokens",
		Long: "new prints a new token, which is stored nowhere and cannot be shown again, and the line for the file that\n" +
			"`tokens` in the configuration names. The line has a hash of the token. A running gateway reads the file\n" +
			"when it changes. To withdraw a token, delete its line.\n\n" +
			"Scopes: use (requests to the APIs, and councils), see (read what is below /-/), act (act on waits and\n" +
			"upstreams, and write in conversations), admin (everything, also delete conversations).\n\n" +
			"With --rpm, --tpm and --holds its requests to the APIs are limited: what is beyond is refused with 429.",
		Example: "  ridethrough token new alice --scope use,see --expires 90d --append /etc/ridethrough/tokens\n" +
			"  ridethrough token new ci --rpm 60 --tpm 200000 --holds 20\n" +
			"  ridethrough token new prometheus --scope see",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.scope, "scope", "use", "what the token permits: use, see, act and admin, separated by commas")
	f.StringVar(&c.expires, "expires", "", "the time after which it is refused, such as 90d (default never)")
	f.Var((*limitValue)(&c.limits.Requests), "rpm", "at most `N` requests a minute (default no limit)")
	f.Var((*limitValue)(&c.limits.Tokens), "tpm", "at most `N` tokens of models a minute (default no limit)")
	f.Var((*limitValue)(&c.limits.Holds), "holds", "at most `N` requests that wait for their provider at a time (default no limit)")
	f.StringVar(&c.to, "append", "", "append the line to this `FILE`, and print the token alone")
	return cmd
}

// tokenCmd is a call of `token new`.
type tokenCmd struct {
	streams            command.Streams
	scope, expires, to string
	limits             access.Limits
}

// limitValue is the value of a flag for a limit.
type limitValue int

// Set parses the number.
func (v *limitValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("want a number above 0")
	}
	*v = limitValue(n)
	return nil
}

// String returns the number; "": there is no limit.
func (v *limitValue) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.Itoa(int(*v))
}

// Type names what the flag takes.
func (v *limitValue) Type() string { return "N" }

func (c *tokenCmd) run(name string) error {
	scope, err := access.ParseScope(c.scope)
	if err != nil {
		return fmt.Errorf("--scope: %w", err)
	}
	var end time.Time
	if c.expires != "" {
		d, err := config.ParseDuration(c.expires)
		if err != nil {
			return fmt.Errorf("--expires %q: want a time above zero, such as 90d or 12h", c.expires)
		}
		end = time.Now().Add(d).Truncate(time.Second)
	}
	t, secret, err := access.New(name, scope, end)
	if err != nil {
		return err
	}
	t.Limits = c.limits
	if c.to == "" {
		_, err = fmt.Fprintf(c.streams.Out, "token: %s\nline for the file: %v\n", secret, t)
		return command.Failed(err)
	}
	if err := appendToken(c.to, t); err != nil {
		return command.Failed(err)
	}
	_, err = fmt.Fprintln(c.streams.Out, secret)
	return command.Failed(err)
}

// appendToken appends a token to a file, which may not exist. It refuses a file with a mistake or with a token of
// that name.
func appendToken(name string, t access.Token) error {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	line := t.String() + "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	if _, err := access.Parse(append(text, line...)); err != nil {
		return fmt.Errorf("%s, %w", name, err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// tokens returns the tokens of a configuration's file, and records each change; nil: there is no file.
func tokens(c *config.Config, env func(string) string, log *slog.Logger, trail *audit.Log) (func() []access.Token, error) {
	return c.Tokens(env, func(all []access.Token, err error) {
		if err != nil {
			log.Error("read tokens failed, the previous ones stay in force", "error", err.Error())
			return
		}
		names := make([]string, len(all))
		for i, t := range all {
			names[i] = t.Name + " " + t.Scope.String()
		}
		trail.Act(audit.Actor{From: "the file of tokens"}, "change tokens", "tokens", names)
	})
}
