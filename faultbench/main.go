// Command faultbench checks a gateway against the contract that Claude Code has with one
// (https://code.claude.com/docs/en/llm-gateway-protocol): which bytes must reach the provider unchanged, and which must come
// back unchanged, and how soon.
//
// Most of that shows only to a provider. So the command plays the provider, if the gateway's upstream can be set to
// where it listens. Otherwise it makes the few checks that a real provider's answers show, and without a key only
// those that cost nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is a call of the program. It returns the exit code: 1 if a check has failed or could not be made, 2 if
// the command line is wrong.
func command(ctx context.Context, args []string, out, errs io.Writer) int {
	c := call{Options: Options{Header: http.Header{}}, show: printCheck(out)}
	err := c.read(args, out, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "faultbench:", err)
		return 2
	}
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(errs, "faultbench:", err)
		return 1
	}
	return 0
}

// call is what the command line asks for.
type call struct {
	Options
	base     string // of the gateway
	provider string // the address where the provider is played; "": the gateway keeps its own
	show     func(Result) error
}

// read reads the command line.
func (c *call) read(args []string, out, errs io.Writer) error {
	f := flag.NewFlagSet("faultbench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Usage = func() {
		fmt.Fprintln(errs, "usage: go run -C faultbench . [flags] URL")
		f.PrintDefaults()
	}
	f.StringVar(&c.provider, "provider", "", "play the provider at this `address`, such as 127.0.0.1:9000, to which the gateway's upstream is set")
	f.StringVar(&c.Model, "model", DefaultModel, "the `model` that requests ask for")
	f.BoolFunc("json", "print one JSON object per check", func(string) error { c.show = encodeCheck(out); return nil })
	f.Func("header", "a header of every request as '`Name: value`', such as the gateway's own token; repeatable", c.header)
	f.Func("key-env", "the `variable` with a key for the gateway's own provider; checks then cost a few tokens", func(name string) error {
		if c.Key = os.Getenv(name); c.Key == "" {
			return errors.New("the variable is empty")
		}
		return nil
	})
	if err := f.Parse(args); err != nil {
		return err
	}
	u, err := url.Parse(f.Arg(0))
	switch {
	case f.NArg() != 1 || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != "":
		return fmt.Errorf("%q: want the base URL of a gateway behind the flags, such as http://127.0.0.1:8484", f.Args())
	case c.Key != "" && c.provider != "":
		return errors.New("--provider and --key-env do not go together: the played provider takes any key")
	}
	c.base = f.Arg(0)
	return nil
}

func (c *call) header(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
		return errors.New("want 'Name: value'")
	}
	c.Header.Add(name, strings.TrimSpace(value))
	return nil
}

// run makes the checks and prints each when it has been made.
func (c *call) run(ctx context.Context) (err error) {
	if c.provider != "" {
		if c.Provider, err = net.Listen("tcp", c.provider); err != nil {
			return fmt.Errorf("play the provider: %w", err)
		}
	}
	count, all := map[Status]int{}, 0
	for r := range Run(ctx, c.base, c.Options) {
		if err := c.show(r); err != nil {
			return err
		}
		count[r.Status]++
		all++
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case count[Fails] > 0:
		return fmt.Errorf("%d of %d checks fail, %d could not be made", count[Fails], all, count[NotChecked])
	case count[NotChecked] > 0:
		return fmt.Errorf("no check fails, and %d of %d could not be made", count[NotChecked], all)
	}
	return nil
}

// encodeCheck prints results as JSON.
func encodeCheck(w io.Writer) func(Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return func(r Result) error { return e.Encode(r) }
}

// printCheck prints results for people: a line each, and below a failed one what was asked for and what follows.
func printCheck(w io.Writer) func(Result) error {
	return func(r Result) error {
		line := fmt.Sprintf("%-12s %-18s %s", r.Status, r.Check, r.Reason)
		if r.Status == Fails {
			line += fmt.Sprintf("\n%32swanted: %s\n%32sclient: %s", "", r.About, "", r.Client)
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
		return err
	}
}
