package limit

// Backlog is how many messages a subscriber may be behind.
const Backlog = 256

// Buffer is the channel of one subscriber. A full one drops the oldest message.
// Only one goroutine at a time may send.
type Buffer[M any] struct {
	C       chan M
	markGap func(M) M
	dropped bool // since the last message that was sent
}

// NewBuffer returns an empty buffer. The message that follows dropped ones is the result of markGap.
func NewBuffer[M any](markGap func(M) M) *Buffer[M] {
	return &Buffer[M]{C: make(chan M, Backlog), markGap: markGap}
}

// Send adds a message without blocking.
func (b *Buffer[M]) Send(m M) {
	for {
		if b.dropped {
			m = b.markGap(m)
		}
		select {
		case b.C <- m:
			b.dropped = false
			return
		default:
		}
		select {
		case <-b.C:
			b.dropped = true
		default:
		}
	}
}
