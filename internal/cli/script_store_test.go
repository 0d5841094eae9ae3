package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// flip changes a bit of a text in the files of a directory, as a failing disk
// may.
func flip(dir, text string) (places int, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if at := bytes.Index(data, []byte(text)); at >= 0 {
			places++
			data[at] ^= 1
			return os.WriteFile(path, data, 0o600)
		}
		return err
	})
	return places, err
}

// flipping is flip as a program: flip DIR TEXT.
func flipping() {
	if n, err := flip(os.Args[1], os.Args[2]); err != nil || n == 0 {
		fmt.Fprintln(os.Stderr, n, err)
		os.Exit(1)
	}
}
