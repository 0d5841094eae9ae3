// Package docs holds those pages of the manual that are for programs, for the
// server to hand out: they are generated, and a test of the server keeps them
// to what it does.
package docs

import _ "embed"

//go:embed openapi.json
var openAPI string

//go:embed events.schema.json
var events string

// OpenAPI describes the API of conversations as JSON, in OpenAPI 3.1.
func OpenAPI() string { return openAPI }

// Events describes all events as JSON Schema, draft 2020-12.
func Events() string { return events }
