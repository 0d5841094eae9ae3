//go:build linux

package sdnotify_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/sdnotify"
)

// listen opens the socket of a service manager.
func listen(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatalf("listen at %s: %v", name, err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func checkTold(t *testing.T, conn *net.UnixConn, want string) {
	t.Helper()
	text := make([]byte, 1000)
	n, err := conn.Read(text)
	if err != nil || string(text[:n]) != want {
		t.Errorf("told %q and error %v, want %q", text[:n], err, want)
	}
}

func variables(all map[string]string) func(string) string {
	return func(name string) string { return all[name] }
}

func TestNotifier_TellsTheSocketOfTheEnvironment(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "notify"), "@ridethrough-test-" + strconv.Itoa(os.Getpid())} {
		manager := listen(t, name)
		n, err := sdnotify.New(variables(map[string]string{"NOTIFY_SOCKET": name}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n.Ready("listening\nhere")
		checkTold(t, manager, "READY=1\nSTATUS=listening here")
		n.Status("1 call waits")
		checkTold(t, manager, "STATUS=1 call waits")
		n.Alive()
		checkTold(t, manager, "WATCHDOG=1")
		n.Stopping("ends")
		checkTold(t, manager, "STOPPING=1\nSTATUS=ends")
		n.Close()
	}
}

func TestNotifier_WithoutASocketTellsNothing(t *testing.T) {
	n, err := sdnotify.New(variables(nil))
	if n != nil || err != nil || n.Watched() {
		t.Fatalf("without NOTIFY_SOCKET: got %v and error %v, want neither", n, err)
	}
	n.Ready("x")
	n.Close()
	for _, name := range []string{"relative", "vsock:2:1", filepath.Join(t.TempDir(), "missing")} {
		if _, err := sdnotify.New(variables(map[string]string{"NOTIFY_SOCKET": name})); err == nil {
			t.Errorf("NOTIFY_SOCKET=%s: no error", name)
		}
	}
}

func TestNotifier_IsWatchedIfItsProcessIs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	listen(t, name)
	own := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		us, pid string
		want    bool
	}{{"", "", false}, {"0", "", false}, {"x", "", false}, {"30000000", "", true}, {"30000000", own, true}, {"30000000", "1", false}} {
		n, err := sdnotify.New(variables(map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": c.us, "WATCHDOG_PID": c.pid}))
		if err != nil || n.Watched() != c.want {
			t.Errorf("WATCHDOG_USEC=%s WATCHDOG_PID=%s: watched %t and error %v, want %t", c.us, c.pid, n.Watched(), err, c.want)
		}
	}
}
