package gatewaycmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/operation/sdnotify"
	"github.com/ridethrough/ridethrough/internal/operation/watchdog"
	"github.com/ridethrough/ridethrough/internal/plural"
)

// logBound is the size at which a log file is moved away.
const logBound = 8 << 20

// logged runs `serve` with the writer of its log. In a file the log ends with the error that ends the program:
// where a service manager has no log of its own, standard error is lost.
func (c *serveCmd) logged(run func(io.Writer) error) error {
	if c.logFile == "" {
		return run(c.Streams.Err)
	}
	file := &logging.File{Path: c.logFile, Bound: logBound}
	defer file.Close()
	if _, err := file.Write(nil); err != nil {
		return command.Failed(fmt.Errorf("--log-file: %w", err))
	}
	leaveConsole()
	err := run(file)
	if err != nil {
		command.Logger(file, nil).Error("serve failed", "error", err.Error())
	}
	return err
}

// waiting shows what waits at a gateway.
type waiting interface{ Waits() []gateway.Wait }

// tellManager tells systemd, if that has started the process, that the gateway is ready, what waits, that no loop
// has frozen, and that the gateway stops. stop ends that.
func (c *serveCmd) tellManager(ctx context.Context, g waiting, url string, log *slog.Logger) (stop func()) {
	n, err := sdnotify.New(c.Streams.Env)
	if err != nil {
		log.Warn("the service manager is not told that the gateway is ready", "error", err.Error())
	}
	if n == nil {
		return func() {}
	}
	said := statusOf(g, url)
	n.Ready(said)
	ctx, cancel := context.WithCancel(ctx)
	ticker, ended := time.NewTicker(watchdog.Interval), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				n.Stopping("stopping; answers in progress may end")
				return
			case <-ticker.C:
			}
			if now := statusOf(g, url); now != said {
				said = now
				n.Status(said)
			}
			if n.Watched() && c.dog.Frozen() == "" {
				n.Alive()
			}
		}
	}()
	return func() {
		cancel()
		ticker.Stop()
		<-ended
		n.Close()
	}
}

// statusOf says in a line where a gateway is and what waits there.
func statusOf(g waiting, url string) string {
	if n := len(g.Waits()); n > 0 {
		return "at " + url + ", " + plural.Count(n, "call waits", "calls wait")
	}
	return "at " + url
}
