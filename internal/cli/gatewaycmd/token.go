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
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// Token returns the command `token`.
func Token(s command.Streams) *cobra.Command {
	return group("token", "Make tokens for the clients of a gateway", "", tokenNew(s))
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
	limit := func(name, usage string, to *int) {
		f.Func(name, usage, func(text string) (err error) {
			if *to, err = strconv.Atoi(text); err != nil || *to < 1 {
				return errors.New("want a number above 0")
			}
			return nil
		})
	}
	limit("rpm", "at most `N` requests a minute (default no limit)", &c.limits.Requests)
	limit("tpm", "at most `N` tokens of models a minute (default no limit)", &c.limits.Tokens)
	limit("holds", "at most `N` requests that wait for their provider at a time (default no limit)", &c.limits.Holds)
	f.StringVar(&c.to, "append", "", "append the line to this `FILE`, and print the token alone")
	return cmd
}

type tokenCmd struct {
	streams            command.Streams
	scope, expires, to string
	limits             access.Limits
}

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

// appendToken appends a token to a file, which need not exist. It refuses a file with a mistake or with a token of
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

// tokens returns the tokens of a configuration's file and records each change; nil: there is no file.
func tokens(c *config.Config, env func(string) string, log *slog.Logger, trail *rest.AuditLog) (func() []access.Token, error) {
	return c.Tokens(env, func(all []access.Token, err error) {
		if err != nil {
			log.Error("read tokens failed, the previous ones stay in force", "error", err.Error())
			return
		}
		names := make([]string, len(all))
		for i, t := range all {
			names[i] = t.Name + " " + t.Scope.String()
		}
		trail.Act(rest.Actor{From: "the file of tokens"}, "change tokens", "tokens", names)
	})
}
