// Command cast makes the moving picture of the README: it records a program in a pseudo-terminal, and draws a
// recording as an animated SVG. scripts/moving-picture runs it. A recording has the format asciicast v2.
//
//	cast record COMMAND [ARGUMENT...] > demo.cast
//	cast draw < demo.cast > demo.svg
//	cast words < demo.cast
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "cast: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) > 1 && args[0] == "record":
		return record(args[1:], out)
	case len(args) == 1 && args[0] == "draw":
		return drawn(in, out, func(m movie) string { return m.svg() })
	case len(args) == 1 && args[0] == "words":
		return drawn(in, out, func(m movie) string { return m.words() })
	}
	return errors.New("usage: cast record COMMAND [ARGUMENT...], cast draw or cast words")
}

// drawn reads a recording and writes what show makes of it.
func drawn(in io.Reader, out io.Writer, show func(movie) string) error {
	rec, err := parse(in)
	if err != nil {
		return err
	}
	m, err := play(rec)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, show(m))
	return err
}
