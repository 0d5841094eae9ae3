package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// sentNow stands for the moment of a put in a value that is sent: instants are that much before or after it.
var sentNow = time.Unix(0, 0).UTC()

// longest bounds instants and durations in what another replica has put: arithmetic with more would overflow.
const longest = 31 * 24 * time.Hour

// encode returns a value as it is sent, put at a time.
func encode[V any](v V, at time.Time) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("value of the fleet's map: %w", err)
	}
	copied, err := decode[V](raw, sentNow, sentNow.Sub(at))
	if err != nil {
		return nil, err
	}
	return json.Marshal(copied)
}

// decode returns a value whose instants are to be moved, within bounds around the moment of its put.
func decode[V any](raw []byte, at time.Time, by time.Duration) (v V, err error) {
	if err = json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("value of the fleet's map: %w", err)
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
