package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
)

func TestTheStoreIsWhereFlagsOrTheEnvironmentSay(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ env, flags, place string }{
		{"HOME=" + dir + "/1", "", dir + "/1/.local/share/ridethrough"},
		{"XDG_DATA_HOME=" + dir + "/2", "", dir + "/2/ridethrough"},
		{"RIDETHROUGH_DATA=" + dir + "/3", "", dir + "/3"},
		{"RIDETHROUGH_DATA=" + dir + "/4", "--data " + dir + "/5", dir + "/5"},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--data " + dir + "/6", dir + "/6"},
	}
	for _, tt := range tests {
		env := lookup([]string{tt.env})
		e, err := cli.Open(t.Context(), env, false, strings.Fields(tt.flags)...)
		if err != nil {
			t.Errorf("%s %s: %v", tt.env, tt.flags, err)
			continue
		}
		if _, err := os.Stat(filepath.Join(tt.place, "mode")); err != nil {
			t.Errorf("%s %s: %v", tt.env, tt.flags, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if e, err = cli.Open(t.Context(), env, true, strings.Fields(tt.flags)...); err != nil {
			t.Errorf("%s %s: %v", tt.env, tt.flags, err)
			continue
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAStoreThatCannotBeOpenedSaysWhy(t *testing.T) {
	dir := t.TempDir()
	held, err := cli.Open(t.Context(), lookup(nil), false, "--data", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close(t.Context()) }()
	pem := write(t, t.TempDir(), "ca.pem", "none")
	tests := []struct {
		env, flags string
		must       bool
		says       string
	}{
		{"", "", false, "RIDETHROUGH_DATA: there is no home directory"},
		{"", "--data none", true, "conversations are kept nowhere"},
		{"RIDETHROUGH_DATA=" + dir, "", false, "in use: " + dir + ", by process "},
		{"", "--data " + dir + "/no", true, "there are no conversations in " + dir + "/no"},
		{"", "--nats nats://127.0.0.1:1", true, "does not answer"},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--nats-ca " + pem, false, "no certificate in " + pem},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--nats-ca " + dir + "/no", false, "no such file"},
		{"", "--data x --nats y", false, "[data nats]"},
	}
	for _, tt := range tests {
		if _, err := cli.Open(t.Context(), lookup([]string{tt.env}), tt.must, strings.Fields(tt.flags)...); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %s: %v; want %q", tt.env, tt.flags, err, tt.says)
		}
	}
	if _, err := os.Stat(dir + "/no"); err == nil {
		t.Error("made a store that was to be there")
	}
}
