package sharing

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// limitsLast is how long it counts what another replica wants of a limit. The limit is used up also if that has gone.
const limitsLast = 200 * time.Second

// JoinLimits has the limits of an upstream, which the table knows by a name, be one with those of the other replicas.
// Another upstream that had the name before is not heard of any more. The returned function ends it.
func (s *Sharing) JoinLimits(upstream, name string, t *ratelimit.Table) (leave func()) {
	l := &limits{sharing: s, base: upstream, name: name, table: t}
	s.mu.Lock()
	maps.DeleteFunc(s.tables, func(_ string, old *limits) bool { return old.name == name && old.table == t })
	s.tables[upstream] = l
	s.mu.Unlock()
	t.Join(name, l)
	return func() {
		s.mu.Lock()
		if s.tables[upstream] == l {
			delete(s.tables, upstream)
		}
		s.mu.Unlock()
		t.Leave(name, l)
	}
}

// limits are those of one upstream. It implements ratelimit.Fleet.
type limits struct {
	sharing *Sharing
	base    string
	name    string // in the table
	table   *ratelimit.Table
}

// Put implements ratelimit.Fleet.
func (l *limits) Put(k ratelimit.Key, value []byte) {
	l.sharing.limits.Put(strings.Join([]string{l.base, k.Model, k.Credential}, "\t"), value, limitsLast)
}

// heardLimits takes in what the table of another replica has put.
func (s *Sharing) heardLimits(e fleet.Entry[json.RawMessage]) {
	of := strings.Split(e.Key, "\t")
	s.mu.Lock()
	l := s.tables[of[0]]
	s.mu.Unlock()
	if l != nil && len(of) == 3 {
		l.table.Hear(e.Owner, ratelimit.Key{Upstream: l.name, Model: of[1], Credential: of[2]}, e.Value, s.fleet.Clock.Now().Sub(e.At))
	}
}
