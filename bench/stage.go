//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
	"github.com/ridethrough/ridethrough/bench/internal/proc"
)

// stage has the processes of one row, or of one of its rounds.
type stage struct {
	bench                    *bench
	row                      string
	upstream, ours, baseline *proc.Process
}

// stage starts the processes that are named: "ours", "baseline". The upstream is always there.
func (b *bench) stage(row, policy string, proxies ...string) (*stage, error) {
	s := &stage{bench: b, row: row}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if s.upstream, err = b.start("upstream", func(addr string) []string { return []string{self, "upstream", addr} }); err != nil {
		return nil, err
	}
	url := "http://" + s.upstream.Addr
	if slices.Contains(proxies, "baseline") {
		s.baseline, err = b.start("baseline", func(addr string) []string {
			if b.peer != "" {
				return b.peerCommand(addr, url)
			}
			return []string{b.baseline, "baseline", addr, url}
		})
	}
	if err == nil && slices.Contains(proxies, "ours") {
		s.ours, err = b.start("ours", func(addr string) []string {
			argv := []string{b.ours}
			if b.profile != "" {
				argv = append(argv, filepath.Join(b.profile, row))
			}
			return append(argv, "serve", "--listen", addr, "--upstream", "openai="+url+"/v1", "--policy", policy, "--data", "none")
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start starts a process on a free port.
func (b *bench) start(name string, argv func(addr string) []string) (*proc.Process, error) {
	addr, err := proc.Free()
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(name, addr, b.folder, argv(addr)...)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = append(b.running, p)
	return p, nil
}

// stopAll ends every process that is still there.
func (b *bench) stopAll() {
	b.mu.Lock()
	running := b.running
	b.running = nil
	b.mu.Unlock()
	for _, p := range running {
		_ = p.Stop() // what could be done about it has been done
	}
}

// close ends the stage's processes. It is an error if one has ended before.
func (s *stage) close() error {
	var errs []error
	for _, p := range []*proc.Process{s.ours, s.baseline, s.upstream} {
		if p == nil {
			continue
		}
		errs = append(errs, p.Alive(), p.Stop())
		s.bench.mu.Lock()
		s.bench.running = slices.DeleteFunc(s.bench.running, func(q *proc.Process) bool { return p == q })
		s.bench.mu.Unlock()
	}
	return errors.Join(errs...)
}

// requests writes n requests to a process, each with text of its own.
func (s *stage) requests(p *proc.Process, n int, a load.Ask) []*load.Request {
	if p == s.baseline {
		a.Headers = s.bench.headersOfPeer("http://" + s.upstream.Addr)
	}
	all := make([]*load.Request, n)
	for i := range all {
		all[i] = s.bench.book.Request(p.Addr, a)
	}
	return all
}

// counts asks the upstream what it has seen.
func (s *stage) counts() (c peer.Counts, err error) {
	resp, err := http.Get("http://" + s.upstream.Addr + peer.CountsPath)
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	return c, json.NewDecoder(resp.Body).Decode(&c)
}

// forget makes the upstream count from nothing.
func (s *stage) forget() error {
	resp, err := http.Post("http://"+s.upstream.Addr+peer.CountsPath, "application/json", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// snapshot has ours write a profile of its memory, where profiles are wanted, and returns it the time.
func (s *stage) snapshot(ctx context.Context, p *proc.Process) error {
	if s.bench.profile == "" || p != s.ours {
		return nil
	}
	if err := p.Signal(syscall.SIGUSR1); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return pause(ctx, time.Second)
}
