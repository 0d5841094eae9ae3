//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

type setup struct {
	policy string    // of ours; "": patient
	link   peer.Link // to the upstream; "": plain
	free   bool      // the proxies have every processor; else they share one, and the rest of the row has the others
	page   bool      // a browser has the page open
}

// stage holds the processes of one row, or of one of its rounds.
type stage struct {
	bench                    *bench
	row                      string
	upstream, ours, baseline *Process
	peers                    []*Process
	headers                  map[*Process][]string // of the requests to a peer
	pages                    []io.Closer
}

// stage starts the processes that are named: "ours", "baseline", "peers". The upstream is always there.
func (b *bench) stage(row string, u setup, proxies ...string) (s *stage, err error) {
	if u.link == "" {
		u.link = peer.Plain
	}
	s = &stage{bench: b, row: row, headers: map[*Process][]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	behind, err := FreeAddress() // the address that the proxies know
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

// startOurs starts ours as a reader of the README does: with all defaults, and a folder for its data.
func (s *stage) startOurs(url string, u setup, cores Cores) (err error) {
	b := s.bench
	data, err := os.MkdirTemp(b.folder, "data-")
	if err != nil {
		return err
	}
	policy := cmp.Or(u.policy, "patient")
	s.ours, err = b.start("ours", cores, func(addr string) ([]string, error) {
		return []string{b.ours, "serve", "--listen", addr, "--upstream", "openai=" + url + "/v1", "--policy", policy, "--data", data}, nil
	})
	if err != nil {
		return err
	}
	return s.openPage(u, s.ours)
}

func (s *stage) startPeers(url string, u setup, cores Cores) error {
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
			return m.command(at)
		})
		if err != nil {
			return err
		}
		s.peers = append(s.peers, p)
		if s.headers[p], err = m.headers(at); err != nil {
			return err
		}
	}
	return nil
}

// sides are the proxies that a row compares: ours, the baseline, and the peers that support it.
func (s *stage) sides() []*Process {
	return append([]*Process{s.ours, s.baseline}, s.peers...)
}

// openPage reads the same streams as the page of our process, until the stage is closed, where the row wants that.
func (s *stage) openPage(u setup, p *Process) error {
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

func (b *bench) start(name string, cores Cores, argv func(addr string) ([]string, error)) (*Process, error) {
	addr, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	words, err := argv(addr)
	if err != nil {
		return nil, err
	}
	ca := filepath.Join(b.folder, peer.CertificateFile)
	p, err := StartProcess(Program{
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

func (b *bench) stopAll() {
	b.mu.Lock()
	running := b.running
	b.running = nil
	b.mu.Unlock()
	for _, p := range running {
		_ = p.Stop() // what could be done about it has been done
	}
}

// close ends the stage's processes. It is an error if one has ended earlier.
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
		s.bench.running = slices.DeleteFunc(s.bench.running, func(q *Process) bool { return p == q })
		s.bench.mu.Unlock()
	}
	return errors.Join(errs...)
}

// requests writes n requests to a process, each with its own text.
func (s *stage) requests(p *Process, n int, a load.Ask) []*load.Request {
	a.Headers = s.headers[p]
	all := make([]*load.Request, n)
	for i := range all {
		all[i] = s.bench.book.Request(p.Addr, a)
	}
	return all
}

func (s *stage) counts() (c peer.Counts, err error) {
	resp, err := http.Get("http://" + s.upstream.Addr + peer.CountsPath)
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	return c, json.NewDecoder(resp.Body).Decode(&c)
}

func (s *stage) tell(path string) error {
	resp, err := http.Post("http://"+s.upstream.Addr+path, "application/json", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
