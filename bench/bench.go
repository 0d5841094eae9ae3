//go:build linux

package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

const module = "github.com/ridethrough/ridethrough"

type bench struct {
	quick bool
	ours  string // the binary that is measured

	baseline string // a copy of this binary, which shares no memory with it
	root     string // of the repository

	peers   []manifest // other proxies, that are measured beside it
	load    string     // of the machine before the run
	began   time.Time  // of the first row
	version string     // of ours

	cores  Cores  // that the run may use
	folder string // for what the run needs
	book   *load.Book

	mu      sync.Mutex
	running []*Process
}

// row is one experiment with one or more figures.
type row struct {
	name  string
	long  bool // a quick run leaves it out, unless it is named
	alone bool // every run leaves it out, unless it is named
	run   func(context.Context, *bench) ([]figure.Figure, error)
}

func rowNames() []string {
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return names
}

// measure runs the rows one after the other. A row that fails does not end the run, but makes it fail.
func (b *bench) measure(ctx context.Context, only []string) (figures []figure.Figure, err error) {
	for _, name := range only {
		if !slices.Contains(rowNames(), name) {
			return nil, fmt.Errorf("no row is named %q; there are %s", name, strings.Join(rowNames(), ", "))
		}
	}
	if b.folder, err = os.MkdirTemp("", "ridethrough-bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.folder)
	b.load = loadAverage()
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	b.began = time.Now()
	defer context.AfterFunc(ctx, b.stopAll)() // all clients fail at once, and the row ends
	defer b.stopAll()
	fmt.Fprintf(os.Stderr, "%s, %d CPUs, load %s\n", runtime.Version(), runtime.NumCPU(), b.load)
	for _, r := range rows() {
		if len(only) > 0 && !slices.Contains(only, r.name) || len(only) == 0 && (r.alone || r.long && b.quick) {
			continue
		}
		began := time.Now()
		found, failed := r.run(ctx, b)
		if ctx.Err() != nil {
			return figures, context.Cause(ctx)
		}
		fmt.Fprintf(os.Stderr, "%s: %v, load %s\n", r.name, time.Since(began).Round(time.Second), loadAverage())
		for i := range found {
			found[i].Row = r.name
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, failed))
			found = append(found, figure.Figure{Row: r.name, Name: "failed", Goal: figure.AtMost(0), Notes: []string{failed.Error()}})
		}
		figures = append(figures, found...)
	}
	return figures, err
}

func (b *bench) prepare(ctx context.Context) (err error) {
	if b.cores, err = AllCores(); err != nil {
		return err
	}
	if err := peer.WriteCertificate(b.folder); err != nil {
		return err
	}
	b.book = load.NewBook(1)
	return b.programs(ctx)
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func pick[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

// programs makes the binaries that are measured: what no flag has named is built as a release is.
func (b *bench) programs(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	b.baseline = filepath.Join(b.folder, "baseline")
	if err := os.WriteFile(b.baseline, program, 0o755); err != nil {
		return err
	}
	if b.root, err = output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)); err != nil {
		return err
	}
	if b.ours == "" {
		if _, err := output(exec.CommandContext(ctx, filepath.Join(b.root, "scripts", "programs"), b.folder)); err != nil {
			return err
		}
		b.ours = filepath.Join(b.folder, "ridethrough")
	}
	info, err := buildinfo.ReadFile(b.ours)
	if err != nil {
		return err
	}
	b.version = info.Main.Version
	return nil
}

func output(cmd *exec.Cmd) (string, error) {
	text, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s%s", err, text, failed.Stderr)
		}
	}
	return strings.TrimSpace(string(text)), err
}
