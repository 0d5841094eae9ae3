// Package manual compiles the Go code of the README and of docs: its tests hold each block, line for line, so
// that the pages cannot show code that does not build; what needs an SDK is in test/sdk. It has no code of its
// own and nothing imports it.
package manual
