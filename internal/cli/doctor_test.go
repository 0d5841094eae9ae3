package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

func TestDoctor_StoreInUseByServer(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	url, _ := s.waitForLogs(t, "listening", "conversations are available")["listening"]["url"].(string)
	host := strings.TrimPrefix(url, "http://")
	env := []string{"RIDETHROUGH_LISTEN=" + host, "RIDETHROUGH_DATA=" + dir, "OPENAI_API_KEY=sk-test"}
	code, out, errs := run(t, env, "doctor", "--offline")
	for _, line := range []string{
		"ok       store: process " + strconv.Itoa(os.Getpid()) + " uses " + dir + "; its logs can be read when the process has ended\n",
		"ok       server: the server at http://" + host + " accepts requests\n",
		"ok       keys: openai/… (OPENAI_API_KEY is set)\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	if code != 0 || errs != "" || strings.Contains(out, "sk-test") {
		t.Errorf("code %d, %s", code, errs)
	}
	env[0] = "RIDETHROUGH_LISTEN=127.0.0.1:1"
	if code, out, _ := run(t, env, "doctor", "--offline"); code != 0 || !strings.Contains(out, "warning  server: no server answers at http://127.0.0.1:1: ") {
		t.Errorf("code %d\n%s", code, out)
	}
	if code, _, errs := run(t, env, "export"); code != 1 || !strings.Contains(errs, "the store is in use: "+dir) {
		t.Errorf("code %d, %s", code, errs)
	}
	s.stop()
	if code, out, _ := run(t, env, "doctor", "--offline"); code != 0 || !strings.Contains(out, "ok       logs: 0 conversations") {
		t.Errorf("code %d\n%s", code, out)
	}
}

// A bit of a record is flipped on the disk.
func TestDoctor_DamagedStore(t *testing.T) {
	dir := t.TempDir()
	s, err := bolt.Open(t.Context(), bolt.Config{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	var at store.Position
	for _, text := range []string{"one", "two", "three"} {
		at = storetest.Append(t, s, "c1", at, text)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	name := filepath.Join(dir, "conversations.db")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	for i := 0; ; i++ { // pages that are free have copies of it
		next := bytes.Index(data[i:], []byte(`"two"`))
		if next < 0 {
			break
		}
		i += next
		data[i+1] ^= 1
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	env := []string{"RIDETHROUGH_DATA=" + dir, "OPENAI_API_KEY=sk-test"}
	const want = "conversation c1 is damaged in record 2: "
	for range 2 { // it changes nothing
		if code, out, _ := run(t, env, "doctor", "--offline"); code != 1 || !strings.Contains(out, want) {
			t.Errorf("doctor: got code %d and\n%swant 1 and %q", code, out, want)
		}
	}
	gateway := start(t, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	url := gateway.waitForLogs(t, "listening", "conversations are available")["listening"]["url"].(string)
	call(t, "GET", url+"/-/conversations/c1", "") // damage is noticed when it is read
	gateway.waitForLog(t, "records in the store are damaged")
	if status, text := call(t, "GET", url+"/-/warnings", ""); status != 200 || !strings.Contains(text, "1 acknowledged message was lost of conversation c1 from record 2 on") {
		t.Errorf("GET warnings: got %d %s, want the loss", status, text)
	}
	gateway.stop()
}
