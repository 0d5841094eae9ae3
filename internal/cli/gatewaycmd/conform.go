package gatewaycmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/conform"
)

// conformHelp describes the command and its three ways to check.
const conformHelp = "conform checks any gateway against the contract that Claude Code has with one: which headers and fields\n" +
	"must reach the provider, that errors and events come back as they were sent, and how soon.\n\n" +
	"  --provider ADDR   conform plays the provider at ADDR, and everything is checked. Set the gateway's upstream\n" +
	"                    to http://ADDR first. No request leaves for a real provider.\n" +
	"  --key-env NAME    the gateway keeps its provider, and the variable NAME has a key for it. Checks what a\n" +
	"                    provider's answers show, for one short answer's tokens.\n" +
	"  neither           only what is free: nothing that a provider would answer is asked for.\n\n" +
	"The exit code is 0 if every check was made and passed. The contract:\n" +
	"https://code.claude.com/docs/en/llm-gateway-protocol"

// Conform returns the command `conform`.
func Conform(s command.Streams) *cobra.Command {
	c := &conformCmd{}
	cmd := &cobra.Command{
		Use:   "conform URL",
		Short: "Check a gateway against Claude Code's gateway contract",
		Long:  conformHelp,
		Example: "  ridethrough serve --listen 127.0.0.1:8484 --upstream anthropic=http://127.0.0.1:9000 &\n" +
			"  ridethrough conform http://127.0.0.1:8484 --provider 127.0.0.1:9000\n\n" +
			"  ridethrough conform https://gateway.example --key-env ANTHROPIC_API_KEY --header 'X-Team: search'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			base, options, err := c.read(s, args[0])
			if err != nil {
				return err
			}
			if c.provider != "" {
				if options.Provider, err = net.Listen("tcp", c.provider); err != nil {
					return command.Failed(fmt.Errorf("play the provider: %w", err))
				}
			}
			return command.Failed(c.run(cmd.Context(), s, base, options))
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.provider, "provider", "", "play the provider at this address, such as 127.0.0.1:9000, to which the gateway's upstream is set")
	f.StringVar(&c.keyEnv, "key-env", "", "the environment variable with a key for the gateway's own provider; checks then cost a few tokens")
	f.StringArrayVar(&c.headers, "header", nil, "a header of every request as 'Name: value', such as the gateway's own token; repeatable")
	f.StringVar(&c.model, "model", conform.DefaultModel, "the model that requests ask for")
	f.BoolVar(&c.json, "json", false, "print one JSON object per check")
	cmd.MarkFlagsMutuallyExclusive("provider", "key-env")
	return cmd
}

// conformCmd is a call of `conform`.
type conformCmd struct {
	provider, keyEnv, model string
	headers                 []string
	json                    bool
}

// read reads the argument and the flags.
func (c *conformCmd) read(s command.Streams, arg string) (base string, o conform.Options, err error) {
	u, err := url.Parse(arg)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != "" {
		return "", o, fmt.Errorf("%q: want the base URL of a gateway, such as http://127.0.0.1:8484", arg)
	}
	o = conform.Options{Header: http.Header{}, Model: c.model}
	for _, h := range c.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return "", o, fmt.Errorf("--header %q: want 'Name: value'", name)
		}
		o.Header.Add(name, strings.TrimSpace(value))
	}
	if c.keyEnv != "" {
		if o.Key = s.Env(c.keyEnv); o.Key == "" {
			return "", o, command.Misconfigured(c.keyEnv, errors.New("is empty; --key-env names it as the key"))
		}
	}
	return arg, o, nil
}

// run makes the checks and prints each when it has been made.
func (c *conformCmd) run(ctx context.Context, s command.Streams, base string, o conform.Options) error {
	show := printCheck(command.Text(s.Out))
	if c.json {
		show = encodeCheck(command.JSON(s.Out))
	}
	count, all := map[conform.Status]int{}, 0
	for r := range conform.Run(ctx, base, o) {
		if err := show(r); err != nil {
			return err
		}
		count[r.Status]++
		all++
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case count[conform.Fails] > 0:
		return fmt.Errorf("%d of %d checks fail, %d could not be made", count[conform.Fails], all, count[conform.NotChecked])
	case count[conform.NotChecked] > 0:
		return fmt.Errorf("no check fails, and %d of %d could not be made", count[conform.NotChecked], all)
	}
	return nil
}

// encodeCheck prints results as JSON.
func encodeCheck(w io.Writer) func(conform.Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return func(r conform.Result) error { return e.Encode(r) }
}

// printCheck prints results for people: a line each, and below a failed one what was asked for and what follows.
func printCheck(w io.Writer) func(conform.Result) error {
	return func(r conform.Result) error {
		line := fmt.Sprintf("%-12s %-18s %s", r.Status, r.Check, r.Reason)
		if r.Status == conform.Fails {
			line += fmt.Sprintf("\n%32swanted: %s\n%32sclient: %s", "", r.About, "", r.Client)
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
		return err
	}
}
