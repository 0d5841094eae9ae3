package preamble

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/turn"
)

// Accepted reports whether the client of a request can read a preamble.
func Accepted(h http.Header) bool { return slices.Contains(h[Accept], Type) }

// Writer writes an answer, behind a preamble once that has begun. [Writer.Tell] may be called concurrently, the
// other methods only one after the other.
type Writer struct {
	http.ResponseWriter
	answer http.Header // of the answer behind a preamble; nil: none has begun

	mu      sync.Mutex
	pending []byte // lines that have not been written
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Begin writes the headers of a response with a preamble. call identifies the request for commands.
func (w *Writer) Begin(call string) {
	h := w.ResponseWriter.Header()
	w.answer = h.Clone()
	h.Set("Content-Type", Type)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Set(Call, call)
	w.ResponseWriter.WriteHeader(http.StatusOK)
}

// Tell adds an event to the preamble.
func (w *Writer) Tell(e turn.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, line(e)...)
}

// Take returns the lines that are to be written next: an empty one if there are no others.
func (w *Writer) Take() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.pending
	if w.pending = nil; lines == nil {
		return []byte("\n")
	}
	return lines
}

// Pending reports whether there are lines that have not been written.
func (w *Writer) Pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending != nil
}

// Header returns the headers of the answer.
func (w *Writer) Header() http.Header {
	if w.answer != nil {
		return w.answer
	}
	return w.ResponseWriter.Header()
}

// WriteHeader begins the answer. It ends the preamble, if that has begun.
func (w *Writer) WriteHeader(status int) {
	if w.answer == nil {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	last, _ := json.Marshal(head{answerType, status, w.answer})            // strings always have a form in JSON
	_, _ = w.ResponseWriter.Write(append(append(w.Take(), last...), '\n')) // the client may have disconnected
}
