//go:build linux

package gatewaycmd

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
)

// waits is a gateway with a number of waiting calls.
type waits struct{ atomic.Int64 }

func (w *waits) Waits() []gateway.Wait { return make([]gateway.Wait, w.Load()) }

// told returns the datagrams that have come to a socket.
func told(t *testing.T, manager *net.UnixConn) string {
	t.Helper()
	var all []string
	text := make([]byte, 1000)
	raw, err := manager.SyscallConn()
	if err != nil {
		t.Fatalf("socket: %v", err)
	}
	err = raw.Control(func(fd uintptr) {
		for {
			n, _, err := syscall.Recvfrom(int(fd), text, syscall.MSG_DONTWAIT)
			if err != nil {
				return // there is no more
			}
			all = append(all, strings.ReplaceAll(string(text[:n]), "\n", " "))
		}
	})
	if err != nil {
		t.Fatalf("socket: %v", err)
	}
	return strings.Join(all, " | ")
}

// TestServe_TellsTheServiceManager is about half a minute at a gateway, in which a call waits and a loop freezes.
func TestServe_TellsTheServiceManager(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	t.Setenv("WATCHDOG_USEC", "120000000")
	c := serveCmd{Flags: configflags.Flags{Streams: command.Streams{Env: os.Getenv}}}
	frozen := c.dog.Loop("a loop")
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var g waits
		stop := c.tellManager(ctx, &g, "http://h:1", slog.New(slog.DiscardHandler))
		check := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got := told(t, manager); got != want {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		check("at the start", "READY=1 STATUS=at http://h:1")
		time.Sleep(WatchdogInterval)
		check("while nothing waits", "WATCHDOG=1")
		g.Store(2)
		time.Sleep(WatchdogInterval)
		check("while calls wait", "STATUS=at http://h:1, 2 calls wait | WATCHDOG=1")
		frozen.Begin()
		for range 10 {
			c.dog.Tick()
		}
		time.Sleep(WatchdogInterval)
		check("while a loop is frozen", "")
		end()
		stop()
		check("at the end", "STOPPING=1 STATUS=stopping; answers in progress may end")
	})
}

func TestServe_SaysThatTheServiceManagerIsNotThere(t *testing.T) {
	for socket, want := range map[string]string{"": "", filepath.Join(t.TempDir(), "missing"): "the service manager is not told that the gateway is ready"} {
		t.Setenv("NOTIFY_SOCKET", socket)
		c := serveCmd{Flags: configflags.Flags{Streams: command.Streams{Env: os.Getenv}}}
		var log strings.Builder
		c.tellManager(t.Context(), &waits{}, "http://h:1", slog.New(slog.NewTextHandler(&log, nil)))()
		if got := log.String(); got != "" != (want != "") || !strings.Contains(got, want) {
			t.Errorf("with NOTIFY_SOCKET=%q: logged %q, want %q", socket, got, want)
		}
	}
}

func TestServe_LogFileHasTheErrorThatEndsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.log")
	var errs strings.Builder
	s := command.Streams{Out: io.Discard, Err: &errs, Env: func(string) string { return "" }}
	cmd := Serve(s, nil, nil)
	cmd.SetArgs([]string{"--listen", "8484", "--log-file", path})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err == nil {
		t.Error("serve with a bad address: no error")
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"msg":"serve failed","error":"--listen: `) {
		t.Errorf("the log file: %q and error %v, want the error", text, err)
	}
	if errs.Len() > 0 {
		t.Errorf("standard error: %q, want nothing", errs.String())
	}
}
