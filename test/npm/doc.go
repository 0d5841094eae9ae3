// Package npm drives the vendors' own npm SDKs and the Vercel AI SDK, changed in nothing but the base URL,
// through a gateway on a real socket, in front of a provider that fails on command. It has only tests.
//
// The calls are in calls.mjs, which one process of node runs for all tests. The
// tests need the packages and skip without them:
//
//	npm ci --prefix test/npm
package npm
