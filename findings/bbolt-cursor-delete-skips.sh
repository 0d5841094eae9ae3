#!/usr/bin/env bash
# A loop that deletes by a bbolt cursor and goes on with Next (go.etcd.io/bbolt 1.5.0) deletes all keys in a transaction
# of its own, so in most tests of it, and every second one where the transaction has written to that page before. The
# README says that Next may skip a key behind a deletion, and not what decides. With db.Batch the write can be a
# stranger's: functions that know nothing of each other share a transaction, and whether a cleaning is whole depends on
# which of them came first. No call fails; the keys are still there. Bucket.Delete in the loop makes no difference; Seek
# to the deleted key in place of Next deletes all.
#
# Seen with Go 1.26, of ten keys to delete:
#	alone: left 0
#	after a Put of another key: left 5
#	after a Put of another key, with Bucket.Delete: left 5
#	after a Put of another key, with Seek: left 0
#	Batch, the deleting one first: left 0
#	Batch, the writing one first: left 5
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod
go mod init try 2>/dev/null
go get go.etcd.io/bbolt@v1.5.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

var jobs, old = []byte("jobs"), []byte("old/")

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// each walks the old keys; forget deletes one, after is the step behind it.
func each(tx *bbolt.Tx, forget func(*bbolt.Cursor, []byte) error, after func(*bbolt.Cursor, []byte) []byte) error {
	c := tx.Bucket(jobs).Cursor()
	k, _ := c.Seek(old)
	for bytes.HasPrefix(k, old) {
		if err := forget(c, k); err != nil {
			return err
		}
		k = after(c, k)
	}
	return nil
}

func next(c *bbolt.Cursor, _ []byte) []byte { k, _ := c.Next(); return k }
func seek(c *bbolt.Cursor, k []byte) []byte { k, _ = c.Seek(bytes.Clone(k)); return k }
func byCursor(c *bbolt.Cursor, _ []byte) error { return c.Delete() }
func byBucket(c *bbolt.Cursor, k []byte) error { return c.Bucket().Delete(k) }

func write(tx *bbolt.Tx) error { return tx.Bucket(jobs).Put([]byte("young/1"), nil) }
func clean(tx *bbolt.Tx) error { return each(tx, byCursor, next) }

func main() {
	db, err := bbolt.Open("db", 0o600, nil)
	must(err)
	try := func(name string, run func() error) {
		must(db.Update(func(tx *bbolt.Tx) error {
			if tx.Bucket(jobs) != nil {
				must(tx.DeleteBucket(jobs))
			}
			b, err := tx.CreateBucket(jobs)
			for i := 0; i < 10 && err == nil; i++ {
				err = b.Put(fmt.Appendf(nil, "%s%d", old, i), nil)
			}
			return err
		}))
		must(run())
		left := 0
		must(db.View(func(tx *bbolt.Tx) error {
			return tx.Bucket(jobs).ForEach(func(k, _ []byte) error {
				if bytes.HasPrefix(k, old) {
					left++
				}
				return nil
			})
		}))
		fmt.Printf("%s: left %d\n", name, left)
	}
	one := func(steps ...func(*bbolt.Tx) error) func() error {
		return func() error {
			return db.Update(func(tx *bbolt.Tx) error {
				for _, step := range steps {
					if err := step(tx); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	db.MaxBatchSize, db.MaxBatchDelay = 2, time.Minute // a batch is the two that come
	two := func(first, second func(*bbolt.Tx) error) func() error {
		return func() error {
			var both sync.WaitGroup
			both.Go(func() { must(db.Batch(first)) })
			time.Sleep(500 * time.Millisecond)
			both.Go(func() { must(db.Batch(second)) })
			both.Wait()
			return nil
		}
	}
	try("alone", one(clean))
	try("after a Put of another key", one(write, clean))
	try("after a Put of another key, with Bucket.Delete", one(write, func(tx *bbolt.Tx) error { return each(tx, byBucket, next) }))
	try("after a Put of another key, with Seek", one(write, func(tx *bbolt.Tx) error { return each(tx, byCursor, seek) }))
	try("Batch, the deleting one first", two(clean, write))
	try("Batch, the writing one first", two(write, clean))
}
END
go run . | tee seen
diff seen - <<'END'
alone: left 0
after a Put of another key: left 5
after a Put of another key, with Bucket.Delete: left 5
after a Put of another key, with Seek: left 0
Batch, the deleting one first: left 0
Batch, the writing one first: left 5
END
