package agentcmd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
)

// observe returns a recorder that logs the turns of a face, exports their spans as the OTEL_ variables ask, and
// serves their metrics at an address unless that is "". end exports the last spans.
func observe(ctx context.Context, s command.Streams, face string, log *slog.Logger, metrics string) (watcher *TurnWatcher, end func(), err error) {
	t, err := telemetry.New(ctx, telemetry.Config{Log: log, Version: command.Version(), Env: s.Env})
	if err != nil && log != nil {
		log.Warn("spans are not exported", "error", err.Error())
	}
	t.ShowWaiting(face)
	watcher = NewTurnWatcher(face, t.Watch)
	watcher.Group = t.Group
	stop := func() {}
	if metrics != "" {
		if stop, err = serveMetrics(s, metrics, t); err != nil {
			t.Flush(ctx)
			return nil, nil, err
		}
	}
	return watcher, func() { stop(); t.Flush(ctx) }, nil
}

func traceparent(s command.Streams) string { return s.Env("TRACEPARENT") }

func errorLog(s command.Streams, level string) (*slog.Logger, error) {
	if level == "" {
		return nil, nil
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, badLevel(level)
	}
	return command.Logger(s.Err, l), nil
}

func metricsFlag(cmd *cobra.Command, addr *string) {
	cmd.Flags().StringVar(addr, "metrics", "", "serve metrics for Prometheus at this `ADDR` of the machine, such as 127.0.0.1:9464, while the command runs")
}

const metricsTime = 10 * time.Second

// serveMetrics serves metrics on this machine at the same path as `serve`, until stop is called.
func serveMetrics(s command.Streams, addr string, metrics http.Handler) (stop func(), err error) {
	if host, _, err := net.SplitHostPort(addr); err != nil || !command.IsLoopback(host) {
		return nil, fmt.Errorf("--metrics %q: want an address of this machine with a port, such as 127.0.0.1:9464", addr)
	}
	l, err := command.Listen(addr, "--metrics")
	if err != nil {
		return nil, command.Failed(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/metrics", func(w http.ResponseWriter, r *http.Request) {
		if !command.IsLoopback((&url.URL{Host: r.Host}).Hostname()) { // a page of a browser here has made up a name for this machine
			http.Error(w, "this address has another name", http.StatusMisdirectedRequest)
			return
		}
		metrics.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: metricsTime, IdleTimeout: metricsTime}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends with Close
	}()
	fmt.Fprintf(s.Err, "metrics: http://%s/-/metrics\n", l.Addr())
	return func() { _ = server.Close(); <-ended }, nil
}
