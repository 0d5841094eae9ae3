package responses

import (
	"encoding/json"
	"net/http"
	"slices"
)

// Bounds of what a connection keeps of its responses.
const (
	maxChains  = 8
	chainBound = 32 << 20 // bytes of one chain
)

// chain is the items of a response and of all before it: what the API keeps on a connection.
type chain struct {
	items []json.RawMessage
	size  int  // bytes of the items
	own   bool // the items are all there is; false: the provider knows the response before
	held  int  // of the budget, while it is kept
}

// add appends an item.
func (c *chain) add(item json.RawMessage) {
	c.items = append(c.items, slices.Clone(item))
	c.size += len(item)
}

// chains holds the latest responses of a connection by id.
type chains struct {
	budget Budget
	ids    []string // the oldest first
	known  map[string]*chain
}

// extend returns the chain of a request: its items behind those of the response that it continues. A response
// that was not on this connection is the provider's to know, if the request lets it keep responses; else the
// client has to send everything again.
func (cs *chains) extend(req request) (*chain, *problem) {
	c := &chain{own: true}
	if req.previous != "" {
		before := cs.known[req.previous]
		stores := string(req.fields["store"]) != "false"
		switch {
		case before != nil:
			c.items, c.size, c.own = slices.Clip(before.items), before.size, before.own
		case stores:
			c.own = false
		default:
			return nil, problemf(http.StatusBadRequest, "previous_response_not_found", "Previous response with id %.80q not found.", req.previous)
		}
	}
	for _, item := range req.items {
		c.add(item)
	}
	return c, nil
}

// keep remembers the chain of a finished response if the budget has room for it, and returns its id.
func (cs *chains) keep(id string, c *chain) string {
	if id == "" || !c.own || c.size > chainBound || cs.known[id] != nil {
		return id
	}
	for !cs.budget.Reserve(int64(c.size), true) {
		if len(cs.ids) == 0 {
			return id // a client that continues it is asked to send everything again
		}
		cs.dropOldest()
	}
	if cs.known == nil {
		cs.known = make(map[string]*chain)
	}
	c.held = c.size
	cs.known[id] = c
	if cs.ids = append(cs.ids, id); len(cs.ids) > maxChains {
		cs.dropOldest()
	}
	return id
}

// dropOldest forgets the oldest chain.
func (cs *chains) dropOldest() {
	cs.budget.Return(int64(cs.known[cs.ids[0]].held))
	delete(cs.known, cs.ids[0])
	cs.ids = cs.ids[1:]
}

// release forgets all chains.
func (cs *chains) release() {
	for len(cs.ids) > 0 {
		cs.dropOldest()
	}
}
