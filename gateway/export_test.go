package gateway

import (
	"net/http"
	"net/url"
)

// LoseSpool loses what is on disk.
func (g *Gateway) LoseSpool() error { return g.spool.File().Truncate(0) }

// Caches returns how many prompt caches are known.
func (g *Gateway) Caches() int {
	g.caches.mu.Lock()
	defer g.caches.mu.Unlock()
	return len(g.caches.all)
}

// Left returns what requests leave behind in a gateway: shared requests, requests
// that wait, and bytes of their bodies in memory and on disk.
func (g *Gateway) Left() (shared, waits int, memory, disk int64) {
	memory, disk = g.spool.Used()
	return len(g.outcomes.running()), len(g.Waits()), memory, disk
}

// CommonCredentials returns how a fleet's gateway names credentials, and how many names it keeps.
func CommonCredentials() (of func(http.Header, *url.URL) string, kept func() int) {
	c := new(commonCredentials)
	return c.of, func() int { return len(c.names) }
}
