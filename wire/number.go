package wire

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
)

// Millis is a duration that is a whole number of milliseconds in JSON.
type Millis time.Duration

// maxMillis is the longest duration.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// MarshalJSON writes the milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(text []byte) error {
	var ms int64
	if err := json.Unmarshal(text, &ms); err != nil {
		return err
	}
	if ms > maxMillis || ms < -maxMillis {
		return errors.New(strconv.FormatInt(ms, 10) + " ms is out of range")
	}
	*m = Millis(time.Duration(ms) * time.Millisecond)
	return nil
}

// Ordinal is the number of a retry, from 1. In JSON it is from 0.
type Ordinal int

// MarshalJSON writes the number from 0.
func (n Ordinal) MarshalJSON() ([]byte, error) { return json.Marshal(max(0, int(n)-1)) }

// UnmarshalJSON reads the number from 0.
func (n *Ordinal) UnmarshalJSON(text []byte) error {
	var attempt int
	if err := json.Unmarshal(text, &attempt); err != nil {
		return err
	}
	*n = Ordinal(attempt + 1)
	return nil
}
