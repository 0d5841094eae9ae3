package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// The terminal in which programs are recorded.
const (
	columns = 80
	lines   = 24
)

// header is the first line of a recording.
type header struct {
	Version int    `json:"version"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Command string `json:"command"`
}

// output is a piece of what the program wrote, and when.
type output struct {
	at   time.Duration
	text string
}

// recording is a program's run.
type recording struct {
	header
	outputs []output
}

// record runs a command in a pseudo-terminal and writes what it writes, with times. The title has its name alone.
func record(command []string, out io.Writer) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: lines, Cols: columns})
	if err != nil {
		return fmt.Errorf("record %s: %w", command[0], err)
	}
	defer terminal.Close()
	command[0] = filepath.Base(command[0])
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{Version: 2, Width: columns, Height: lines, Command: strings.Join(command, " ")}); err != nil {
		return err
	}
	if err := copyTimed(terminal, enc); err != nil {
		return err
	}
	return cmd.Wait()
}

// copyTimed encodes the runes of a terminal as they come, until its program ends.
func copyTimed(terminal io.Reader, enc *json.Encoder) error {
	begun := time.Now()
	var rest []byte // the beginning of a rune
	buf := make([]byte, 4096)
	for {
		n, err := terminal.Read(buf)
		text := append(rest, buf[:n]...)
		whole := wholeRunes(text)
		if whole > 0 {
			at := float64(time.Since(begun).Milliseconds()) / 1000
			if err := enc.Encode([]any{at, "o", string(text[:whole])}); err != nil {
				return err
			}
		}
		rest = append([]byte(nil), text[whole:]...)
		if err == io.EOF || errors.Is(err, syscall.EIO) { // Linux says EIO when the program has ended
			return nil
		}
		if err != nil {
			return fmt.Errorf("read terminal: %w", err)
		}
	}
}

// parse reads a recording.
func parse(in io.Reader) (rec recording, err error) {
	scan := bufio.NewScanner(in)
	if !scan.Scan() {
		return rec, errors.Join(errors.New("the recording is empty"), scan.Err())
	}
	if err := json.Unmarshal(scan.Bytes(), &rec.header); err != nil || rec.Version != 2 || rec.Width < 1 || rec.Height < 1 {
		return rec, fmt.Errorf("no header of an asciicast v2: %.100q", scan.Text())
	}
	for scan.Scan() {
		var at float64
		var kind, text string
		if err := json.Unmarshal(scan.Bytes(), &[]any{&at, &kind, &text}); err != nil {
			return rec, fmt.Errorf("parse %.100q: %w", scan.Text(), err)
		}
		if kind == "o" {
			rec.outputs = append(rec.outputs, output{time.Duration(at * float64(time.Second)), text})
		}
	}
	return rec, scan.Err()
}
