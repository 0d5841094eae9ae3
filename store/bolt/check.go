package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/store"
)

// maxProblems is how many problems of a file are reported one by one.
const maxProblems = 20

// Check checks the file of a closed store in a directory and changes nothing. It returns what is wrong with the file.
// What that means for the conversations, reading them shows. If it returns an error beside problems, reading them does
// not end.
func Check(dir string) (problems []string, err error) {
	if !exists(dir, fileName) {
		return nil, fmt.Errorf("check store: %w: there is none in %s", os.ErrNotExist, dir)
	}
	lock, err := lockDirectory(dir, os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("check store: %w", err)
	}
	defer func() { err = errors.Join(err, disk.Unlock(lock)) }()
	path := filepath.Join(dir, fileName)
	db, err := openFile(path, 0)
	if err != nil {
		return []string{err.Error()}, nil
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if lacksHeader(path, int64(db.Info().PageSize)) {
		problems = append(problems, lostHeader)
	}
	err = guard(func() error { return db.View(readEverything) })
	if errors.Is(err, errCircle) {
		return append(problems, err.Error()), fmt.Errorf("check store: %w", err)
	}
	if err == nil { // bbolt's own check runs where a fault ends the process
		err = db.View(func(tx *bbolt.Tx) error {
			for one := range tx.Check() {
				problems = append(problems, one.Error())
			}
			return nil
		})
	}
	if err != nil {
		problems = append(problems, err.Error())
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return problems, nil
}

// errCircle reports pages that lead back to those which lead to them. bbolt follows them without end.
var errCircle = errors.New("its pages lead in a circle: nothing can be read from it; use a copy")

// readEverything reads all keys and values of a file. Each takes at least the sixteen bytes that say where it is.
func readEverything(tx *bbolt.Tx) error {
	left := tx.Size() / 16
	return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			if left--; left < 0 {
				return errCircle
			}
			_ = checksum(key, value)
			return nil
		})
	})
}

const lostHeader = "one of its two headers is damaged: the last write may be lost"

// noteLostHeader notes that the last commit may be lost: bbolt writes one of two headers with each, and silently uses
// the other one if it cannot be read. A power failure leaves such a header of a commit that was not acknowledged.
func (s *boltStore) noteLostHeader(path string) {
	if lacksHeader(path, s.pageSize) {
		s.losses.add(store.Loss{Noticed: time.Now().UTC(), Messages: 1})
		s.config.Log.Error("the file of the store is damaged", "file", path, "error", lostHeader)
	}
}

// lacksHeader reports whether one of the two headers of a file is damaged. Each is on a page of its own, after
// the sixteen bytes that all pages begin with, and ends with its checksum.
func lacksHeader(path string, pageSize int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }() // it was only read
	for page := range int64(2) {
		header := make([]byte, 64)
		if _, err := io.ReadFull(io.NewSectionReader(f, page*pageSize+16, 64), header); err != nil {
			return true
		}
		sum := fnv.New64a()
		_, _ = sum.Write(header[:56])
		if sum.Sum64() != binary.NativeEndian.Uint64(header[56:]) {
			return true
		}
	}
	return false
}
