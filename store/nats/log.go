package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// Append implements [store.Log].
func (b *backend) Append(ctx context.Context, conversation string, at store.Position, records ...store.Record) (store.Position, error) {
	end, err := b.append(ctx, conversation, at, records)
	if err != nil {
		return store.Position{}, annotate("append to log", err)
	}
	return end, nil
}

func (b *backend) append(ctx context.Context, conversation string, at store.Position, records []store.Record) (store.Position, error) {
	data, end, err := encodeEntry(conversation, at, records)
	ctx, done, err := b.begin(ctx, err)
	if err != nil {
		return end, err
	}
	defer done()
	parts := split(subject(logPrefix, conversation), data, end.Hash)
	put := func(ctx context.Context) (*jetstream.PubAck, error) {
		if len(parts) > 1 {
			return b.publishBatch(ctx, parts, at.Seq)
		}
		return b.publish(ctx, parts[0], jetstream.WithExpectLastSequencePerSubject(at.Seq))
	}
	return b.appendOnce(ctx, conversation, at, end, put)
}

// appendOnce appends by put, and returns the end that it wants with its Seq. While a server refuses for a conflict
// that no server shows, it puts the same again: a server that was the leader answers beside the new one, until its disk
// no longer stalls. Only an append that succeeds has been agreed to by most of them. The position alone keeps an append
// from being stored twice: with a message id, a server would acknowledge one that it has and that is gone.
func (b *backend) appendOnce(ctx context.Context, conversation string, at, want store.Position, put func(context.Context) (*jetstream.PubAck, error)) (store.Position, error) {
	// At its end no append is broken off: whether it is stored would be unknown.
	again, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	for {
		ack, err := put(ctx)
		if err == nil {
			want.Seq = ack.Sequence
			return want, nil
		}
		end, err := b.resolveAppend(ctx, conversation, at, want, err)
		if !errors.Is(err, errContradiction) || !sleep(again, retryDelay) {
			return end, err
		}
	}
}

// publishBatch stores several messages, all or none. Each attempt is a batch of its own.
func (b *backend) publishBatch(ctx context.Context, parts []*nats.Msg, after uint64) (*jetstream.PubAck, error) {
	last := len(parts) - 1
	parts[0].Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(after, 10))
	parts[last].Header.Set("Nats-Batch-Commit", "1")
	return b.store(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		id := rand.Text()
		for i, m := range parts {
			m.Header.Set("Nats-Batch-Id", id)
			m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
			if i == last {
				break
			}
			if err := b.nc.PublishMsg(m); err != nil {
				return nil, err
			}
		}
		return b.send(ctx, parts[last])
	})
}

// errContradiction reports a conflict although nothing follows the position of the append.
var errContradiction = fmt.Errorf("%w: no server shows with what", store.ErrConflict)

// resolveAppend reads the outcome of an append that was not acknowledged: only the acknowledgement may have been lost,
// and others may have appended since.
func (b *backend) resolveAppend(ctx context.Context, conversation string, at, want store.Position, failure error) (store.Position, error) {
	if ctx.Err() != nil {
		return want, failure
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.timeout/3, store.ErrUnavailable)
	defer cancel()
	got, err := b.readEnd(ctx, conversation)
	switch {
	case errors.Is(err, store.ErrDeleted):
		return want, store.ErrDeleted
	case err == nil && got.N == want.N && got.Hash == want.Hash:
		return got, nil
	case err == nil && (got == at || got.N < at.N) && errors.Is(failure, store.ErrConflict):
		return want, errContradiction
	case err == nil && got.N > want.N:
		if next, err := b.entryAfter(ctx, conversation, at.Seq); err == nil && entryHash(conversation, next.data) == want.Hash {
			want.Seq = next.seq
			return want, nil
		}
	}
	return want, failure
}

// entryAfter returns the first entry of a log after a sequence number; the zero one: none.
func (b *backend) entryAfter(ctx context.Context, conversation string, seq uint64) (storedEntry, error) {
	for e, err := range joinEntries(b.messages(ctx, subject(logPrefix, conversation), seq+1, pageMessages)) {
		return e, err
	}
	return storedEntry{}, nil
}

// End implements [store.Log].
func (b *backend) End(ctx context.Context, conversation string) (store.Position, error) {
	ctx, done, err := b.begin(ctx, limit.ID("conversation", conversation))
	if err != nil {
		return store.Position{}, err
	}
	defer done()
	end, err := b.readEnd(ctx, conversation)
	return end, annotate("read end of log", err)
}

// readEnd returns the end of a log.
func (b *backend) readEnd(ctx context.Context, conversation string) (store.Position, error) {
	last, err := b.lastEntry(ctx, conversation)
	if err != nil || last.seq == 0 {
		return store.Position{}, err
	}
	return last.end(conversation)
}

// lastEntry returns the last entry of a log; the zero one: none.
func (b *backend) lastEntry(ctx context.Context, conversation string) (storedEntry, error) {
	sub := subject(logPrefix, conversation)
	last, err := b.getFromLeader(ctx, logStream, getRequest{Last: sub})
	switch {
	case errors.Is(err, errNoMessage):
		return storedEntry{}, b.checkEmpty(ctx, conversation)
	case err != nil:
		return storedEntry{}, err
	case last.header.Get(deletedHeader) != "":
		return storedEntry{}, store.ErrDeleted
	}
	i, _, _, isPart := parsePart(last.header)
	if !isPart {
		return storedEntry{last.seq, last.data}, nil
	}
	for _, from := range []uint64{last.seq - uint64(i-1), 0} {
		var found storedEntry
		for e, err := range joinEntries(b.messages(ctx, sub, from, pageMessages)) {
			if err != nil {
				return storedEntry{}, err
			}
			found = e
		}
		if found.seq == last.seq || from == 0 {
			return storedEntry{last.seq, found.data}, nil // parts of an incomplete entry may follow it
		}
	}
	return storedEntry{}, nil
}

// checkEmpty returns the damage of a log that has messages but no last one.
func (b *backend) checkEmpty(ctx context.Context, conversation string) error {
	n, err := b.count(ctx, subject(logPrefix, conversation))
	if err != nil || n == 0 {
		return err
	}
	return b.read(ctx, conversation, 0, func(store.Record) bool { return true })
}

// end returns the end of a log with this last entry.
func (s storedEntry) end(conversation string) (store.Position, error) {
	if s.data == nil {
		return store.Position{Seq: s.seq}, nil // no entry was ever complete
	}
	var e struct {
		N       int64      `json:"n"`
		Records []struct{} `json:"records"`
	}
	if err := json.Unmarshal(s.data, &e); err != nil || e.N < 1 {
		return store.Position{}, &store.Damage{Conversation: conversation, N: e.N, Why: "the last entry cannot be decoded"}
	}
	return store.Position{N: e.N + int64(len(e.Records)) - 1, Seq: s.seq, Hash: entryHash(conversation, s.data)}, nil
}

// Read implements [store.Log].
func (b *backend) Read(ctx context.Context, conversation string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		err := b.read(ctx, conversation, after, func(r store.Record) bool { return r.N <= after || yield(r, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(store.Record{}, annotate("read log", err))
		}
	}
}

// read yields the records of a log, and passes over the damage of records up to a number that is known. It
// returns errStopped if yield does not want more.
func (b *backend) read(ctx context.Context, conversation string, known int64, yield func(store.Record) bool) error {
	ctx, done, err := b.begin(ctx, limit.ID("conversation", conversation))
	if err != nil {
		return err
	}
	defer done()
	var at store.Position
	var torn error // of an entry that is not whole, until the next one that is
	for e, err := range joinEntries(b.messages(ctx, subject(logPrefix, conversation), 0, pageMessages)) {
		if err != nil {
			return err
		}
		records, next, err := decodeEntry(conversation, at, known, e.data)
		d, damaged := errors.AsType[*store.Damage](err)
		switch {
		case damaged && d.Next == 0:
			torn = err
			continue
		case err != nil:
			return err
		}
		for _, r := range records {
			if !yield(r) {
				return errStopped
			}
		}
		at, torn = next, nil
	}
	return torn
}

// Conversations implements [store.Log].
func (b *backend) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	return func(yield func(store.Head, error) bool) {
		ids, err := b.ids(ctx)
		if err != nil {
			yield(store.Head{}, annotate("list logs", err))
			return
		}
		for _, id := range slices.Backward(ids) {
			if before != "" && id >= before {
				continue
			}
			h, err := b.head(ctx, id)
			if errors.Is(err, store.ErrDeleted) {
				continue
			}
			if !yield(h, annotate("list logs", err)) || err != nil {
				return
			}
		}
	}
}

// ids returns the sorted ids of all logs, including deleted ones.
func (b *backend) ids(ctx context.Context) ([]string, error) {
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer done()
	var info *jetstream.StreamInfo
	err = b.attempt(ctx, func(ctx context.Context) error {
		stream, err := b.js.Stream(ctx, logStream)
		if err == nil {
			info, err = stream.Info(ctx, jetstream.WithSubjectFilter(logPrefix+">"))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	ids := slices.Collect(maps.Keys(info.State.Subjects))
	for i, sub := range ids {
		_, ids[i], _ = strings.Cut(strings.TrimPrefix(sub, logPrefix), ".")
	}
	slices.Sort(ids)
	return ids, nil
}

// head reads the first and the last entry of a log.
func (b *backend) head(ctx context.Context, id string) (store.Head, error) {
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return store.Head{}, err
	}
	defer done()
	last, err := b.lastEntry(ctx, id)
	if err != nil {
		return store.Head{}, err
	}
	end, err := last.end(id)
	if err != nil {
		return store.Head{}, err
	}
	for first, err := range joinEntries(b.messages(ctx, subject(logPrefix, id), 0, 1)) {
		if err != nil {
			return store.Head{}, err
		}
		return newHead(id, end, first.data, last.data)
	}
	return store.Head{}, &store.Damage{Conversation: id, N: 1, Why: "missing"}
}

// newHead returns the head of a log with these first and last entries.
func newHead(id string, end store.Position, firstData, lastData []byte) (store.Head, error) {
	var first, last logEntry
	err := errors.Join(json.Unmarshal(firstData, &first), json.Unmarshal(lastData, &last))
	if err != nil || len(first.Records) == 0 || len(last.Records) == 0 {
		return store.Head{}, &store.Damage{Conversation: id, N: 1, Why: "an entry cannot be decoded"}
	}
	return store.Head{ID: id, End: end, First: first.Records[0], Last: last.Records[len(last.Records)-1]}, nil
}

// Delete implements [store.Log].
func (b *backend) Delete(ctx context.Context, conversation string) error {
	switch end, err := b.End(ctx, conversation); {
	case errors.Is(err, store.ErrDeleted), err == nil && end == store.Position{}:
		return nil
	case err != nil:
		if _, damaged := errors.AsType[*store.Damage](err); !damaged {
			return err
		}
	}
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return err
	}
	defer done()
	_, err = b.publish(ctx, &nats.Msg{Subject: subject(logPrefix, conversation), Header: nats.Header{
		jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		deletedHeader:       {timestamp(time.Now())},
	}})
	return annotate("delete log", err)
}
