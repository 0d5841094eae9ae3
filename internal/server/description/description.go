// Package description embeds the descriptions of the HTTP API for programs. A test generates them from the
// API's types and operations. The program has them compressed, as they are sent.
package description

import _ "embed"

//go:embed openapi.json.gz
var openAPI string

//go:embed events.schema.json.gz
var events string

// OpenAPI returns the description of conversations and councils, in OpenAPI 3.1 with gzip.
func OpenAPI() string { return openAPI }

// Events returns the description of all events, in JSON Schema, draft 2020-12, with gzip.
func Events() string { return events }
