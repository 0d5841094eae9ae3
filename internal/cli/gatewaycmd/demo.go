package gatewaycmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

const answer = "I am back. Your request waited here, and its answer came once."

// Demo returns the command `demo`.
func Demo(s command.Streams) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a client ride through an outage of about twenty seconds",
		Long: "demo starts a failing provider, the gateway in front of it and a small streaming client, all on this\n" +
			"machine, and shows what happens. It needs no key and no network.",
		Example: "  ridethrough demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demo{screen: command.NewScreen(s, plain)}
			return command.Failed(d.run(cmd.Context()))
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "only append lines, never redraw them")
	return cmd
}

type demo struct {
	screen   *command.Screen
	begun    time.Time
	requests atomic.Int64 // that the provider got
	retries  atomic.Int64
	resent   atomic.Int64 // tries that were sent twice, since a kept connection was closed
	latest   atomic.Pointer[policy.Wait]
}

// run shows the demonstration. It ends early if its output cannot be written.
func (d *demo) run(ctx context.Context) error {
	ctx, unseen := context.WithCancel(ctx)
	defer unseen()
	d.screen.OnError = unseen
	err := d.play(ctx)
	if broken := d.screen.Err(); broken != nil {
		return fmt.Errorf("write demo: %w", broken)
	}
	return err
}

func (d *demo) play(ctx context.Context) error {
	provider, providerURL, err := d.provider()
	if err != nil {
		return err
	}
	defer provider.Close()
	gatewayURL, stop, err := d.gateway(ctx, providerURL)
	if err != nil {
		return err
	}
	defer stop()

	d.screen.Print("", "provider  %s  fails for 17 seconds", providerURL)
	d.screen.Print("", "gateway   %s  policy worker", gatewayURL)
	d.screen.Print("", "client    requests a stream from the gateway and never retries\n")
	d.begun = time.Now()
	provider.Start()
	endRedrawing := d.screen.Redraw(ctx, d.show)
	err = d.ask(ctx, gatewayURL)
	endRedrawing()
	d.screen.Status("")
	if ctx.Err() != nil {
		d.screen.Print("", "Canceled.")
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	d.screen.Print("", "")
	d.screen.Print(command.Faint, "The client sent 1 request and got 1 complete answer.")
	d.screen.Wrap(command.Faint, d.sum())
	return nil
}

func (d *demo) sum() string {
	parts := []string{"the first", text.Count(int(d.retries.Load()), "retry", "retries")}
	if n := int(d.resent.Load()); n > 0 {
		parts = append(parts, fmt.Sprintf("%d sent again at once because a kept connection was closed", n))
	}
	return fmt.Sprintf("The provider got %s: %s.", text.Count(int(d.requests.Load()), "request", "requests"), text.And(parts))
}

// provider starts a provider with an outage of 17 seconds: overloaded at first,
// then with an error after the first event of a 200, then with connection resets.
func (d *demo) provider() (*simulator.Provider, string, error) {
	l, err := command.Listen("127.0.0.1:0", "--listen")
	if err != nil {
		return nil, "", err
	}
	p := simulator.New(simulator.Script{
		Outages: []simulator.Outage{
			{From: 0, To: 2 * time.Second, Reply: simulator.Status{Code: 529}},
			{From: 2 * time.Second, To: 7 * time.Second, Reply: simulator.RoleError},
			{From: 7 * time.Second, To: 17 * time.Second, Reply: simulator.Reset},
		},
		Answer:    answer,
		Pace:      60 * time.Millisecond,
		OnRequest: func(simulator.Request) { d.requests.Add(1) },
	})
	go func() { _ = p.Serve(l) }() // ends with Close
	return p, "http://" + l.Addr().String(), nil
}

func (d *demo) gateway(ctx context.Context, upstream string) (string, func(), error) {
	l, err := command.Listen("127.0.0.1:0", "--listen")
	if err != nil {
		return "", nil, err
	}
	base, err := url.Parse(upstream)
	if err != nil {
		return "", nil, err
	}
	g, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "anthropic", API: "anthropic", Base: base}},
		Policy:    policy.Worker(),
		OnEvent:   d.watch,
	})
	if err != nil {
		return "", nil, err
	}
	stop := command.Background(ctx, func(ctx context.Context) {
		_ = server.New(server.Config{Gateway: g, Log: slog.New(slog.DiscardHandler)}).Run(ctx, l)
	})
	return "http://" + l.Addr().String(), stop, nil
}

func (d *demo) watch(e gateway.Event) {
	if e.Resent {
		d.resent.Add(1)
		d.screen.Print(command.Faint, "%5.1f s  a kept connection was closed: sent again at once, on a new one", time.Since(d.begun).Seconds())
	}
	switch e := e.Event.(type) {
	case turn.Recovered:
		d.latest.Store(nil)
		d.screen.Status("")
		d.screen.Print(command.Green, "%s", display.Recovered(e.Retries, e.Waited))
		d.screen.Print("", "")
	case turn.Error:
		if e.Left() {
			return
		}
		d.latest.Store(nil)
		d.screen.Status("")
		d.screen.Print(command.Red, "%s\n  %v", display.Headline(e, time.Now()), e.Fault)
	case turn.Retry:
		d.retries.Add(1)
		d.screen.Print(command.Faint, "%5.1f s  %s", time.Since(d.begun).Seconds(), e.Fault)
		w := &e.Wait
		if !d.screen.Live {
			d.screen.Print("", "%s", display.WaitLine(*w, time.Now(), d.screen.Columns()))
		}
		d.latest.Store(w)
		d.show()
	}
}

func (d *demo) show() {
	if w := d.latest.Load(); w != nil {
		d.screen.Status(display.WaitLine(*w, time.Now(), d.screen.Columns()))
	}
}

// ask plays the client, which knows only the gateway's address.
func (d *demo) ask(ctx context.Context, base string) error {
	const body = `{"model":"demo","max_tokens":256,"stream":true,"messages":[{"role":"user","content":"Are you there?"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return fmt.Errorf("the client got %s: %s", resp.Status, text)
	}
	return d.print(resp.Body)
}

// print writes the answer as it streams. A stream that breaks off is an error.
func (d *demo) print(body io.Reader) error {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type  string `json:"type"`
			Delta struct {
				Text string `json:"text"`
			} `json:"delta"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return fmt.Errorf("client: parse event %q: %w", data, err)
		}
		switch event.Type {
		case "content_block_delta":
			d.screen.Write(event.Delta.Text)
		case "message_stop":
			d.screen.Write("\n")
			return nil
		case "error":
			return errors.New(event.Error.Message)
		}
	}
	return errors.Join(errors.New("the answer broke off"), lines.Err())
}
