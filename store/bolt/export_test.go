package bolt

import (
	"bytes"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// CountRecords returns how many records of a log are in the file, also if it was deleted.
func CountRecords(s store.Store, conversation string) (n int, err error) {
	err = s.(*boltStore).view(func(f file) error {
		prefix := append([]byte(conversation), 0)
		c := f.records.Cursor()
		for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
			n++
		}
		return nil
	})
	return n, err
}

// HoldReader reads the file until during has ended, as a copy does to a disk that stalls.
func HoldReader(s store.Store, during func()) error {
	return s.(*boltStore).view(func(file) error { during(); return nil })
}

// OpenFile opens a file with a map of a size, and returns why it cannot be opened.
func OpenFile(path string, mapped int) error {
	db, err := openFile(path, mapped)
	if err == nil {
		err = db.Close()
	}
	return err
}

// SetSyncLatency sets the latency that was measured at the start.
func SetSyncLatency(s store.Store, d time.Duration) { s.(*boltStore).syncLatency = d }
