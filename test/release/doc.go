// Package release checks the files by which the programs are built, packaged and deployed against the programs: that
// the flags, variables, ports and paths they name exist. It has only tests. scripts/release --snapshot checks the same
// files with their own tools.
package release
