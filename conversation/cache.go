package conversation

import "sync"

// cached is how many conversations a runner remembers, so that it only has to read what is new in them.
const cached = 256

// cache holds conversations that are not in use. A caller of take has one for itself until it calls put.
type cache struct {
	mu   sync.Mutex
	logs map[string]*log
}

// take takes a conversation out; one that is not there is a blank one.
func (c *cache) take(id string) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.logs[id]
	if l == nil {
		return &log{id: id}
	}
	delete(c.logs, id)
	return l
}

// put puts one back. Where there is no room, some other one goes.
func (c *cache) put(l *log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		c.logs = map[string]*log{}
	}
	for id := range c.logs {
		if len(c.logs) < cached {
			break
		}
		delete(c.logs, id)
	}
	if there := c.logs[l.id]; there == nil || there.at.N < l.at.N {
		c.logs[l.id] = l
	}
}
