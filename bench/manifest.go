//go:build linux

package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

//go:embed peers/*.yaml
var peerFiles embed.FS

// manifest says how another proxy is installed, started and asked. Its texts are templates over place.
type manifest struct {
	Name    string            `yaml:"name"`
	What    string            `yaml:"what"`    // what it does of a gateway's duties
	Needs   []string          `yaml:"needs"`   // programs, or files by their whole path
	Install string            `yaml:"install"` // the command that gets them
	Version string            `yaml:"version"` // the command that prints it, or ""
	Files   map[string]string `yaml:"files"`   // of its configuration, written into its folder
	Command string            `yaml:"command"`
	Headers []string          `yaml:"headers"` // of the requests to it
	Links   []peer.Link       `yaml:"links"`   // that it speaks to upstreams
	Without []string          `yaml:"without"` // rows that it cannot do
}

type place struct {
	Host, Port   string    // where it listens
	Upstream     string    // the provider's URL, without a path
	UpstreamAddr string    // host:port of it
	Link         peer.Link // how to speak to it
	CA           string    // the file with its authority
	Folder       string    // for its files
	Cache        string    // where people install what is not of their system
	Bench        string    // this program
}

// manifests reads the named peers: all that come with the benchmark, some of them, or files.
func manifests(names []string) (all []manifest, err error) {
	if len(names) == 0 {
		entries, err := peerFiles.ReadDir("peers")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
		}
	}
	for _, name := range names {
		text, err := peerFiles.ReadFile("peers/" + name + ".yaml")
		if errors.Is(err, os.ErrNotExist) {
			text, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, fmt.Errorf("peer %s: %w", name, err)
		}
		var m manifest
		if err := yaml.UnmarshalWithOptions(text, &m, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("peer %s: %w", name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func cacheFolder() string {
	c, err := os.UserCacheDir()
	if err != nil {
		c = os.TempDir()
	}
	return filepath.Join(c, "ridethrough-bench")
}

// missing returns what has to be installed first, or "".
func (m manifest) missing() string {
	for _, need := range m.Needs {
		need, err := filled(need, place{Cache: cacheFolder()})
		if err == nil {
			_, err = exec.LookPath(need)
			if strings.Contains(need, "/") {
				_, err = os.Stat(need)
			}
		}
		if err != nil {
			return need
		}
	}
	return ""
}

// takes reports whether the peer supports a row over a link.
func (m manifest) takes(row string, link peer.Link) bool {
	return slices.Contains(m.Links, link) && !slices.Contains(m.Without, row)
}

func (m manifest) command(p place) ([]string, error) {
	for name, text := range m.Files {
		text, err := filled(text, p)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(p.Folder, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	line, err := filled(m.Command, p)
	return strings.Fields(line), err
}

func (m manifest) headers(p place) (all []string, err error) {
	for _, h := range m.Headers {
		h, err := filled(h, p)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// version is the first line of the peer's version output.
func (m manifest) version() string {
	line, err := filled(m.Version, place{Cache: cacheFolder()})
	argv := strings.Fields(line)
	if err != nil || len(argv) == 0 {
		return ""
	}
	text, _ := exec.Command(argv[0], argv[1:]...).CombinedOutput() // some say it with exit code 1
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return first
}

func filled(text string, p place) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.String(), err
}

func placeOf(addr, upstream string, link peer.Link, folder string) place {
	host, port, _ := net.SplitHostPort(addr) // a free port of loopback
	_, to, _ := strings.Cut(upstream, "://")
	self, _ := os.Executable() // without it the peer does not start, and says so
	return place{
		Host: host, Port: port, Upstream: upstream, UpstreamAddr: to, Link: link,
		CA: filepath.Join(filepath.Dir(folder), peer.CertificateFile), Folder: folder, Cache: cacheFolder(), Bench: self,
	}
}
