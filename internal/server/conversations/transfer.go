package conversations

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/store"
)

const (
	recordsBound = 64 << 20  // the largest conversation that is restored, in bytes
	packet       = 64 << 10  // how much of a file is sent at a time
	copyTime     = time.Hour // for a client to read a copy of the store
)

// records streams the records of a conversation as a file of `ridethrough export`. It reads all of them before it
// sends the first, so that a lost record is an error and not half a file.
func (a *API) records(w http.ResponseWriter, r *http.Request) error {
	if !a.Readers.Admit(w) {
		return nil
	}
	defer a.Readers.Leave()
	id := r.PathValue("id")
	var last int64
	for rec, err := range a.Runner.Export(r.Context(), id) {
		if err != nil {
			return err
		}
		last = rec.N
	}
	w.Header().Set("Content-Type", rest.NDJSON)
	if r.Method == http.MethodHead {
		return nil
	}
	out := &fileWriter{exchange.Writer{ResponseWriter: w}}
	defer out.Close()
	if err := a.writeRecords(r.Context(), out, id, last); err != nil && r.Context().Err() == nil {
		a.Log.Warn("records of a conversation sent in part", "conversation", id, "error", err)
	}
	return nil
}

// writeRecords writes the records of a conversation up to one. After an error the file has no last line, which its
// reader notices.
func (a *API) writeRecords(ctx context.Context, out *fileWriter, id string, last int64) error {
	file, err := transfer.NewWriter(bufio.NewWriterSize(out, packet), time.Now())
	if err != nil {
		return err
	}
	for rec, err := range a.Runner.Export(ctx, id) {
		if err == nil {
			err = file.AddRecord(id, rec)
		}
		if err != nil {
			return err
		}
		if rec.N == last {
			break
		}
	}
	return file.Close()
}

// copyStore sends a copy of the store's file. There is one at a time, because each is on the disk.
func (a *API) copyStore(w http.ResponseWriter, r *http.Request) error {
	if !a.copying.TryLock() {
		return rest.Problem(http.StatusServiceUnavailable, "another copy is being made")
	}
	defer a.copying.Unlock()
	err := a.Runner.Store.Snapshot(r.Context(), func(f *os.File) error {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(copyTime)) // where that is possible
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, f)
		return nil
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return rest.Problem(http.StatusBadRequest, "the conversations are in no file of this machine")
	}
	return err
}

type fileWriter struct{ exchange.Writer }

func (w *fileWriter) Write(p []byte) (int, error) {
	if err := w.Writer.Write(p, rest.StallTime); err != nil {
		return 0, err
	}
	return len(p), nil
}

// restore imports an exported conversation into the store. There is one at a time, because each is in memory.
func (a *API) restore(w http.ResponseWriter, r *http.Request) error {
	if !a.restoring.TryLock() {
		return rest.Problem(http.StatusServiceUnavailable, "another conversation is being imported")
	}
	defer a.restoring.Unlock()
	id := r.PathValue("id")
	given, err := readRecords(w, r)
	if err != nil {
		return err
	}
	added, err := a.Runner.Restore(r.Context(), id, given)
	if err != nil {
		return err
	}
	v, err := a.Runner.Get(r.Context(), id)
	if err != nil {
		return err
	}
	rest.Answer(w, http.StatusOK, views.RestoredOf(added, v))
	return nil
}

func readRecords(w http.ResponseWriter, r *http.Request) (records []store.Record, err error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != rest.NDJSON {
		return nil, rest.Problem(http.StatusUnsupportedMediaType, "want Content-Type: %s", rest.NDJSON)
	}
	for one, err := range transfer.ReadText(http.MaxBytesReader(w, r.Body, recordsBound)) {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, rest.Problem(http.StatusRequestEntityTooLarge, "the conversation is larger than %d bytes; import it while the server is stopped", recordsBound)
		}
		if err == nil && one.ID != r.PathValue("id") {
			err = fmt.Errorf("the file has the conversation %s", rest.Clip(one.ID))
		}
		if err != nil {
			return nil, rest.Problem(http.StatusBadRequest, "%v", err)
		}
		records = one.Records
	}
	return records, nil
}
