// Command calls makes a profile that Go's compiler takes of the list of calls that `go tool preprofile` prints:
//
//	go tool preprofile -i FILE | go run ./bench/internal/calls >default.pgo
//
// The compiler uses nothing else of a profile: which line of which function calls which other, and how often the
// samples met that. So what it writes has names of functions, and no stacks, files, addresses or paths.
// scripts/profile uses it.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// header is the first line of the list.
const header = "GO PREPROFILE V1"

// firstLine is where every function of the profile begins: only distances from there count.
const firstLine = 1000

func main() {
	if err := convert(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

// call is a place that calls a function.
type call struct {
	caller, callee string
	line           int64 // counted from the caller's first
	weight         int64
}

// convert reads the list and writes the profile.
func convert(w io.Writer, r io.Reader) error {
	calls, err := read(r)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = z.Write(encode(calls))
	return errors.Join(err, z.Close())
}

// read reads the list: the caller, the callee, and a line with two numbers.
func read(r io.Reader) (all []call, err error) {
	lines := bufio.NewScanner(r)
	if lines.Scan(); lines.Text() != header {
		return nil, fmt.Errorf("the list of calls begins with %q, want %q", lines.Text(), header)
	}
	for lines.Scan() {
		c := call{caller: lines.Text()}
		if lines.Scan() {
			c.callee = lines.Text()
		}
		lines.Scan()
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &c.line, &c.weight); err != nil {
			return nil, fmt.Errorf("call of %q: numbers %q: %w", c.callee, lines.Text(), err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("the list has no calls")
	}
	return all, lines.Err()
}

// Fields of the messages of profile.proto, by their numbers.
const (
	profileSampleType, profileSample, profileLocation, profileFunction, profileText = 1, 2, 4, 5, 6

	typeName, typeUnit                  = 1, 2
	samplePlaces, sampleValue           = 1, 2
	locationID, locationLine            = 1, 4
	lineFunction, lineNumber            = 1, 2
	functionID, functionName, firstOfIt = 1, 2, 5
)

// profile is what is written, with the numbers of what it has so far.
type profile struct {
	message
	texts     map[string]int64
	functions map[string]int64
	places    map[place]int64
}

// place is a line of a function.
type place struct {
	function string
	line     int64
}

// encode writes a sample for each call, whose stack is the two functions.
func encode(calls []call) []byte {
	p := profile{texts: map[string]int64{}, functions: map[string]int64{}, places: map[place]int64{}}
	p.text("") // is number 0
	var kind message
	kind.number(typeName, p.text("samples"))
	kind.number(typeUnit, p.text("count"))
	p.embed(profileSampleType, kind)
	for _, c := range calls {
		var s message
		s.number(samplePlaces, p.place(place{function: c.callee}))
		s.number(samplePlaces, p.place(place{c.caller, c.line}))
		s.number(sampleValue, c.weight)
		p.embed(profileSample, s)
	}
	return p.message
}

// text returns the number of a text.
func (p *profile) text(s string) int64 {
	n, known := p.texts[s]
	if !known {
		n = int64(len(p.texts))
		p.texts[s] = n
		p.embed(profileText, []byte(s))
	}
	return n
}

// function returns the number of a function.
func (p *profile) function(name string) int64 {
	n, known := p.functions[name]
	if !known {
		n = int64(len(p.functions)) + 1
		p.functions[name] = n
		var f message
		f.number(functionID, n)
		f.number(functionName, p.text(name))
		f.number(firstOfIt, firstLine)
		p.embed(profileFunction, f)
	}
	return n
}

// place returns the number of a place.
func (p *profile) place(at place) int64 {
	n, known := p.places[at]
	if !known {
		n = int64(len(p.places)) + 1
		p.places[at] = n
		var line, l message
		line.number(lineFunction, p.function(at.function))
		line.number(lineNumber, firstLine+at.line)
		l.number(locationID, n)
		l.embed(locationLine, line)
		p.embed(profileLocation, l)
	}
	return n
}

// message is one of protobuf.
type message []byte

// number adds a field with a number.
func (m *message) number(field int, n int64) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3), uint64(n))
}

// embed adds a field with bytes.
func (m *message) embed(field int, b []byte) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3|2), uint64(len(b)))
	*m = append(*m, b...)
}
