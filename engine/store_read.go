package engine

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

// errNone says that there is no message of that kind.
var errNone = errors.New("no such message")

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
// stream has now. A replica that is behind is made up for by the leader.
func (s *store) messages(ctx context.Context, subject string, from uint64, batch int) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		end := uint64(0)
		if !s.form.alone {
			last, err := s.last(ctx, logs, subject)
			if errors.Is(err, errNone) {
				return
			}
			if err != nil {
				yield(stored{}, err)
				return
			}
			end = last.seq
		}
		for more := true; more; {
			var page []stored
			var err error
			page, more, err = s.page(ctx, subject, from, batch)
			for _, m := range page {
				if !yield(m, nil) {
					return
				}
				from = m.seq + 1
			}
			if err != nil {
				yield(stored{}, err)
				return
			}
		}
		for from <= end {
			m, err := s.fromLeader(ctx, logs, wanted{Seq: from, Next: subject})
			if errors.Is(err, errNone) || !yield(m, err) || err != nil {
				return
			}
			from = m.seq + 1
		}
	}
}

// page gives a number of messages at once, and tells whether there are more.
func (s *store) page(ctx context.Context, subject string, from uint64, batch int) (page []stored, more bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer cancel()
	ch := make(chan *nats.Msg, batch+2)
	inbox := s.nc.NewInbox()
	sub, err := s.nc.ChanSubscribe(inbox, ch)
	if err != nil {
		return nil, false, explain(ctx, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	request, err := json.Marshal(wanted{Seq: max(from, 1), Next: subject, Batch: batch, Bytes: pageBytes})
	if err != nil {
		return nil, false, err
	}
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+logs, inbox, request); err != nil {
		return nil, false, explain(ctx, err)
	}
	for {
		m, err := receive(ctx, ch)
		if err != nil {
			return page, false, err
		}
		switch m.Header.Get("Status") {
		case "204":
			pending := m.Header.Get("Nats-Num-Pending")
			return page, len(page) > 0 && pending != "" && pending != "0", nil
		case "503":
			if !pause(ctx, again) {
				return page, false, context.Cause(ctx)
			}
			return page, true, nil
		}
		one, err := direct(m)
		if errors.Is(err, errNone) {
			return page, false, nil
		}
		if err != nil {
			return page, false, err
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
