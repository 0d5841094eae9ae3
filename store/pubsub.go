package store

import "context"

// Message is one message on a topic: the records of one append to the
// conversation of that id, or the data of one Publish.
type Message struct {
	Records []Record
	Data    []byte
	Gap     bool // earlier messages were lost: read the log
}

// PubSub delivers published data and appended records to the current subscribers. It stores nothing.
type PubSub interface {
	// Publish sends data of at most 512 KiB to all subscribers of a topic.
	Publish(ctx context.Context, topic string, data []byte) error
	// Subscribe returns the messages on a topic. The channel is closed when ctx ends or the store is closed.
	// A slow subscriber loses the oldest messages and sees a Gap; it delays no publisher. Appends arrive in
	// order, and so do the messages of one publisher.
	Subscribe(ctx context.Context, topic string) (<-chan Message, error)
}
