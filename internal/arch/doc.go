// Package arch holds the architecture as a test: which packages there are, on which
// floor each stands, what it may import, and the rules of the house that a
// parser can see. It has no code of its own and nothing imports it.
//
// A new package gets a row in house (arch_test.go) with the commit that adds it. The test reads the sources,
// never a build, so that it judges files of every platform alike and takes a few milliseconds.
package arch
