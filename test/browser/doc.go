// Package browser tests the page in a real browser, with the real program and a scripted provider. It
// has only tests.
//
// The tests are the *.test.mjs, which node runs. world.mjs starts the processes; fake.mjs is a server for states
// that the real one does not reach on command. They need Chromium (Debian's, or the one in CHROMIUM) and
// packages. scripts/soak browser installs those and runs all scenes; .ci/run has two of them. go test skips them.
package browser
