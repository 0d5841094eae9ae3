// Package sdk drives the vendors' own Go SDKs, changed in nothing but the base URL, through the gateway and
// over package transport, in front of a provider that fails on command. It has only tests.
//
// It is a module of its own because the SDKs are needed by these tests alone:
// in the main module they and what they require would weigh on the dependency
// graph of everybody who imports it. From the root of the repository:
//
//	go -C test/sdk test ./...
package sdk
