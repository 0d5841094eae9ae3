package labcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// simulatorHelp is what there is to say of it at length.
const simulatorHelp = "simulator answers the APIs of Anthropic, OpenAI, Gemini, Ollama and LM Studio like a provider\n" +
	"that knows one sentence and fails as it is told. It needs no key. Put `ridethrough serve` in front of it to see what your\n" +
	"programs will see in an outage. A model whose name begins with no-such is one that it does not have.\n\n" +
	"A reply is a word, and 529*5 is five of them:\n" +
	"  ok                 an answer\n" +
	"  say:\"Good day\"     an answer of that text; think:… before it is reasoning, and +call:list_files{\"path\":\".\"}\n" +
	"                     a tool call, as many as you like; +cut:3 and the like say how it comes\n" +
	"  529                an error with that status; 429;retry-after=7 adds a header\n" +
	"  too-long           the error of a prompt that does not fit the model\n" +
	"  quota              the error of an account that is used up\n" +
	"  key-echo           401 with your key in it\n" +
	"  blocked            the prompt is one that the provider does not answer\n" +
	"  refused            no connection; on a real socket it is reset as it is accepted\n" +
	"  reset              the connection is reset before an answer\n" +
	"  silence            nothing at all until the client leaves; silence:30s, then an answer\n" +
	"  error-first        200, and an error as the first event of the stream\n" +
	"  role-error         200, the event that opens an answer, then an error\n" +
	"  cut:3              three words, then the connection is lost\n" +
	"  cut:3:clean        three words, then the stream ends as if it were whole\n" +
	"  cut:3:done         an answer of three words\n" +
	"  cut:3:error        three words, then an error in the stream\n" +
	"  empty              200 and nothing\n" +
	"  html               200 and a web page\n" +
	"  error-200          200 and an error as JSON\n" +
	"  drip:200ms         an answer, that long from word to word"

func Simulator(s command.Streams) *cobra.Command {
	c := &simulatorCmd{}
	cmd := &cobra.Command{
		Use:   "simulator",
		Short: "Run a provider that fails on command",
		Long:  simulatorHelp,
		Example: "  ridethrough simulator --outage 0s-20s\n" +
			"  ridethrough simulator --replies '529*2, role-error, cut:3' --pace 50ms\n" +
			"  ridethrough simulator --replies 'call:list_files{\"path\":\".\"}+call:list_files{\"path\":\"docs\"}, say:\"Two files.\"'\n" +
			"  ridethrough simulator --limit 5/1m",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			script, err := c.script()
			if err != nil {
				return err
			}
			if err := checkLoopback(c.listen); err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			return command.Failed(simulate(cmd.Context(), s, c.listen, script))
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "127.0.0.1:8485", "address to listen on; port 0 takes a free one")
	f.StringVar(&c.replies, "replies", "", "replies to the requests for an answer, in order")
	f.StringVar(&c.then, "then", "ok", "the reply after those")
	f.StringArrayVar(&c.outages, "outage", nil, "FROM-TO or FROM-TO=REPLY since the start, such as 5s-25s=503; repeatable")
	f.StringVar(&c.limit, "limit", "", "requests in a window, as N/DURATION; beyond it 429 with hints")
	f.StringVar(&c.answer, "answer", "", "what a normal answer says")
	f.DurationVar(&c.pace, "pace", 0, "the wait before each word of a stream")
	return cmd
}

// simulatorCmd is what `simulator` was asked for.
type simulatorCmd struct {
	listen, replies, then, limit, answer string
	outages                              []string
	pace                                 time.Duration
}

// script reads the flags.
func (c *simulatorCmd) script() (script simulator.Script, err error) {
	script = simulator.Script{Answer: c.answer, Pace: c.pace}
	if script.Replies, err = simulator.Parse(c.replies); err != nil {
		return script, fmt.Errorf("--replies: %w", err)
	}
	then, err := simulator.Parse(c.then)
	switch {
	case err != nil:
		return script, fmt.Errorf("--then: %w", err)
	case len(then) != 1:
		return script, fmt.Errorf("--then %q: want one reply, such as 529", c.then)
	}
	script.Then = then[0]
	for _, o := range c.outages {
		outage, err := simulator.ParseOutage(o)
		if err != nil {
			return script, fmt.Errorf("--outage: %w", err)
		}
		script.Outages = append(script.Outages, outage)
	}
	script.Limit, err = parseLimit(c.limit)
	return script, err
}

// parseLimit reads N/DURATION; "" is no limit.
func parseLimit(s string) (simulator.Limit, error) {
	if s == "" {
		return simulator.Limit{}, nil
	}
	count, window, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	every, werr := time.ParseDuration(window)
	if err != nil || werr != nil || n <= 0 || every <= 0 {
		return simulator.Limit{}, fmt.Errorf("--limit %q: want N/DURATION, such as 5/1m", s)
	}
	return simulator.Limit{N: n, Every: every}, nil
}

// simulate runs the provider until ctx ends.
func simulate(ctx context.Context, s command.Streams, addr string, script simulator.Script) error {
	l, err := command.Listen(addr)
	if err != nil {
		return err
	}
	log := command.Logger(s.Err, nil)
	script.Watch = func(r simulator.Request) { reportReply(log, r) }
	p := simulator.New(script)
	base := "http://" + l.Addr().String()
	log.Info("simulating a provider", "url", base)
	log.Info("put the gateway in front of it", "run", fmt.Sprintf("ridethrough serve --upstream anthropic=%s --upstream openai=%s/v1", base, base))
	log.Info("or have an agent ask it", "run", fmt.Sprintf("ANTHROPIC_BASE_URL=%s ridethrough run -m anthropic/any Hello", base))
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	err = p.Serve(l)
	return errors.Join(err, p.Close())
}

// reportReply writes one line for each request.
func reportReply(log *slog.Logger, r simulator.Request) {
	if r.Method == "" {
		log.Info("connection refused")
		return
	}
	log.Info("request", "method", r.Method, "path", r.Path, "reply", r.Outcome)
}

// checkLoopback checks an address to listen on. Whoever reaches the gateway can use
// what it forwards to, so it stays on this machine.
func checkLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no address; want HOST:PORT, such as 127.0.0.1:8484", addr)
	}
	if !command.IsLoopback(host) {
		return fmt.Errorf("%q is open to other machines; want an address of this one, such as 127.0.0.1:8484, with a proxy in front that asks for credentials if others are to use it", addr)
	}
	return nil
}
