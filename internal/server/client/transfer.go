package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// restoreTimeout is how long a server may take to import a conversation.
const restoreTimeout = 10 * time.Minute

// Process returns the id of the server's process.
func (c Client) Process(ctx context.Context) (int, error) {
	var is struct {
		Process int `json:"process"`
	}
	err := c.ask(ctx, time.Minute, http.MethodGet, "/-/", "", nil, &is)
	return is.Process, err
}

// Export returns all records of a conversation.
func (c Client) Export(ctx context.Context, id string) (all []store.Record, err error) {
	err = c.download(ctx, pathOf(id)+"/records", linesType, func(body io.Reader) error {
		for one, err := range transfer.ReadText(body) {
			if err != nil {
				return err
			}
			all = one.Records
		}
		return nil
	})
	return all, err
}

// Snapshot writes a copy of the file of the server's store.
func (c Client) Snapshot(ctx context.Context, w io.Writer) error {
	return c.download(ctx, ".db", "application/octet-stream", func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	})
}

// download gets a file of a media type, without a time limit while data arrives, and calls read with it.
func (c Client) download(ctx context.Context, path, kind string, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silenceTimeout, func() { cancel(errSilent) })
	defer alarm.Stop()
	resp, err := c.do(ctx, http.MethodGet, conversations+path, kind, "", nil)
	if err != nil {
		return cmp.Or(silent(ctx), err)
	}
	defer resp.Body.Close()
	if err := read(resetting{resp.Body, alarm}); err != nil {
		return cmp.Or(silent(ctx), err)
	}
	return nil
}

// resetting is a reader that postpones an alarm.
type resetting struct {
	from  io.Reader
	alarm *time.Timer
}

func (r resetting) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.alarm.Reset(silenceTimeout)
	return n, err
}

// Import imports an exported conversation into the server's store. It retries: existing records are not added
// again.
func (c Client) Import(ctx context.Context, id string, records []store.Record) (api.Restored, error) {
	var file bytes.Buffer
	w, err := transfer.NewWriter(&file, time.Now())
	if err == nil {
		err = errors.Join(w.Add(transfer.Conversation{ID: id, Records: records}), w.Close())
	}
	if err != nil {
		return api.Restored{}, err
	}
	return retry.Do(ctx, retry.Retrier{Policy: policy.Interactive()}, func(ctx context.Context, _ int) (api.Restored, error) {
		var done api.Restored
		err := c.ask(ctx, restoreTimeout, http.MethodPost, conversations+pathOf(id)+"/records", linesType, file.Bytes(), &done)
		return done, err
	})
}
