package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// restoreTimeout is how long a server may take to import a conversation.
const restoreTimeout = 10 * time.Minute

// Process returns the id of the server's process.
func (c Client) Process(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, "/-/", jsonType, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var is struct {
		Process int `json:"process"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, bound)).Decode(&is)
	return is.Process, err
}

// Export returns all records of a conversation.
func (c Client) Export(ctx context.Context, id string) ([]store.Record, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silenceTimeout, func() { cancel(errSilent) })
	defer alarm.Stop()
	resp, err := c.do(ctx, http.MethodGet, conversations+pathOf(id)+"/records", linesType, nil)
	if err != nil {
		return nil, cmp.Or(silent(ctx), err)
	}
	defer resp.Body.Close()
	var all []store.Record
	for one, err := range archive.ReadText(resetting{resp.Body, alarm}) {
		if err != nil {
			return nil, cmp.Or(silent(ctx), err)
		}
		all = one.Records
	}
	return all, nil
}

// resetting is a reader that puts off an alarm.
type resetting struct {
	from  io.Reader
	alarm *time.Timer
}

// Read reads what has come.
func (r resetting) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.alarm.Reset(silenceTimeout)
	return n, err
}

// Import puts a conversation that was exported into the server's store. It retries: what is there already is not
// added again.
func (c Client) Import(ctx context.Context, id string, records []store.Record) (api.Restored, error) {
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, time.Now())
	if err == nil {
		err = errors.Join(w.Add(archive.Conversation{ID: id, Records: records}), w.Close())
	}
	if err != nil {
		return api.Restored{}, err
	}
	return retry.Do(ctx, retry.Retrier{Policy: policy.Interactive()}, func(ctx context.Context, _ int) (api.Restored, error) {
		return c.post(ctx, conversations+pathOf(id)+"/records", file.Bytes())
	})
}

// post sends a file and returns what became of it.
func (c Client) post(ctx context.Context, path string, file []byte) (done api.Restored, err error) {
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	resp, err := c.send(ctx, http.MethodPost, path, http.Header{"Accept": {jsonType}, "Content-Type": {linesType}}, file)
	if err != nil {
		return done, err
	}
	defer resp.Body.Close()
	err = json.NewDecoder(io.LimitReader(resp.Body, bound)).Decode(&done)
	return done, err
}
