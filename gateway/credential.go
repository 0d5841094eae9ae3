package gateway

import (
	"net/http"
	"net/url"
	"sync"

	"github.com/ridethrough/ridethrough/breaker"
)

// commonCredentials has the common names of credentials by their names in this process, which take half the time.
type commonCredentials struct {
	mu    sync.RWMutex
	names map[string]string
}

// maxCredentials is how many credentials have their common name at hand.
const maxCredentials = 4096

// of is [breaker.CommonCredential].
func (c *commonCredentials) of(h http.Header, u *url.URL) string {
	own := breaker.Credential(h, u)
	c.mu.RLock()
	name := c.names[own]
	c.mu.RUnlock()
	if name != "" {
		return name
	}
	name = breaker.CommonCredential(h, u)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil || len(c.names) >= maxCredentials {
		c.names = map[string]string{}
	}
	c.names[own] = name
	return name
}
