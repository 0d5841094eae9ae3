package conversation

import (
	"sync"
	"time"
)

// A runner remembers a given number of conversations, so that it only has to read what is new in them, and some bytes of the
// images in them.
const (
	cached      = 256
	cachedBytes = 128 << 20
)

// cache holds conversations that are not in use. A caller of take has one for itself until it calls put.
type cache struct {
	mu   sync.Mutex
	logs map[string]*log
	size int // of the images in them, in bytes
}

// take takes a conversation out; one that is not there is a blank one.
func (c *cache) take(id string) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.logs[id]
	if l == nil {
		return &log{id: id}
	}
	c.drop(id)
	return l
}

// drop forgets a conversation.
func (c *cache) drop(id string) {
	if l := c.logs[id]; l != nil {
		c.size -= l.size
		delete(c.logs, id)
	}
}

// paused returns since when a conversation is paused, zero if it is not; false: it is not known here.
func (c *cache) paused(id string) (since time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.logs[id]; l != nil {
		return l.paused, true
	}
	return since, false
}

// put puts one back, unless it is untrue. Where there is no room, some other one goes.
func (c *cache) put(l *log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.logs[l.id]; l.untrue || l.size > cachedBytes || there != nil && there.at.N >= l.at.N {
		return
	}
	c.drop(l.id)
	for id := range c.logs {
		if len(c.logs) < cached && c.size+l.size <= cachedBytes {
			break
		}
		c.drop(id)
	}
	c.logs[l.id] = l
	c.size += l.size
}
