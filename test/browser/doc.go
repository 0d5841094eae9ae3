// Package browser looks at the page in a real browser, with the real program
// behind it and a provider that fails on command. It has only tests.
//
// They are in the *.test.mjs beside it, which node runs; world.mjs starts the
// processes, fake.mjs is a server for what the real one cannot be brought to. They
// need Chromium (Debian's, or what CHROMIUM names) and two packages, and skip
// without them:
//
//	npm ci --prefix test/browser --ignore-scripts
package browser
