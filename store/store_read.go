package store

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	pageMessages = 256 // at once
	pageBytes    = 4 << 20
)

// stored is a message as a stream has it.
type stored struct {
	seq    uint64
	header nats.Header
	data   []byte
}

// wanted asks a stream for messages.
type wanted struct {
	Seq   uint64 `json:"seq,omitempty"`
	Next  string `json:"next_by_subj,omitempty"`
	Last  string `json:"last_by_subj,omitempty"`
	Batch int    `json:"batch,omitempty"`
	Bytes int    `json:"max_bytes,omitempty"`
}

var (
	errNone = errors.New("no such message")
	// errHole says that a stream knows of a message and cannot read it.
	errHole = errors.New("a message is missing")
	// errEnough says that the reader has read enough.
	errEnough = errors.New("enough")
)

// last gives the last message of a subject, as the stream's leader knows it.
func (s *store) last(ctx context.Context, stream, subject string) (stored, error) {
	if !s.form.alone {
		return s.fromLeader(ctx, stream, wanted{Last: subject})
	}
	m, err := s.ask(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		return stored{}, err
	}
	return direct(m)
}

// fromLeader gives one message. The leader has everything that was acknowledged.
func (s *store) fromLeader(ctx context.Context, stream string, w wanted) (stored, error) {
	var answer struct {
		Message *struct {
			Seq     uint64 `json:"seq"`
			Headers []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	err := s.api(ctx, "STREAM.MSG.GET."+stream, w, &answer)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == jetstream.JSErrCodeMessageNotFound || err == nil && answer.Message == nil {
		return stored{}, errNone
	}
	if err != nil {
		return stored{}, err
	}
	m := stored{seq: answer.Message.Seq, data: answer.Message.Data}
	if len(answer.Message.Headers) > 0 {
		m.header, err = nats.DecodeHeadersMsg(answer.Message.Headers)
	}
	return m, err
}

// direct reads a message that came right from the store.
func direct(m *nats.Msg) (stored, error) {
	switch m.Header.Get("Status") {
	case "":
	case "404":
		return stored{}, errNone
	default:
		return stored{}, errors.New("store: " + m.Header.Get("Status") + " " + m.Header.Get("Description"))
	}
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	return stored{seq: seq, header: m.Header, data: m.Data}, err
}

// messages yields those of a subject from a sequence on, to the end that the
// stream has now. What the stream knows of and cannot read is errHole, last.
func (s *store) messages(ctx context.Context, subject string, from uint64, batch int) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		r := reading{s: s, subject: subject, from: from, batch: batch}
		err := r.pages(ctx, func(m stored) bool { return yield(m, nil) })
		if err == nil {
			err = r.rest(ctx, func(m stored) bool { return yield(m, nil) })
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(stored{}, err)
		}
	}
}

// reading is how far a subject has been read.
type reading struct {
	s       *store
	subject string
	from    uint64
	batch   int
	read    int    // messages
	missing uint64 // should have come
}

// pages reads page by page, from whoever is nearest.
func (r *reading) pages(ctx context.Context, yield func(stored) bool) error {
	for {
		page, pending, err := r.s.page(ctx, r.subject, r.from, r.batch)
		if err != nil {
			return err
		}
		for _, m := range page {
			if !yield(m) {
				return errEnough
			}
			r.read, r.from = r.read+1, m.seq+1
		}
		if len(page) > 0 {
			r.missing = pending
		}
		if len(page) == 0 || pending == 0 {
			return nil
		}
	}
}

// rest makes up for a replica that is behind, and tells a hole from an end.
func (r *reading) rest(ctx context.Context, yield func(stored) bool) error {
	if r.s.form.alone {
		return r.hole(ctx)
	}
	end, err := r.s.last(ctx, logs, r.subject)
	if errors.Is(err, errNone) {
		return r.hole(ctx)
	}
	if err != nil {
		return err
	}
	for r.from <= end.seq {
		m, err := r.s.fromLeader(ctx, logs, wanted{Seq: r.from, Next: r.subject})
		if errors.Is(err, errNone) {
			return errHole
		}
		if err != nil {
			return err
		}
		if !yield(m) {
			return errEnough
		}
		r.from = m.seq + 1
	}
	return nil
}

// hole tells whether the stream knows of messages that did not come.
func (r *reading) hole(ctx context.Context) error {
	if r.missing > 0 {
		return errHole
	}
	if r.read > 0 || r.from > 1 {
		return nil
	}
	n, err := r.s.count(ctx, r.subject)
	if err == nil && n > 0 {
		err = errHole
	}
	return err
}

// count tells how many messages the stream knows of.
func (s *store) count(ctx context.Context, subject string) (int, error) {
	var info struct {
		State struct {
			Subjects map[string]int `json:"subjects"`
		} `json:"state"`
	}
	err := s.api(ctx, "STREAM.INFO."+logs, map[string]string{"subjects_filter": subject}, &info)
	return info.State.Subjects[subject], err
}

// page gives a number of messages at once, and how many should come after them.
func (s *store) page(ctx context.Context, subject string, from uint64, batch int) (page []stored, pending uint64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer cancel()
	ch := make(chan *nats.Msg, batch+2)
	inbox := s.nc.NewInbox()
	sub, err := s.nc.ChanSubscribe(inbox, ch)
	if err != nil {
		return nil, 0, explain(ctx, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	request, err := json.Marshal(wanted{Seq: max(from, 1), Next: subject, Batch: batch, Bytes: pageBytes})
	if err != nil {
		return nil, 0, err
	}
	for {
		if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+logs, inbox, request); err != nil {
			return nil, 0, explain(ctx, err)
		}
		page, pending, err = collect(ctx, ch)
		if err == nil {
			return page, pending, nil
		}
		if !errors.Is(err, nats.ErrNoResponders) || !pause(ctx, again) {
			return nil, 0, explain(ctx, err)
		}
	}
}

// collect takes in the messages of a page.
func collect(ctx context.Context, ch <-chan *nats.Msg) (page []stored, pending uint64, err error) {
	for {
		m, err := receive(ctx, ch)
		if err != nil {
			return page, 0, err
		}
		switch m.Header.Get("Status") {
		case "204":
			pending, err = strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
			return page, pending, err
		case "503":
			return nil, 0, nats.ErrNoResponders
		}
		one, err := direct(m)
		if errors.Is(err, errNone) {
			return page, 0, nil
		}
		if err != nil {
			return page, 0, err
		}
		page = append(page, one)
	}
}

// receive waits for a message.
func receive(ctx context.Context, ch <-chan *nats.Msg) (*nats.Msg, error) {
	select {
	case m := <-ch:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// instant is how the servers write time.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
