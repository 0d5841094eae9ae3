package storecmd_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
)

// lookup returns an environment with one variable, as NAME=VALUE.
func lookup(variable string) func(string) string {
	name, value, _ := strings.Cut(variable, "=")
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

// open opens a store as a command with these flags does; must: it has to exist.
func open(ctx context.Context, env func(string) string, must bool, flags ...string) (store.Store, error) {
	f := storecmd.Flags{Streams: command.Streams{Env: env}}
	var e store.Store
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) (err error) {
		open := f.Open
		if must {
			open = f.OpenExisting
		}
		e, err = open(ctx, slog.New(slog.DiscardHandler))
		return err
	}}
	f.AddAll(cmd)
	cmd.SetArgs(flags)
	return e, cmd.Execute()
}

func TestOpen_FlagsAndEnvironment(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ env, flags, place string }{
		{"HOME=" + dir + "/1", "", dir + "/1/.local/share/ridethrough"},
		{"XDG_DATA_HOME=" + dir + "/2", "", dir + "/2/ridethrough"},
		{"RIDETHROUGH_DATA=" + dir + "/3", "", dir + "/3"},
		{"RIDETHROUGH_DATA=" + dir + "/4", "--data " + dir + "/5", dir + "/5"},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--data " + dir + "/6", dir + "/6"},
	}
	for _, tt := range tests {
		env := lookup(tt.env)
		e, err := open(t.Context(), env, false, strings.Fields(tt.flags)...)
		if err != nil {
			t.Errorf("open with %s and %s: got error %v, want none", tt.env, tt.flags, err)
			continue
		}
		if !bolt.Exists(tt.place) {
			t.Errorf("%s %s: there is no store in %s", tt.env, tt.flags, tt.place)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if e, err = open(t.Context(), env, true, strings.Fields(tt.flags)...); err != nil {
			t.Errorf("open the existing store with %s and %s: got error %v, want none", tt.env, tt.flags, err)
			continue
		}
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestOpen_Errors(t *testing.T) {
	dir := t.TempDir()
	held, err := open(t.Context(), lookup(""), false, "--data", dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = held.Close(t.Context()) }()
	pem := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(pem, []byte("none"), 0o600); err != nil {
		t.Fatalf("write certificate: %v", err)
	}
	tests := []struct {
		env, flags string
		must       bool
		says       string
	}{
		{"", "", false, "RIDETHROUGH_DATA: no home directory"},
		{"", "--data none", true, "conversations are not stored"},
		{"RIDETHROUGH_DATA=" + dir, "", false, "in use: " + dir + ", by process "},
		{"", "--data " + dir + "/no", true, "no conversations in " + dir + "/no"},
		{"", "--nats nats://127.0.0.1:1", true, "does not answer"},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--nats-ca " + pem, false, "no certificate in " + pem},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--nats-ca " + dir + "/no", false, "no such file"},
		{"RIDETHROUGH_NATS=nats://127.0.0.1:1", "--nats-replicas 0", false, "--nats-replicas 0: want a number from 1 to 5"},
		{"RIDETHROUGH_NATS_REPLICAS=many", "--nats nats://127.0.0.1:1", false, "--nats-replicas many: want a number from 1 to 5"},
		{"", "--nats https://user:pass@x", false, "--nats https://…: want the address of a NATS server"},
		{"RIDETHROUGH_NATS=nats://x,http://y", "", false, "--nats http://…: want the address of a NATS server"},
		{"", "--data x --nats y", false, "[data nats]"},
	}
	for _, tt := range tests {
		if _, err := open(t.Context(), lookup(tt.env), tt.must, strings.Fields(tt.flags)...); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %s: %v; want %q", tt.env, tt.flags, err, tt.says)
		}
	}
	if _, err := os.Stat(dir + "/no"); err == nil {
		t.Error("made a store that was to be there")
	}
}

// A gateway that is started with a mistake must say so, not serve without conversations.
func TestOpenInBackground_RefusesWrongSettings(t *testing.T) {
	for variable, want := range map[string]string{
		"RIDETHROUGH_NATS_REPLICAS=9":                "--nats-replicas 9: want a number from 1 to 5",
		"RIDETHROUGH_NATS_CA=" + t.TempDir() + "/no": "no such file",
	} {
		f := storecmd.Flags{Streams: command.Streams{Env: lookup(variable)}}
		cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
			_, err := f.OpenInBackground(slog.New(slog.DiscardHandler))
			return err
		}}
		f.AddAll(cmd)
		cmd.SetArgs([]string{"--nats", "nats://127.0.0.1:1"})
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", variable, err, want)
		}
	}
}
