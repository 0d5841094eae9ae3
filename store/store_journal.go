package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func (s *store) Append(ctx context.Context, conversation string, at Position, records ...Record) (Position, error) {
	data, end, err := seal(conversation, at, records)
	if err != nil {
		return Position{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Position{}, err
	}
	defer leave()
	if err := s.room(appending); err != nil {
		return Position{}, err
	}
	parts := split(subject(logSub, conversation), data, end.Hash)
	if len(parts) == 1 {
		end.Seq, err = s.publish(ctx, parts[0], jetstream.WithMsgID(end.Hash), jetstream.WithExpectLastSequencePerSubject(at.Seq))
	} else {
		end.Seq, err = s.batch(ctx, parts, at.Seq)
	}
	if err == nil {
		return end, nil
	}
	return s.settle(ctx, conversation, end, err)
}

// batch writes several messages, all or none.
func (s *store) batch(ctx context.Context, parts []*nats.Msg, after uint64) (uint64, error) {
	id := rand.Text()
	parts[0].Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(after, 10))
	for i, m := range parts {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i == len(parts)-1 {
			m.Header.Set("Nats-Batch-Commit", "1")
			return s.publish(ctx, m)
		}
		if err := s.nc.PublishMsg(m); err != nil {
			return 0, explain(ctx, err)
		}
	}
	return 0, errNone
}

// settle finds out what has become of an append that was not acknowledged: it
// may have happened, and the answer been lost.
func (s *store) settle(ctx context.Context, conversation string, end Position, failed error) (Position, error) {
	if ctx.Err() != nil {
		return Position{}, failed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience/3, ErrUnavailable)
	defer cancel()
	is, err := s.tail(ctx, conversation)
	switch {
	case errors.Is(err, ErrDeleted):
		return Position{}, ErrDeleted
	case err == nil && is.N == end.N && is.Hash == end.Hash:
		return is, nil
	}
	return Position{}, failed
}

func (s *store) End(ctx context.Context, conversation string) (Position, error) {
	if err := checkID("conversation", conversation); err != nil {
		return Position{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Position{}, err
	}
	defer leave()
	return s.tail(ctx, conversation)
}

// tail is End for those who are inside.
func (s *store) tail(ctx context.Context, conversation string) (Position, error) {
	last, err := s.lastEntry(ctx, conversation)
	if err != nil || last.seq == 0 {
		return Position{}, err
	}
	return position(conversation, last)
}

// lastEntry gives the last entry of a log, or the zero one if there is none.
func (s *store) lastEntry(ctx context.Context, conversation string) (entryAt, error) {
	sub := subject(logSub, conversation)
	last, err := s.last(ctx, logs, sub)
	switch {
	case errors.Is(err, errNone):
		return entryAt{}, s.empty(ctx, conversation)
	case err != nil:
		return entryAt{}, err
	case last.header.Get(deletedHeader) != "":
		return entryAt{}, ErrDeleted
	}
	i, _, _, several := part(last.header)
	if !several {
		return entryAt{last.seq, last.data}, nil
	}
	for _, from := range []uint64{last.seq - uint64(i-1), 0} {
		var found entryAt
		for e, err := range entries(s.messages(ctx, sub, from, pageMessages)) {
			if err != nil {
				return entryAt{}, err
			}
			found = e
		}
		if found.seq == last.seq || from == 0 {
			return entryAt{last.seq, found.data}, nil // parts that were never whole may stand behind it
		}
	}
	return entryAt{}, nil
}

// empty makes sure that a log without a last entry is empty. The number of what
// is missing is known to whoever reads.
func (s *store) empty(ctx context.Context, conversation string) error {
	n, err := s.count(ctx, subject(logSub, conversation))
	if err != nil || n == 0 {
		return err
	}
	for _, err := range s.Read(ctx, conversation, 0) {
		if err != nil {
			return err
		}
	}
	return nil
}

// position gives the end of a log whose last entry is known.
func position(conversation string, last entryAt) (Position, error) {
	if last.data == nil {
		return Position{Seq: last.seq}, nil // nothing was ever whole
	}
	var e struct {
		N       int64      `json:"n"`
		Records []struct{} `json:"records"`
	}
	if err := json.Unmarshal(last.data, &e); err != nil || e.N < 1 {
		return Position{}, &Damage{Conversation: conversation, N: e.N, Why: "the last entry cannot be read"}
	}
	return Position{N: e.N + int64(len(e.Records)) - 1, Seq: last.seq, Hash: digest(conversation, last.data)}, nil
}

func (s *store) Read(ctx context.Context, conversation string, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		err := checkID("conversation", conversation)
		if err == nil {
			err = s.read(ctx, conversation, func(r Record) bool { return r.N <= after || yield(r, nil) })
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(Record{}, err)
		}
	}
}

// read gives the records of a log until somebody has enough.
func (s *store) read(ctx context.Context, conversation string, yield func(Record) bool) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var at Position
	for e, err := range entries(s.messages(ctx, subject(logSub, conversation), 0, pageMessages)) {
		if errors.Is(err, errHole) {
			return &Damage{Conversation: conversation, N: at.N + 1, Why: "missing"}
		}
		if err != nil {
			return err
		}
		records, next, err := unseal(conversation, at, e.data)
		if err != nil {
			return err
		}
		for _, r := range records {
			if !yield(r) {
				return errEnough
			}
		}
		at = next
	}
	return nil
}

func (s *store) Conversations(ctx context.Context, before string) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		ids, err := s.ids(ctx)
		if err != nil {
			yield(Head{}, err)
			return
		}
		for _, id := range slices.Backward(ids) {
			if before != "" && id >= before {
				continue
			}
			h, err := s.head(ctx, id)
			if errors.Is(err, ErrDeleted) {
				continue
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// ids gives the ids of all logs in order, the deleted ones too.
func (s *store) ids(ctx context.Context) ([]string, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	stream, err := s.js.Stream(ctx, logs)
	if err != nil {
		return nil, explain(ctx, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(logSub+">"))
	if err != nil {
		return nil, explain(ctx, err)
	}
	ids := slices.Collect(maps.Keys(info.State.Subjects))
	for i, sub := range ids {
		_, ids[i], _ = strings.Cut(strings.TrimPrefix(sub, logSub), ".")
	}
	slices.Sort(ids)
	return ids, nil
}

// head reads the two ends of a log.
func (s *store) head(ctx context.Context, id string) (Head, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Head{}, err
	}
	defer leave()
	last, err := s.lastEntry(ctx, id)
	if err != nil {
		return Head{}, err
	}
	end, err := position(id, last)
	if err != nil {
		return Head{}, err
	}
	for first, err := range entries(s.messages(ctx, subject(logSub, id), 0, 1)) {
		if err != nil {
			return Head{}, err
		}
		return ends(id, end, first.data, last.data)
	}
	return Head{}, &Damage{Conversation: id, N: 1, Why: "missing"}
}

// ends makes a head of the first and the last entry.
func ends(id string, end Position, first, last []byte) (Head, error) {
	var one, other entry
	err := errors.Join(json.Unmarshal(first, &one), json.Unmarshal(last, &other))
	if err != nil || len(one.Records) == 0 || len(other.Records) == 0 {
		return Head{}, &Damage{Conversation: id, N: 1, Why: "an entry cannot be read"}
	}
	return Head{ID: id, End: end, First: one.Records[0], Last: other.Records[len(other.Records)-1]}, nil
}

func (s *store) Delete(ctx context.Context, conversation string) error {
	switch end, err := s.End(ctx, conversation); {
	case errors.Is(err, ErrDeleted), err == nil && end == Position{}:
		return nil
	case err != nil:
		if _, damaged := errors.AsType[*Damage](err); !damaged {
			return err
		}
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, err = s.publish(ctx, &nats.Msg{Subject: subject(logSub, conversation), Header: nats.Header{
		jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		deletedHeader:       {instant(time.Now())},
	}})
	return err
}
