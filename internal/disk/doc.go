// Package disk writes files so that they are whole: it replaces them in one step, and after a crash or a power failure
// at any moment a file has its old or its new content. It also locks a directory for one process.
package disk
