package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// memory is a store without a disk. Its mutex guards everything.
type memory struct {
	mu        sync.Mutex
	closed    chan struct{}
	seq       uint64
	logs      map[string]*memoryLog
	topics    limit.Topics[Message]
	entries   map[string]*memoryEntry
	changed   chan struct{}         // closed and replaced when an entry changes
	scheduled map[string]*memoryJob // by turn
	due       []*memoryJob
	arrived   chan struct{} // closed and replaced when a job becomes due
	leases    map[*memoryLease]bool
}

type memoryLog struct {
	records []Record
	end     Position
	deleted bool
}

// Memory returns a store that ends with the process, for tests. It runs no goroutine and waits with package
// time only, so it works in a bubble of testing/synctest.
func Memory() Store {
	return &memory{
		closed:    make(chan struct{}),
		logs:      map[string]*memoryLog{},
		entries:   map[string]*memoryEntry{},
		changed:   make(chan struct{}),
		scheduled: map[string]*memoryJob{},
		arrived:   make(chan struct{}),
		leases:    map[*memoryLease]bool{},
	}
}

// lock locks the store if the arguments are valid, ctx has not ended and the store is open.
func (m *memory) lock(ctx context.Context, invalid error) error {
	if invalid != nil {
		return invalid
	}
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

// Append implements [Log].
func (m *memory) Append(ctx context.Context, conversation string, at Position, records ...Record) (Position, error) {
	added, err := numbered(conversation, at, records)
	if err := m.lock(ctx, err); err != nil {
		return Position{}, err
	}
	defer m.mu.Unlock()
	l := cmp.Or(m.logs[conversation], &memoryLog{})
	switch {
	case l.deleted:
		return Position{}, ErrDeleted
	case l.end != at:
		return Position{}, ErrConflict
	}
	m.seq++
	l.records, l.end = append(l.records, added...), Position{N: at.N + int64(len(added)), Seq: m.seq}
	m.logs[conversation] = l
	m.topics.Send(conversation, Message{Records: added})
	return l.end, nil
}

// numbered returns copies of valid records as they are read back.
func numbered(conversation string, at Position, records []Record) ([]Record, error) {
	if err := limit.ID("conversation", conversation); err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: append of no records", ErrInvalid)
	}
	added, size := slices.Clone(records), 0
	for i := range added {
		r := &added[i]
		if err := limit.Record(r.Turn, r.Type, r.Time, r.Body); err != nil {
			return nil, err
		}
		r.N, r.Time = at.N+1+int64(i), r.Time.Round(0).UTC()
		if r.Body != nil {
			var body bytes.Buffer
			_ = json.Compact(&body, r.Body) // it is valid
			r.Body = json.RawMessage(body.Bytes())
		}
		size += len(r.Body)
	}
	if size > limit.Append {
		return nil, fmt.Errorf("%w: append of %d bytes", ErrTooLarge, size)
	}
	return added, nil
}

// Read implements [Log].
func (m *memory) Read(ctx context.Context, conversation string, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l, err := m.log(ctx, conversation)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, r := range l.records[min(max(after, 0), l.end.N):] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// End implements [Log].
func (m *memory) End(ctx context.Context, conversation string) (Position, error) {
	l, err := m.log(ctx, conversation)
	return l.end, err
}

// log returns a log as it is now.
func (m *memory) log(ctx context.Context, conversation string) (memoryLog, error) {
	if err := m.lock(ctx, limit.ID("conversation", conversation)); err != nil {
		return memoryLog{}, err
	}
	defer m.mu.Unlock()
	l := *cmp.Or(m.logs[conversation], &memoryLog{})
	if l.deleted {
		return memoryLog{}, ErrDeleted
	}
	return l, nil
}

// Conversations implements [Log].
func (m *memory) Conversations(ctx context.Context, before string) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		if err := m.lock(ctx, nil); err != nil {
			yield(Head{}, err)
			return
		}
		ids := slices.Sorted(maps.Keys(m.logs))
		m.mu.Unlock()
		for _, id := range slices.Backward(ids) {
			if before != "" && id >= before {
				continue
			}
			l, err := m.log(ctx, id)
			switch {
			case errors.Is(err, ErrDeleted):
				continue
			case err != nil:
				yield(Head{}, err)
				return
			case !yield(Head{ID: id, End: l.end, First: l.records[0], Last: l.records[len(l.records)-1]}, nil):
				return
			}
		}
	}
}

// Delete implements [Log].
func (m *memory) Delete(ctx context.Context, conversation string) error {
	if err := m.lock(ctx, limit.ID("conversation", conversation)); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.logs[conversation] != nil {
		m.logs[conversation] = &memoryLog{deleted: true}
		m.topics.Send(conversation, Message{Gap: true})
	}
	return nil
}

// Health implements [Lifecycle].
func (m *memory) Health(ctx context.Context) (Health, error) {
	if err := m.lock(ctx, nil); err != nil {
		return Health{}, err
	}
	defer m.mu.Unlock()
	return Health{
		Mode: "memory", Logs: int64(len(m.logs)),
		Scheduled: int64(len(m.scheduled)), Due: int64(len(m.due)), Leased: int64(len(m.leases)),
	}, nil
}

// Snapshot implements [Lifecycle].
func (*memory) Snapshot(context.Context, func(*os.File) error) error { return errors.ErrUnsupported }

// Close implements [Lifecycle].
func (m *memory) Close(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.closed:
		return nil
	default:
	}
	close(m.closed)
	m.stopTimers()
	m.topics.Close()
	return nil
}

// stopTimers stops everything that would happen later.
func (m *memory) stopTimers() {
	for _, j := range m.scheduled {
		j.timer.Stop()
	}
	for l := range m.leases {
		l.timer.Stop()
	}
	for _, e := range m.entries {
		e.stop()
	}
}
