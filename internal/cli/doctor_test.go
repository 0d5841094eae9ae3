package cli_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
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
