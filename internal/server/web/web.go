// Package web holds the page that `serve` shows people: who waits and for what,
// how the upstreams are, what has happened, and conversations. Whoever looks at
// a terminal less gladly than at a page needs nothing else.
//
// The sources are in src, in TypeScript; what they are built into is in dist
// and committed, so that building the program takes Go and nothing else.
// .ci/run checks that the one still gives the other, byte for byte. Package
// server hands the files out; there is no other Go in here.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files gives the page: index.html, and what it asks for beside itself.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}
