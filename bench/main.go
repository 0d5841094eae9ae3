//go:build linux

// Command bench measures what the gateway costs, next to the proxy that one
// writes with the standard library, and holds it against gates and goals:
//
//	go run -C bench . -quick
//
// Everything runs on this machine, each part in a process of its own, whose
// processor time and memory the kernel accounts for. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
	"github.com/ridethrough/ridethrough/internal/text"
)

const (
	longest      = time.Hour
	longestQuick = 20 * time.Minute
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 5 && args[0] == "upstream":
		return upstream(args[1], args[2], peer.Link(args[3]), args[4])
	case len(args) == 3 && args[0] == "baseline":
		return proxy(peer.Baseline, args[1], args[2])
	case len(args) == 3 && args[0] == "sketch":
		return proxy(peer.Sketch, args[1], args[2])
	}
	b, c, err := flags(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, pick(b, longest, longestQuick))
	defer cancel()
	context.AfterFunc(ctx, stop) // a second signal ends us as we stand
	figures, err := b.measure(ctx, c.only)
	if err := errors.Join(c.show(os.Stdout, figures), err); err != nil {
		return err
	}
	return c.page.fill(b.about(), figures)
}

type choice struct {
	only []string // rows; nil: all
	show func(io.Writer, []figure.Figure) error
	page page
}

func flags(args []string) (*bench, choice, error) {
	b, c := &bench{}, choice{show: figure.Table}
	var names string
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	f.BoolVar(&b.quick, "quick", false, "fewer and shorter rounds, without the longest rows: five minutes instead of twenty")
	f.StringVar(&names, "only", "", "rows to measure, separated by commas: "+strings.Join(rowNames(), ", "))
	f.BoolFunc("json", "write one JSON object for each figure", func(string) error { c.show = figure.JSON; return nil })
	f.BoolFunc("markdown", "write a table for a page", func(string) error {
		c.show = func(w io.Writer, figures []figure.Figure) error { return figure.Markdown(w, figures) }
		return nil
	})
	f.StringVar((*string)(&c.page), "page", "", "measure the rows that this `file` shows, with all peers, and write them into its tables")
	f.StringVar(&b.ours, "ours", "", "a ridethrough `binary` to measure; default: it is built")
	var beside bool
	var peers []string
	f.BoolFunc("peers", "measure other proxies too: all that are installed, or =`names` of them or of files, separated by commas", func(value string) error {
		if beside = value != "false"; beside && value != "true" {
			peers = strings.Split(value, ",")
		}
		return nil
	})
	if err := f.Parse(args); err != nil {
		return nil, c, err
	}
	if f.NArg() > 0 {
		return nil, c, fmt.Errorf("%q: there are only flags", f.Arg(0))
	}
	if names != "" {
		c.only = strings.Split(names, ",")
	}
	var err error
	if c.only, err = c.page.rows(c.only); err != nil {
		return nil, c, err
	}
	if beside || c.page != "" {
		b.peers, err = installed(peers)
	}
	return b, c, err
}

// installed returns the peers of these names that are installed, or all that are. It is an error if a named one is
// not.
func installed(names []string) (there []manifest, err error) {
	all, err := manifests(names)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		need := m.missing()
		switch {
		case need == "":
			fmt.Fprintln(os.Stderr, strings.TrimSpace(fmt.Sprintf("%s: %s. %s", m.Name, m.What, m.version())))
			there = append(there, m)
		case len(names) > 0:
			return nil, fmt.Errorf("peer %s: there is no %s; install it with: %s", m.Name, need, m.Install)
		default:
			fmt.Fprintf(os.Stderr, "%s is left out: there is no %s; install it with: %s\n", m.Name, need, m.Install)
		}
	}
	return there, nil
}

// upstream is the process that plays the provider. The benchmark reaches it at the first address without TLS, the
// proxies at the second over the link.
func upstream(addr, behind string, link peer.Link, folder string) error {
	u := peer.NewUpstream()
	second, err := net.Listen("tcp", behind)
	if err != nil {
		return err
	}
	first, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- u.ServeOver(peer.Plain, first, folder) }()
	go func() { ended <- u.ServeOver(link, second, folder) }()
	return <-ended
}

func proxy(handler func(*url.URL) http.Handler, addr, to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return (&http.Server{Handler: handler(u), ReadHeaderTimeout: 30 * time.Second}).Serve(l)
}

type page string

// rows are those that the page shows, and the others that were asked for.
func (p page) rows(only []string) ([]string, error) {
	if p == "" {
		return only, nil
	}
	text, err := os.ReadFile(string(p))
	if err != nil {
		return nil, err
	}
	shown, err := figure.PageRows(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return slices.Compact(slices.Sorted(slices.Values(append(shown, only...)))), nil
}

func (p page) fill(about string, figures []figure.Figure) error {
	if p == "" {
		return nil
	}
	text, err := os.ReadFile(string(p))
	if err != nil {
		return err
	}
	filled, err := figure.FillPage(string(text), about, figures)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return os.WriteFile(string(p), []byte(filled), 0o644)
}

func (b *bench) about() string {
	about := fmt.Sprintf("One run of %.0f minutes on %s, by %s on %d processors, with a load of %s before it. ridethrough is %s",
		time.Since(b.began).Minutes(), b.began.Format("2 January 2006"), runtime.Version(), runtime.NumCPU(), b.load, b.version)
	for _, m := range b.peers {
		if v := m.version(); v != "" {
			about += ", " + m.Name + " “" + v + "”"
		}
	}
	return text.Wrap(about+".", text.Columns)
}
