package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
)

const (
	pageMessages = 256 // of one request
	pageBytes    = 4 << 20
)

// storedMessage is a message in a stream.
type storedMessage struct {
	seq    uint64
	header nats.Header
	data   []byte
}

// getRequest asks a stream for messages.
type getRequest struct {
	Seq   uint64 `json:"seq,omitempty"`
	Next  string `json:"next_by_subj,omitempty"`
	Last  string `json:"last_by_subj,omitempty"`
	Batch int    `json:"batch,omitempty"`
	Bytes int    `json:"max_bytes,omitempty"`
}

var (
	errNoMessage = errors.New("no such message")
	// errStopped reports that the consumer of an iterator has stopped.
	errStopped = errors.New("stopped")
)

// getFromLeader returns one message. The leader has every acknowledged one, but one that was the leader answers too
// while its disk stalls, and the first answer counts. So the latest messages may be missing.
func (b *backend) getFromLeader(ctx context.Context, stream string, r getRequest) (storedMessage, error) {
	var answer struct {
		Message *struct {
			Seq     uint64 `json:"seq"`
			Headers []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	err := b.api(ctx, "STREAM.MSG.GET."+stream, r, &answer)
	api, refused := errors.AsType[*jetstream.APIError](err)
	switch {
	case refused && api.ErrorCode == jetstream.JSErrCodeMessageNotFound, err == nil && answer.Message == nil:
		return storedMessage{}, errNoMessage
	case err != nil:
		return storedMessage{}, err
	}
	m := storedMessage{seq: answer.Message.Seq, data: answer.Message.Data}
	if len(answer.Message.Headers) > 0 {
		m.header, err = nats.DecodeHeadersMsg(answer.Message.Headers)
	}
	return m, err
}

// statusError returns the refusal in an answer.
func statusError(m *nats.Msg) error {
	return fmt.Errorf("NATS status %s %s", m.Header.Get("Status"), m.Header.Get("Description"))
}

// messages yields the messages of a subject from a sequence number on, up to the current end of the stream.
// It ends with errStale if the stream counts more messages than it can read.
func (b *backend) messages(ctx context.Context, subject string, from uint64, batch int) iter.Seq2[storedMessage, error] {
	return func(yield func(storedMessage, error) bool) {
		s := scan{b: b, subject: subject, from: from, batch: batch}
		err := s.readPages(ctx, func(m storedMessage) bool { return yield(m, nil) })
		if err == nil {
			err = s.readRest(ctx, func(m storedMessage) bool { return yield(m, nil) })
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(storedMessage{}, err)
		}
	}
}

// scan is the state of reading a subject.
type scan struct {
	b       *backend
	subject string
	from    uint64
	batch   int
	read    int    // messages
	missing uint64 // messages that the last page announced
}

// readPages reads page by page, from any replica.
func (s *scan) readPages(ctx context.Context, yield func(storedMessage) bool) error {
	for {
		page, pending, err := s.b.readPage(ctx, s.subject, s.from, s.batch)
		if err != nil {
			return err
		}
		for _, m := range page {
			if !yield(m) {
				return errStopped
			}
			s.read, s.from = s.read+1, m.seq+1
		}
		if len(page) > 0 {
			s.missing = pending
		}
		if len(page) == 0 || pending == 0 {
			return nil
		}
	}
}

// readRest reads what the replica did not have yet from the leader, and distinguishes a gap from the end.
func (s *scan) readRest(ctx context.Context, yield func(storedMessage) bool) error {
	end, err := s.b.getFromLeader(ctx, logStream, getRequest{Last: s.subject})
	if errors.Is(err, errNoMessage) {
		return s.checkGap(ctx)
	}
	if err != nil {
		return err
	}
	for s.from <= end.seq {
		m, err := s.b.getFromLeader(ctx, logStream, getRequest{Seq: s.from, Next: s.subject})
		if errors.Is(err, errNoMessage) {
			return errStale
		}
		if err != nil {
			return err
		}
		if !yield(m) {
			return errStopped
		}
		s.from = m.seq + 1
	}
	return nil
}

// errStale reports that one server has a message that another one lacks: that was the leader, or is not up to date.
var errStale = fmt.Errorf("%w: a server lacks the latest records", store.ErrUnavailable)

// checkGap returns errStale if the stream counts messages that did not arrive: the server that has answered may lack
// them.
func (s *scan) checkGap(ctx context.Context) error {
	if s.missing > 0 {
		return errStale
	}
	if s.read > 0 || s.from > 1 {
		return nil
	}
	n, err := s.b.count(ctx, s.subject)
	if err == nil && n > 0 {
		err = errStale
	}
	return err
}

// count returns how many messages of a subject the stream counts.
func (b *backend) count(ctx context.Context, subject string) (int, error) {
	var info struct {
		State struct {
			Subjects map[string]int `json:"subjects"`
		} `json:"state"`
	}
	err := b.api(ctx, "STREAM.INFO."+logStream, map[string]string{"subjects_filter": subject}, &info)
	return info.State.Subjects[subject], err
}

// readPage returns the messages of one request, and how many follow them.
func (b *backend) readPage(ctx context.Context, subject string, from uint64, batch int) (page []storedMessage, pending uint64, err error) {
	request, err := json.Marshal(getRequest{Seq: max(from, 1), Next: subject, Batch: batch, Bytes: pageBytes})
	if err != nil {
		return nil, 0, err
	}
	err = b.attempt(ctx, func(ctx context.Context) (err error) {
		page, pending, err = b.requestPage(ctx, request, batch)
		return err
	})
	return page, pending, err
}

func (b *backend) requestPage(ctx context.Context, request []byte, batch int) (page []storedMessage, pending uint64, err error) {
	ch := make(chan *nats.Msg, batch+2)
	inbox := b.nc.NewInbox()
	sub, err := b.nc.ChanSubscribe(inbox, ch)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := b.nc.PublishRequest("$JS.API.DIRECT.GET."+logStream, inbox, request); err != nil {
		return nil, 0, err
	}
	return receivePage(ctx, ch)
}

// receivePage receives the messages of a page. They come from one replica, and no limit is on their number: only
// silence shows that it hangs.
func receivePage(ctx context.Context, ch <-chan *nats.Msg) (page []storedMessage, pending uint64, err error) {
	for {
		m, err := receive(ctx, ch, answerTimeout, errSilent)
		if err != nil {
			return page, 0, err
		}
		switch m.Header.Get("Status") {
		case "":
		case "204":
			pending, err = strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
			return page, pending, err
		case "404":
			return page, 0, nil
		case "503":
			return nil, 0, nats.ErrNoResponders
		default:
			return page, 0, statusError(m)
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return page, 0, err
		}
		page = append(page, storedMessage{seq: seq, header: m.Header, data: m.Data})
	}
}

// receive waits for a message, and ends with silent if none arrives for a while.
func receive(ctx context.Context, ch <-chan *nats.Msg, d time.Duration, silent error) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, silent)
	defer cancel()
	select {
	case m := <-ch:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// timestamp formats a time as the servers do.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
