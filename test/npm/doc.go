// Package npm drives the vendors' own npm SDKs, the Vercel AI SDK and coding agents, changed in nothing but
// the base URL, through a gateway on a real socket, in front of a provider that fails on command. It has only
// tests.
//
// The calls of SDKs are in calls.mjs, which one process of node runs for all tests. The
// tests skip unless RIDETHROUGH_NPM is set. scripts/soak agents installs the packages and runs all of them. Codex is among
// those of this folder. The other agents take a gigabyte and are in agents, for Linux on x86-64.
//
// Without -real-time the tests that take 20 and 40 minutes are skipped. docs/holding.md has the results, and
// the command of each.
package npm
