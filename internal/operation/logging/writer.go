package logging

import (
	"io"
	"sync"
	"time"
)

const (
	queueBytes = 1 << 20     // queued lines, about 4 000
	spareBytes = 64 << 10    // a buffer that is kept for reuse
	retryTime  = time.Second // until a failed write is tried again
	closeTime  = time.Second // for the last lines when the program ends
)

// Writer writes lines to another writer from its own goroutine. Write never waits: it drops and counts lines beyond
// the queue. The order of the lines is kept, and a line says where lines were dropped. Its methods may be called
// concurrently.
type Writer struct {
	to     io.Writer
	notice func(dropped int64) []byte

	mu      sync.Mutex
	queue   []byte // whole lines
	dropped int64  // lines since the last notice; they follow those in the queue
	total   int64  // all lines that were dropped
	closed  bool

	news    chan struct{} // has a value while the queue may have lines
	closing chan struct{}
	ended   chan struct{}
}

// NewWriter returns a writer to w. notice returns the line that says how many lines were dropped. [Writer.Close]
// ends it.
func NewWriter(w io.Writer, notice func(dropped int64) []byte) *Writer {
	a := &Writer{
		to: w, notice: notice,
		news: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go a.run()
	return a
}

// Write queues a line, or drops it. It always succeeds.
func (a *Writer) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.dropped > 0 || len(a.queue)+len(line) > queueBytes {
		a.dropped++
		a.total++
		return len(line), nil
	}
	a.queue = append(a.queue, line...)
	select {
	case a.news <- struct{}{}:
	default:
	}
	return len(line), nil
}

// Dropped returns how many lines were dropped.
func (a *Writer) Dropped() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}

// Close writes the queued lines, if possible within a second. Later lines are dropped.
func (a *Writer) Close() error {
	a.mu.Lock()
	first := !a.closed
	a.closed = true
	a.mu.Unlock()
	if first {
		close(a.closing)
	}
	limit := time.NewTimer(closeTime)
	defer limit.Stop()
	select {
	case <-a.ended:
	case <-limit.C: // the goroutine ends with the process, or once a reader comes
	}
	return nil
}

// run writes the queue until the writer is closed, and then the rest.
func (a *Writer) run() {
	defer close(a.ended)
	var spare []byte
	for open := true; open; {
		select {
		case <-a.news:
		case <-a.closing:
			open = false
		}
		batch := a.take(spare)
		if !a.write(batch) {
			return
		}
		if spare = batch[:0]; cap(spare) > spareBytes {
			spare = nil
		}
	}
}

// take returns the queued lines and the notice that follows them. spare becomes the empty queue.
func (a *Writer) take(spare []byte) []byte {
	a.mu.Lock()
	batch, dropped := a.queue, a.dropped
	a.queue, a.dropped = spare, 0
	a.mu.Unlock()
	if dropped > 0 {
		batch = append(batch, a.notice(dropped)...)
	}
	return batch
}

// write writes a batch, however long that takes: a full disk may be emptied. Once the writer is closed it tries one
// last time, and reports false if that fails.
func (a *Writer) write(batch []byte) bool {
	for last := false; len(batch) > 0; {
		n, err := a.to.Write(batch)
		if batch = batch[n:]; err == nil {
			return true
		}
		if last {
			return false
		}
		last = a.pause()
	}
	return true
}

// pause waits until a failed write is tried again. It reports whether the writer was closed.
func (a *Writer) pause() bool {
	retry := time.NewTimer(retryTime)
	defer retry.Stop()
	select {
	case <-retry.C:
		return false
	case <-a.closing:
		return true
	}
}
