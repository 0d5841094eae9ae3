package bolt

import "github.com/ridethrough/ridethrough/store"

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
