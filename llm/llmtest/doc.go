// Package llmtest tests programs that use language models: with [Model], which answers as scripted, and with
// [Conform], the suite that every provider's model passes.
//
// Nothing here uses a network or a real clock: inside a testing/synctest bubble an answer of an hour takes no
// time.
package llmtest
