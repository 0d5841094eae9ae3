package gatewaycmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/text"
)

// logBound is the size at which a log file is moved away.
const logBound = 8 << 20

// logged runs `serve` with the writer of its log. A log file also gets the error that ends the program: where a
// service manager has no log of its own, standard error is lost.
func (c *serveCmd) logged(run func(io.Writer) error) error {
	if c.logFile == "" {
		return run(c.Streams.Err)
	}
	dir := filepath.Dir(c.logFile)
	if _, err := os.Stat(dir); err != nil && dir != filepath.Dir(c.Streams.StateFile("log")) {
		return command.WithCode(fmt.Errorf("--log-file: %w; create the directory, or correct its name", err), command.ExitConfig)
	}
	file := &logging.File{Path: c.logFile, Bound: logBound}
	defer file.Close()
	if _, err := file.Write(nil); err != nil {
		return command.WithCode(fmt.Errorf("--log-file: %w", err), command.ExitConfig)
	}
	leaveConsole()
	err := run(file)
	if err != nil {
		command.Logger(file, nil).Error("serve failed", "error", err.Error())
	}
	return err
}

type waiting interface{ Waits() []gateway.Wait }

// tellManager reports to systemd, if it has started the process, that the gateway is ready, which requests wait,
// that no loop has frozen, and that the gateway stops. stop ends the reports.
func (c *serveCmd) tellManager(ctx context.Context, g waiting, url string, log *slog.Logger) (stop func()) {
	if c.Streams.Env("NOTIFY_SOCKET") == "" { // exec hides it from its gateway
		return func() {}
	}
	said := statusOf(g, url)
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS="+said); err != nil {
		log.Warn("the service manager is not told that the gateway is ready", "error", err.Error())
		return func() {}
	}
	watched, _ := daemon.SdWatchdogEnabled(false)
	return command.Background(ctx, func(ctx context.Context) {
		ticker := time.NewTicker(WatchdogInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping+"\nSTATUS=stopping; answers in progress may end")
				return
			case <-ticker.C:
			}
			if now := statusOf(g, url); now != said {
				said = now
				_, _ = daemon.SdNotify(false, "STATUS="+said)
			}
			if watched > 0 && c.dog.Frozen() == "" {
				_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
			}
		}
	})
}

func statusOf(g waiting, url string) string {
	if n := len(g.Waits()); n > 0 {
		return "at " + url + ", " + text.Count(n, "call waits", "calls wait")
	}
	return "at " + url
}
