// Package web embeds the web page of `ridethrough serve`: waits, upstreams, incidents, conversations,
// councils and policies. Package server serves its files.
//
// The sources are in src, in TypeScript. The built files in dist are committed, so that building the program
// needs only Go; .ci/run checks that the sources still build them, byte for byte. The program has them as they are
// sent, which is in packed: what gzip makes smaller is compressed. A test makes packed from dist.
package web

import (
	"embed"
	"io/fs"
)

//go:embed packed
var packed embed.FS

// Files returns the page: index.html and the files that it needs. NAME.gz is NAME with gzip.
func Files() fs.FS {
	files, err := fs.Sub(packed, "packed")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}
