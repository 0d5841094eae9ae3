package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// memory is an engine without a disk. It keeps what the others keep, in the
// same form. Its mutex guards everything.
type memory struct {
	mu      sync.Mutex
	closed  chan struct{}
	seq     uint64
	logs    map[string]*memoryLog
	ears    map[string]map[*ear]bool // by topic
	facts   map[string]*memoryFact
	changed chan struct{}            // closed and made anew when a fact changes
	parked  map[string]*memoryTicket // by turn
	offered map[string]time.Time     // by turn and key
	due     []*memoryTicket
	came    chan struct{} // closed and made anew when a ticket falls due
	held    map[*memoryClaim]bool
}

type memoryLog struct {
	entries [][]byte
	end     Position
	deleted bool
}

// Memory makes an engine that is gone with the process, for tests. It keeps no
// goroutine and goes by package time, so that in a bubble of testing/synctest
// its hours take no time.
func Memory() Store {
	return &memory{
		closed:  make(chan struct{}),
		logs:    map[string]*memoryLog{},
		ears:    map[string]map[*ear]bool{},
		facts:   map[string]*memoryFact{},
		changed: make(chan struct{}),
		parked:  map[string]*memoryTicket{},
		offered: map[string]time.Time{},
		came:    make(chan struct{}),
		held:    map[*memoryClaim]bool{},
	}
}

// enter locks the engine for somebody who has not left, if it is open.
func (m *memory) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	select {
	case <-m.closed:
		m.mu.Unlock()
		return ErrClosed
	default:
		return nil
	}
}

func (m *memory) Append(ctx context.Context, conversation string, at Position, records ...Record) (Position, error) {
	data, end, err := seal(conversation, at, records)
	if err != nil {
		return Position{}, err
	}
	if err := m.enter(ctx); err != nil {
		return Position{}, err
	}
	defer m.mu.Unlock()
	l := cmp.Or(m.logs[conversation], &memoryLog{})
	if l.deleted {
		return Position{}, ErrDeleted
	}
	if l.end != at {
		return Position{}, ErrConflict
	}
	m.seq++
	end.Seq = m.seq
	l.entries, l.end = append(l.entries, data), end
	m.logs[conversation] = l
	stored, _, err := unseal(conversation, at, data)
	m.tell(conversation, Message{Records: stored})
	return end, err
}

func (m *memory) Read(ctx context.Context, conversation string, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		entries, err := m.entries(ctx, conversation)
		if err != nil {
			yield(Record{}, err)
			return
		}
		var at Position
		for _, data := range entries {
			records, next, err := unseal(conversation, at, data)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range records {
				if r.N > after && !yield(r, nil) {
					return
				}
			}
			at = next
		}
	}
}

func (m *memory) entries(ctx context.Context, conversation string) ([][]byte, error) {
	l, err := m.log(ctx, conversation)
	return l.entries, err
}

func (m *memory) End(ctx context.Context, conversation string) (Position, error) {
	l, err := m.log(ctx, conversation)
	return l.end, err
}

// log gives a log as it is now.
func (m *memory) log(ctx context.Context, conversation string) (memoryLog, error) {
	if err := checkID("conversation", conversation); err != nil {
		return memoryLog{}, err
	}
	if err := m.enter(ctx); err != nil {
		return memoryLog{}, err
	}
	defer m.mu.Unlock()
	l := *cmp.Or(m.logs[conversation], &memoryLog{})
	if l.deleted {
		return memoryLog{}, ErrDeleted
	}
	return l, nil
}

func (m *memory) Conversations(ctx context.Context, before string) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		if err := m.enter(ctx); err != nil {
			yield(Head{}, err)
			return
		}
		ids := slices.Sorted(maps.Keys(m.logs))
		m.mu.Unlock()
		for _, id := range slices.Backward(ids) {
			if before != "" && id >= before {
				continue
			}
			h, err := m.head(ctx, id)
			if errors.Is(err, ErrDeleted) {
				continue
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

func (m *memory) head(ctx context.Context, conversation string) (Head, error) {
	records, end, err := Load(ctx, m, conversation, 0)
	if err != nil {
		return Head{}, err
	}
	return Head{ID: conversation, End: end, First: records[0], Last: records[len(records)-1]}, nil
}

func (m *memory) Delete(ctx context.Context, conversation string) error {
	if err := checkID("conversation", conversation); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.logs[conversation] != nil {
		m.logs[conversation] = &memoryLog{deleted: true}
		m.tell(conversation, Message{Gap: true})
	}
	return nil
}

func (m *memory) Health(ctx context.Context) (Health, error) {
	if err := m.enter(ctx); err != nil {
		return Health{}, err
	}
	defer m.mu.Unlock()
	return Health{
		Mode: "memory", Logs: int64(len(m.logs)),
		Parked: int64(len(m.parked)), Due: int64(len(m.due)), Held: int64(len(m.held)),
	}, nil
}

func (m *memory) Close(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.closed:
		return nil
	default:
	}
	close(m.closed)
	m.rest()
	m.hush()
	return nil
}
