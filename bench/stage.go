//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
	"github.com/ridethrough/ridethrough/bench/internal/proc"
)

// setup is how the processes of a row are set up.
type setup struct {
	policy string    // of ours; "": patient
	link   peer.Link // to the upstream; "": plain
	free   bool      // the proxies have every processor; else they share one, and the rest of the row has the others
	page   bool      // a browser has the page open
	memory bool      // a profile is to show what little each request holds, which takes time of the processor
}

// stage has the processes of one row, or of one of its rounds.
type stage struct {
	bench                    *bench
	row                      string
	upstream, ours, baseline *proc.Process
	peers                    []*proc.Process
	headers                  map[*proc.Process][]string // of the requests to a peer
	pages                    []io.Closer
}

// stage starts the processes that are named: "ours", "baseline", "peers". The upstream is always there.
func (b *bench) stage(row string, u setup, proxies ...string) (s *stage, err error) {
	if u.link == "" {
		u.link = peer.Plain
	}
	s = &stage{bench: b, row: row, headers: map[*proc.Process][]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	behind, err := proc.Free() // the address that the proxies know
	if err != nil {
		return nil, err
	}
	ours, others := b.cores, b.cores
	if !u.free && len(b.cores) > 1 {
		ours, others = b.cores[:1], b.cores[1:]
	}
	if err := others.Keep(); err != nil {
		return nil, err
	}
	s.upstream, err = b.start("upstream", others, func(addr string) ([]string, error) {
		return []string{self, "upstream", addr, behind, string(u.link), b.folder}, nil
	})
	if err != nil {
		return nil, err
	}
	url := u.link.Scheme() + "://" + behind
	if slices.Contains(proxies, "baseline") {
		s.baseline, err = b.start("baseline", ours, func(addr string) ([]string, error) {
			return []string{b.baseline, "baseline", addr, url}, nil
		})
	}
	if err == nil && slices.Contains(proxies, "peers") {
		err = s.startPeers(url, u, ours)
	}
	if err == nil && slices.Contains(proxies, "ours") {
		err = s.startOurs(url, u, ours)
	}
	return s, err
}

// startOurs starts ours as a person does who has read the README: with all defaults, and a folder for its data.
func (s *stage) startOurs(url string, u setup, cores proc.Cores) (err error) {
	b := s.bench
	data, err := os.MkdirTemp(b.folder, "data-")
	if err != nil {
		return err
	}
	policy := cmp.Or(u.policy, "patient")
	s.ours, err = b.start("ours", cores, func(addr string) ([]string, error) {
		argv := []string{b.ours}
		if b.profile != "" {
			argv = append(argv, filepath.Join(b.profile, s.row), strconv.Itoa(u.sampleEvery()))
		}
		return append(argv, "serve", "--listen", addr, "--upstream", "openai="+url+"/v1", "--policy", policy, "--data", data), nil
	})
	if err != nil {
		return err
	}
	return s.openPage(u, s.ours)
}

// sampleEvery returns how many bytes are allocated between two samples of a profile of the memory; 0: Go's own.
func (u setup) sampleEvery() int {
	if u.memory {
		return 4 << 10
	}
	return 0
}

// startPeers starts every peer that can do the row.
func (s *stage) startPeers(url string, u setup, cores proc.Cores) error {
	for _, m := range s.bench.peers {
		if !m.takes(s.row, u.link) {
			continue
		}
		folder, err := os.MkdirTemp(s.bench.folder, "peer-")
		if err != nil {
			return err
		}
		var at place
		p, err := s.bench.start(m.Name, cores, func(addr string) ([]string, error) {
			at = placeOf(addr, url, u.link, folder)
			at.Program = m.program
			return m.command(at)
		})
		if err != nil {
			return err
		}
		s.peers = append(s.peers, p)
		if s.headers[p], err = m.headers(at); err != nil {
			return err
		}
		if m.Build == "" {
			continue
		}
		if err := s.openPage(u, p); err != nil {
			return err
		}
	}
	return nil
}

// sides are the proxies that a row compares: ours, the baseline, and the peers that can do it.
func (s *stage) sides() []*proc.Process {
	return append([]*proc.Process{s.ours, s.baseline}, s.peers...)
}

// openPage reads what the page of a process of ours reads, until the stage is closed, where the row wants that.
func (s *stage) openPage(u setup, p *proc.Process) error {
	if !u.page {
		return nil
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+p.Addr+"/-/live", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the page's events: %s", resp.Status), resp.Body.Close())
	}
	go func() { _, _ = io.Copy(io.Discard, resp.Body) }() // until it is closed
	s.pages = append(s.pages, resp.Body)
	return nil
}

// start starts a process on a free port.
func (b *bench) start(name string, cores proc.Cores, argv func(addr string) ([]string, error)) (*proc.Process, error) {
	addr, err := proc.Free()
	if err != nil {
		return nil, err
	}
	words, err := argv(addr)
	if err != nil {
		return nil, err
	}
	ca := filepath.Join(b.folder, peer.CertificateFile)
	p, err := proc.Start(proc.Program{
		Name: name, Addr: addr, Folder: b.folder, Argv: words, Cores: cores,
		Env: []string{"SSL_CERT_FILE=" + ca, "NODE_EXTRA_CA_CERTS=" + ca},
	})
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
	for _, page := range s.pages {
		errs = append(errs, page.Close())
	}
	for _, p := range append(s.sides(), s.upstream) {
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
	a.Headers = s.headers[p]
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
func (s *stage) forget() error { return s.tell(peer.CountsPath) }

// recover makes the upstream answer what it has refused.
func (s *stage) recover() error { return s.tell(peer.RecoverPath) }

func (s *stage) tell(path string) error {
	resp, err := http.Post("http://"+s.upstream.Addr+path, "application/json", strings.NewReader("{}"))
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
