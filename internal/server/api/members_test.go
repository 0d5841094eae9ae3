package api_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Some events of turns have a JSON form of their own, which the schema repeats.
func TestDescriptions_EventsHaveEveryMember(t *testing.T) {
	d, err := newDescriber("#/$defs/")
	if err != nil {
		t.Fatalf("read the comments: %v", err)
	}
	d.events()
	for _, b := range bodies() {
		line, err := json.Marshal(wire.Event{Seq: 1, Time: time.Now(), Body: filled(b)})
		if err != nil {
			t.Fatalf("marshal %s: %v", wire.Type(b), err)
		}
		var sent map[string]any
		if err := json.Unmarshal(line, &sent); err != nil {
			t.Fatalf("unmarshal %s: %v", wire.Type(b), err)
		}
		described := d.defs[wire.Type(b)].(object)["properties"].(object)
		for name := range sent {
			if described[name] == nil {
				t.Errorf("the schema of %s does not have %q, which is sent: %s", wire.Type(b), name, line)
			}
		}
		for name := range described {
			if _, is := sent[name]; !is {
				t.Errorf("the schema of %s has %q, which is not sent where it has a value: %s", wire.Type(b), name, line)
			}
		}
	}
}

// filled returns a body in which everything has a value.
func filled(b wire.Body) wire.Body {
	of := reflect.TypeOf(b)
	e, isTurn := b.(wire.Turn)
	if isTurn {
		of = reflect.TypeOf(e.Event)
	}
	v := reflect.New(of).Elem()
	fill(v)
	if r, ok := v.Addr().Interface().(*turn.MCPRetry); ok {
		r.Fault.Window = false // MCP servers have no usage windows
	}
	if isTurn {
		return wire.Turn{Ref: wire.Ref{ConversationID: "c", TurnID: "t"}, Event: v.Interface().(turn.Event)}
	}
	return v.Interface().(wire.Body)
}

const text = "text"

// fill sets a value and its parts.
func fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte("{}"))
		return
	case reflect.TypeFor[llm.Content]():
		v.Set(reflect.ValueOf(llm.Content{llm.Text{Text: "x"}}))
		return
	case reflect.TypeFor[policy.Stop]():
		v.Set(reflect.ValueOf(policy.Committed))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(time.Minute))
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i))
				if v.Field(i).Kind() == reflect.String && v.Field(i).String() == text {
					v.Field(i).SetString(f.Name) // texts differ: one that repeats another is left out
				}
			}
		}
	}
}
