package rest_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

var alice = rest.Actor{Token: "alice", From: "10.1.2.3"}

func TestLog_ActsAreInLogAndFile(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := rest.OpenAudit(path, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, a := l.With(t.Context(), alice)
	rest.Note(ctx, "do", "now")
	a.Done("POST /-/waits/17", 200)
	rest.Record(ctx, "steer", "conversation", "c1")
	rest.Note(t.Context(), "do", "nothing") // no action is in progress
	rest.Record(t.Context(), "nothing")
	l.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	for _, want := range []string{
		`"msg":"audit","token":"alice","from":"10.1.2.3","action":"POST /-/waits/17","do":"now","status":200}`,
		`"msg":"audit","token":"alice","from":"10.1.2.3","action":"steer","conversation":"c1"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file has no %s:\n%s", want, text)
		}
	}
	if want := `msg=audit token=alice from=10.1.2.3 action="POST /-/waits/17" do=now status=200`; !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("the log has no %s:\n%s", want, &log)
	}
}

func TestOpen_FileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, make([]byte, rest.FileBound-10), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := os.WriteFile(path+".1", []byte("old"), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	l := rest.OpenAudit(path, slog.New(slog.DiscardHandler))
	l.Act(alice, "delete")
	l.Close()
	before, _ := os.Stat(path + ".1")
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), `{"time":`) || !strings.Contains(string(text), "delete") || before.Size() != rest.FileBound-10 {
		t.Errorf("the file has %q, %v, and the one before %d bytes", text, err, before.Size())
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}

func TestOpen_UnwritableFileIsOneError(t *testing.T) {
	var log bytes.Buffer
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	l := rest.OpenAudit(filepath.Join(file, "audit.jsonl"), slog.New(slog.NewTextHandler(&log, nil)))
	l.Act(alice, "delete")
	l.Close()
	if text := log.String(); strings.Count(text, "write the audit file failed") != 1 || !strings.Contains(text, "msg=audit token=alice") {
		t.Errorf("logged\n%s", text)
	}
}
