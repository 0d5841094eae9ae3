package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// flip changes a bit of a text wherever it is in the files of a directory, as a failing disk may: pages that are free
// have copies.
func flip(dir, text string) (places int, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if n := bytes.Count(data, []byte(text)); n > 0 {
			places += n
			flipped := []byte(text)
			flipped[0] ^= 1
			return os.WriteFile(path, bytes.ReplaceAll(data, []byte(text), flipped), 0o600)
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
