package clock

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// sentNow stands for now in a value that is sent: instants are that much before or after it.
var sentNow = time.Unix(0, 0).UTC()

// longest bounds instants and durations in what another process has sent: arithmetic with more would overflow.
const longest = 31 * 24 * time.Hour

// Relative returns a value as JSON that is read where the clock may differ, with its instants relative to now.
func Relative[V any](v V, now time.Time) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("value for other clocks: %w", err)
	}
	copied, err := read[V](raw, sentNow, sentNow.Sub(now))
	if err != nil {
		return nil, err
	}
	return json.Marshal(copied)
}

// Absolute returns the value that [Relative] has written at a time by the clock here. Its instants are within a month of
// that, its durations between none and a month.
func Absolute[V any](raw []byte, at time.Time) (V, error) { return read[V](raw, at, at.Sub(sentNow)) }

// read returns a value whose instants are to be moved.
func read[V any](raw []byte, at time.Time, by time.Duration) (v V, err error) {
	if err = json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("value of another clock: %w", err)
	}
	move(reflect.ValueOf(&v).Elem(), at, by)
	return v, nil
}

// move moves the instants in a value.
func move(v reflect.Value, at time.Time, by time.Duration) {
	switch known := v.Addr().Interface().(type) {
	case *time.Time:
		if !known.IsZero() {
			*known = at.Add(min(max(known.Add(by).Sub(at), -longest), longest))
		}
		return
	case *time.Duration:
		*known = min(max(*known, 0), longest)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			move(v.Elem(), at, by)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				move(v.Field(i), at, by)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				move(v.Index(i), at, by)
			}
		}
	}
}
