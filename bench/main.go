//go:build linux

// Command bench measures what the gateway costs, next to the proxy that one
// writes with the standard library, and holds it against gates and goals:
//
//	go run ./bench -quick
//
// Everything runs on this machine, each part in a process of its own, whose
// processor time and memory the kernel accounts for. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

// longest is how long a run takes at the most, whatever happens.
const longest = 30 * time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the benchmark, or one of the processes that it starts.
func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "upstream":
		return upstream(args[1])
	case len(args) == 3 && args[0] == "baseline":
		return proxy(peer.Baseline, args[1], args[2])
	case len(args) == 3 && args[0] == "sketch":
		return proxy(peer.Sketch, args[1], args[2])
	}
	b, only, asJSON, err := flags(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	context.AfterFunc(ctx, stop) // a second signal ends us as we stand
	figures, err := b.measure(ctx, only)
	show := figure.Table
	if asJSON {
		show = figure.JSON
	}
	return errors.Join(show(os.Stdout, figures), err)
}

// flags reads the command line.
func flags(args []string) (b *bench, only []string, asJSON bool, err error) {
	b = &bench{}
	var names string
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	f.BoolVar(&b.quick, "quick", false, "fewer and shorter rounds, without the two longest rows: a minute and a half instead of nine")
	f.StringVar(&names, "only", "", "rows to measure, separated by commas: "+strings.Join(rowNames(), ", "))
	f.BoolVar(&asJSON, "json", false, "write one JSON object for each figure")
	f.StringVar(&b.ours, "ours", "", "a ridethrough `binary` to measure; default: it is built")
	f.StringVar(&b.peer, "peer", "", "another proxy in the place of the baseline: a `command` with {host}, {port} and {upstream}")
	f.Func("peer-header", "a `header` of the requests to it, with {upstream}; may be repeated", func(h string) error {
		b.peerHeaders = append(b.peerHeaders, h)
		return nil
	})
	f.StringVar(&b.profile, "profile", "", "write profiles of ours (ROW.cpu, ROW.heap) into this `folder`; its figures get worse by that")
	if err := f.Parse(args); err != nil {
		return nil, nil, false, err
	}
	if f.NArg() > 0 {
		return nil, nil, false, fmt.Errorf("%q: there are only flags", f.Arg(0))
	}
	if names != "" {
		only = strings.Split(names, ",")
	}
	return b, only, asJSON, nil
}

// upstream is the process that plays the provider.
func upstream(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return peer.NewUpstream().Serve(l)
}

// proxy is the process that we are compared with.
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
