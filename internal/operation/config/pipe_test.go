//go:build unix

package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

func TestLoad_RejectsPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := config.Load(pipe); err == nil || !strings.Contains(err.Error(), "is a pipe; want a regular file") {
		t.Errorf("as the configuration: %v", err)
	}
	c, err := config.Parse("", []byte("upstreams: {openai: {key: {file: "+pipe+"}}}"))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if _, err := c.Gateway(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "is a pipe; want a regular file") {
		t.Errorf("as the file of a key: %v", err)
	}
}
