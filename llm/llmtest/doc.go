// Package llmtest is what programs that talk to language models are tested
// with: a [Model] that answers as it was told, and [Conform], the suite that
// every provider passes.
//
// Nothing in here uses a network or a real clock: a test in a testing/synctest
// bubble sees an answer that takes an hour in no time.
package llmtest
