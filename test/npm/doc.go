// Package npm drives the vendors' own npm SDKs, the Vercel AI SDK and coding agents, changed in nothing but
// the base URL, through a gateway on a real socket, in front of a provider that fails on command. It has only
// tests.
//
// The calls of SDKs are in calls.mjs, which one process of node runs for all tests. The
// tests need the packages and skip without them:
//
//	npm ci --prefix test/npm
//
// Codex is among these packages. The other agents take a gigabyte and are in a folder of their own, for
// Linux on x86-64:
//
//	npm install --no-save --prefix test/npm/agents --ignore-scripts
//	go test ./test/npm -count=1 -v -run 'TestAgents|TestExec|TestSetup' -args -agents agents
//
// Without -real-time the tests that take 20 and 40 minutes are skipped. docs/holding.md has the results, and
// the command of each.
package npm
