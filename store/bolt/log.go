package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// What is read in one transaction.
const (
	pageRecords = 256
	pageBytes   = 1 << 20
	pageHeads   = 128
)

// head is the end of a log.
type head struct {
	n, seq uint64 // of the last record, and of the last append
}

// deleted is the number of records of a deleted log.
const deleted = ^uint64(0)

func (h head) position() store.Position { return store.Position{N: int64(h.n), Seq: h.seq} }

func (h head) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, h.n), h.seq)
}

// readHead returns the end of a log, or ErrDeleted. The zero head is that of a log that does not exist. If the head is
// damaged, the log ends with the last record that can be read.
func readHead(f file, conversation string) (head, error) {
	if data, ok := get(f.heads, []byte(conversation)); ok && len(data) == 16 {
		h := head{binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])}
		if h.n == deleted {
			return h, store.ErrDeleted
		}
		return h, nil
	}
	c := f.records.Cursor()
	prefix := append([]byte(conversation), 0)
	for key, value := before(c, recordKey(conversation, -1)); bytes.HasPrefix(key, prefix); key, value = c.Prev() {
		id, n := parseRecordKey(key)
		if _, ok := unseal(key, value); ok && id == conversation {
			return head{uint64(n), uint64(n)}, nil
		}
	}
	return head{}, nil
}

// before moves a cursor to the highest key below another; none: to the last one.
func before(c *bbolt.Cursor, key []byte) (k, value []byte) {
	if len(key) > 0 {
		if k, _ := c.Seek(key); k != nil {
			return c.Prev()
		}
	}
	return c.Last()
}

// Append implements [store.Log].
func (s *boltStore) Append(ctx context.Context, conversation string, at store.Position, all ...store.Record) (store.Position, error) {
	added, data, err := numbered(conversation, at, all)
	if err := s.begin(ctx, err); err != nil {
		return store.Position{}, err
	}
	if at == (store.Position{}) { // a conversation that could have no turn
		if err := s.checkSpace(); err != nil {
			return store.Position{}, fmt.Errorf("append to log: %w", err)
		}
	}
	var end store.Position
	err = s.write(ctx, func(f file) (err error) {
		end, err = appendRecords(f, conversation, at, data)
		return err
	}, func() { s.topics.Send(conversation, store.Message{Records: added}) })
	if errors.Is(err, errDamaged) {
		err = &store.Damage{Conversation: conversation, N: at.N + 1, Why: err.Error()}
	}
	if err != nil {
		return store.Position{}, annotate("append to log", err)
	}
	return end, nil
}

// appendRecords appends records, and returns the new end.
func appendRecords(f file, conversation string, at store.Position, data [][]byte) (store.Position, error) {
	h, err := readHead(f, conversation)
	switch {
	case err != nil:
		return at, err
	case h.position() != at:
		return at, store.ErrConflict
	}
	if h.seq, err = f.heads.NextSequence(); err != nil {
		return at, err
	}
	for _, one := range data {
		h.n++
		if err := put(f.records, recordKey(conversation, int64(h.n)), one); err != nil {
			return at, err
		}
	}
	return h.position(), put(f.heads, []byte(conversation), h.encode())
}

// annotate adds the operation to an error. Damage says by itself what it is about.
func annotate(operation string, err error) error {
	if _, damaged := errors.AsType[*store.Damage](err); err == nil || damaged || errors.Is(err, store.ErrClosed) {
		return err
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// End implements [store.Log].
func (s *boltStore) End(ctx context.Context, conversation string) (store.Position, error) {
	if err := s.begin(ctx, limit.ID("conversation", conversation)); err != nil {
		return store.Position{}, err
	}
	var h head
	err := s.view(func(f file) (err error) {
		h, err = readHead(f, conversation)
		return err
	})
	if errors.Is(err, errDamaged) {
		err = &store.Damage{Conversation: conversation, N: 1, Why: err.Error()}
	}
	if err != nil {
		return store.Position{}, annotate("read end of log", err)
	}
	return h.position(), nil
}

// Read implements [store.Log].
func (s *boltStore) Read(ctx context.Context, conversation string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for next := max(after, 0) + 1; ; {
			page, more, err := s.readPage(ctx, conversation, next)
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(store.Record{}, annotate("read log", err))
				return
			}
			if !more {
				return
			}
			next += int64(len(page))
		}
	}
}

// readPage returns the records from a number on that fit in a page, and whether there are more. With an error it
// returns the records before it.
func (s *boltStore) readPage(ctx context.Context, conversation string, from int64) (page []store.Record, more bool, err error) {
	if err := s.begin(ctx, limit.ID("conversation", conversation)); err != nil {
		return nil, false, err
	}
	var damage *store.Damage
	err = s.view(func(f file) error {
		h, err := readHead(f, conversation)
		if err != nil {
			return err
		}
		end, size := int64(h.n), 0
		for n := from; n <= end; n++ {
			if more = len(page) == pageRecords || size > pageBytes; more {
				return nil
			}
			r, ok := readRecord(f, conversation, n)
			if !ok {
				damage = findDamage(f, conversation, n, end)
				return nil
			}
			page, size = append(page, r), size+len(r.Body)
		}
		return nil
	})
	switch {
	case errors.Is(err, errDamaged):
		damage = &store.Damage{Conversation: conversation, N: from + int64(len(page)), Why: err.Error()}
	case err != nil:
		return nil, false, err
	}
	if damage != nil {
		s.noteDamage(damage)
		return page, false, damage
	}
	return page, more, nil
}

// readRecord returns a record; false: it is missing or damaged.
func readRecord(f file, conversation string, n int64) (store.Record, bool) {
	data, ok := get(f.records, recordKey(conversation, n))
	if !ok {
		return store.Record{}, false
	}
	return decodeRecord(n, data)
}

// findDamage returns the damage of a log whose record n cannot be read.
func findDamage(f file, conversation string, n, end int64) *store.Damage {
	d := &store.Damage{Conversation: conversation, N: n, Why: "missing, or its checksum is wrong"}
	for next := n + 1; next <= end; next++ {
		if _, ok := readRecord(f, conversation, next); ok {
			d.Next = next
			break
		}
	}
	return d
}

// Conversations implements [store.Log]. It lists a log of which only some records can be read with those, and one of
// which none can be with neither first nor last record: reading it says why.
func (s *boltStore) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	return func(yield func(store.Head, error) bool) {
		for {
			page, next, err := s.readHeads(ctx, before)
			for _, h := range page {
				if !yield(h, nil) {
					return
				}
			}
			if err != nil {
				yield(store.Head{}, annotate("list logs", err))
				return
			}
			if before = next; before == "" {
				return
			}
		}
	}
}

// readHeads returns some logs with an id below before, and the id below which there are more, or "" at the end.
func (s *boltStore) readHeads(ctx context.Context, before string) (page []store.Head, next string, err error) {
	if err := s.begin(ctx, nil); err != nil {
		return nil, "", err
	}
	err = s.view(func(f file) error {
		for next = before; len(page) < pageHeads; {
			id, err := idBefore(f, next)
			if next = id; id == "" || err != nil {
				return err
			}
			h, err := readHead(f, id)
			if err == nil && h.n > 0 {
				page = append(page, listed(f, id, h))
			}
		}
		return nil
	})
	return page, next, err
}

// idBefore returns the highest id below another of a log that has a head or a record, or "" at the end. Either may be
// damaged.
func idBefore(f file, above string) (string, error) {
	ofHead, err := lastBelow(f.heads, above, func(key []byte) string { return string(key) })
	ofRecord, err2 := lastBelow(f.records, above, func(key []byte) string {
		id, _ := parseRecordKey(key)
		return id
	})
	if err != nil && err2 != nil {
		return "", err
	}
	return max(ofHead, ofRecord), nil
}

// lastBelow returns the highest id below another in the keys of a bucket, or "". A damaged key is in the wrong place: a
// list that followed it would have no end.
func lastBelow(b *bbolt.Bucket, above string, idOf func(key []byte) string) (id string, err error) {
	err = guard(func() error {
		c := b.Cursor()
		for key, _ := before(c, []byte(above)); key != nil && id == ""; key, _ = c.Prev() {
			if id = idOf(key); above != "" && id >= above {
				id = ""
			}
		}
		return nil
	})
	return id, err
}

// listed returns the log in a list.
func listed(f file, id string, h head) store.Head {
	l := store.Head{ID: id, End: h.position()}
	end := int64(h.n)
	ok := false
	for n := int64(1); n <= end && !ok; n++ {
		l.First, ok = readRecord(f, id, n)
	}
	if !ok {
		l.First = store.Record{}
		return l
	}
	ok = false
	for n := end; n > 0 && !ok; n-- {
		l.Last, ok = readRecord(f, id, n)
	}
	return l
}

// Delete implements [store.Log].
func (s *boltStore) Delete(ctx context.Context, conversation string) error {
	if err := s.begin(ctx, limit.ID("conversation", conversation)); err != nil {
		return err
	}
	err := s.write(ctx, func(f file) error {
		switch h, err := readHead(f, conversation); {
		case errors.Is(err, store.ErrDeleted), err == nil && h.n == 0:
			return errNothing
		case err != nil:
			return err
		}
		prefix := append([]byte(conversation), 0)
		var keys [][]byte
		c := f.records.Cursor()
		for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
			keys = append(keys, bytes.Clone(key))
		}
		for _, key := range keys {
			if err := f.records.Delete(key); err != nil {
				return err
			}
		}
		return put(f.heads, []byte(conversation), head{n: deleted}.encode())
	}, func() { s.topics.Send(conversation, store.Message{Gap: true}) })
	return annotate("delete log", err)
}
