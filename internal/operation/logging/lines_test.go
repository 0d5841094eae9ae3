package logging_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/logging"
)

func TestLines_LogsEachLine(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := logging.Lines(log.With("server", "github"), "mcp server")
	fmt.Fprint(w, "star")
	fmt.Fprint(w, "ting\r\n\nready\n"+strings.Repeat("x", 10_000)+"\n")
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != 3 || !strings.Contains(got[0], `msg="mcp server" server=github line=starting`) || !strings.HasSuffix(got[1], "line=ready") {
		t.Fatalf("log: got %.300q, want starting, ready and a long line", got)
	}
	if n := strings.Count(got[2], "x"); n != 2<<10 {
		t.Errorf("letters of a long line that are logged: got %d, want %d", n, 2<<10)
	}
}
