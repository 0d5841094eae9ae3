package bolt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// The buckets of the file. A number is eight bytes, so that keys are in the order of numbers.
//
//	heads    conversation                   -> number and sequence number of the last record; number -1: deleted
//	records  conversation, 0, its number    -> a record
//	jobs     when it is due, a number       -> a job
//	turns    turn                           -> key of the job that was scheduled last
func buckets() [][]byte {
	return [][]byte{[]byte("heads"), []byte("records"), []byte("jobs"), []byte("turns")}
}

// file is the file in a transaction.
type file struct {
	tx                          *bbolt.Tx
	heads, records, jobs, turns *bbolt.Bucket
}

// newFile finds the buckets of the file.
func newFile(tx *bbolt.Tx) (file, error) {
	var found [4]*bbolt.Bucket
	for i, name := range buckets() {
		if found[i] = tx.Bucket(name); found[i] == nil {
			return file{}, fmt.Errorf("%w: it has no %s", errDamaged, name)
		}
	}
	return file{tx, found[0], found[1], found[2], found[3]}, nil
}

// checksum includes the key, so that a value in the place of another is found.
func checksum(key, data []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, data)
}

// put stores data with its checksum.
func put(b *bbolt.Bucket, key, data []byte) error {
	return b.Put(key, append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(data)), checksum(key, data)), data...))
}

// get returns a copy of the data of a key, or false if it is missing or damaged.
func get(b *bbolt.Bucket, key []byte) (data []byte, ok bool) {
	_ = guard(func() error { // what cannot be read is as good as missing
		data, ok = unseal(key, b.Get(key))
		return nil
	})
	return data, ok
}

// unseal returns a copy of the data in a value, if its checksum is right. A length that was never written is not
// believed.
func unseal(key, value []byte) ([]byte, bool) {
	if len(value) < 4 || len(value) > limit.Append+1024 {
		return nil, false
	}
	data := value[4:]
	return bytes.Clone(data), binary.BigEndian.Uint32(value) == checksum(key, data)
}

// recordKey returns the key of a record.
func recordKey(conversation string, n int64) []byte {
	key := make([]byte, 0, len(conversation)+9)
	return binary.BigEndian.AppendUint64(append(append(key, conversation...), 0), uint64(n))
}

// parseRecordKey returns the conversation and the number in a key, or "" if it is not the key of a record.
func parseRecordKey(key []byte) (conversation string, n int64) {
	i := len(key) - 9
	if i < 0 || key[i] != 0 || limit.ID("conversation", string(key[:i])) != nil {
		return "", 0
	}
	return string(key[:i]), int64(binary.BigEndian.Uint64(key[i+1:]))
}

// numbered returns copies of valid records as they are read back, and their data.
func numbered(conversation string, at store.Position, all []store.Record) (added []store.Record, data [][]byte, err error) {
	if err := limit.ID("conversation", conversation); err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%w: append of no records", store.ErrInvalid)
	}
	size := 0
	for i, r := range all {
		if err := limit.Record(r.Turn, r.Type, r.Time, r.Body); err != nil {
			return nil, nil, err
		}
		r.N, r.Time = at.N+1+int64(i), r.Time.Round(0).UTC()
		one, err := encodeRecord(&r)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		added, data, size = append(added, r), append(data, one), size+len(one)
	}
	if size > limit.Append {
		return nil, nil, fmt.Errorf("%w: append of %d bytes", store.ErrTooLarge, size)
	}
	return added, data, nil
}

// encodeRecord returns a record without its number: its time, turn and type, each with its length, and its body, which
// it compacts.
func encodeRecord(r *store.Record) ([]byte, error) {
	at, err := r.Time.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	for _, field := range []string{string(at), r.Turn, r.Type} {
		data.WriteByte(byte(len(field)))
		data.WriteString(field)
	}
	if r.Body != nil {
		start := data.Len()
		if err := json.Compact(&data, r.Body); err != nil {
			return nil, err
		}
		r.Body = data.Bytes()[start:]
	}
	return data.Bytes(), nil
}

// decodeRecord returns the record in data of that number, or false if the data is no record.
func decodeRecord(n int64, data []byte) (store.Record, bool) {
	r, fields := store.Record{N: n}, [3][]byte{}
	for i := range fields {
		if len(data) == 0 || len(data) <= int(data[0]) {
			return r, false
		}
		fields[i], data = data[1:1+data[0]], data[1+data[0]:]
	}
	var at time.Time
	if err := at.UnmarshalBinary(fields[0]); err != nil {
		return r, false
	}
	if r.Time, r.Turn, r.Type = at.UTC(), string(fields[1]), string(fields[2]); len(data) > 0 {
		r.Body = data
	}
	return r, true
}
