// Package openapi holds the descriptions of the API against what others' tools
// make of them. It has only tests.
//
// It is a module of its own because those tools are needed by these tests
// alone. From the root of the repository:
//
//	go -C test/openapi test ./...
package openapi
