package dialect

import "iter"

// Members ranges over the top-level members of a JSON object without parsing their contents: keys without
// quotes and with escapes as they are, values as raw JSON. It ends early where the text is not JSON.
func Members(object []byte) iter.Seq2[[]byte, []byte] { return members(object) }

// Member returns the raw value of a member of a JSON object; nil: it has none.
func Member(object []byte, name string) []byte { return member(object, name) }

// Elements ranges over the elements of a JSON array as raw JSON. It ends early where the text is not JSON.
func Elements(array []byte) iter.Seq[[]byte] { return elements(array) }

// Payload returns an event's name, where the form has one, and the JSON of a frame, or what stands in its
// place.
func Payload(f Form, frame []byte) (name, data []byte) { return payload(f, frame) }

// AWSEvent returns an event of an AWS stream, with data as Payload returns it.
func AWSEvent(name, data []byte) []byte { return awsEvent(name, data) }

// Edited returns a JSON object with other values for its members; nil leaves one out.
func Edited(object []byte, edit func(key, value []byte) []byte) []byte { return edited(object, edit) }
