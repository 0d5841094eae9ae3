package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	main "github.com/ridethrough/ridethrough/bench"
)

func TestStart_KeepsTheProgramToItsProcessors(t *testing.T) {
	all, err := main.AllCores()
	if err != nil || len(all) == 0 {
		t.Fatalf("processors: got %v, %v", all, err)
	}
	folder := t.TempDir()
	// It says which processors it may use, and ends without listening: what matters is what it was started with.
	_, err = main.StartProcess(main.Program{Name: "status", Addr: "127.0.0.1:1", Folder: folder, Argv: []string{"cat", "/proc/self/status"}, Cores: all[:1]})
	if err == nil {
		t.Fatal("a program that does not listen: got no error")
	}
	logs, _ := filepath.Glob(filepath.Join(folder, "status-*.log"))
	if len(logs) != 1 {
		t.Fatalf("logs: got %q, want one", logs)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "Cpus_allowed_list:")
	line, _, _ := strings.Cut(rest, "\n")
	if got := strings.TrimSpace(line); strings.ContainsAny(got, ",-") || got == "" {
		t.Errorf("processors of the program: got %q, want one", got)
	}
	if after, err := main.AllCores(); err != nil || len(after) != len(all) {
		t.Errorf("our own processors after that: got %v, %v; want %v", after, err, all)
	}
}
