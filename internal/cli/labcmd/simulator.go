package labcmd

import (
	"cmp"
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

const simulatorHelp = "simulator serves the APIs of Anthropic, OpenAI, Gemini, Bedrock, Ollama and LM Studio with a fixed answer, and\n" +
	"fails on command. It needs no key. Put `ridethrough serve` in front of it to see how your programs behave\n" +
	"in an outage. It has every model except those whose names start with no-such. Those that start with text-only\n" +
	"take no images.\n\n" +
	"A reply is one of these; 529*5 is five of the same:\n" +
	"  ok                 an answer\n" +
	"  say:\"Good day\"     an answer with that text; think:… adds reasoning before it, +call:list_files{\"path\":\".\"}\n" +
	"                     a tool call, and +cut:3 a way to fail\n" +
	"  529                an error with that status; 429;retry-after=7 adds a header\n" +
	"  too-long           the error of a prompt that is too long for the model\n" +
	"  quota              the error of an exhausted account\n" +
	"  window:90s         a usage window that is spent and opens again after a time\n" +
	"  key-echo           401 with your key in it\n" +
	"  blocked            a prompt that the provider refuses to answer\n" +
	"  refused            a refused connection; on a real socket, a reset after accept\n" +
	"  reset              a connection reset before the response\n" +
	"  silence            no response until the client disconnects; silence:30s answers after that time\n" +
	"  stall              200 and nothing more until the client disconnects; stall:30s answers after that time\n" +
	"  error-first        200 and an error as the first event of the stream\n" +
	"  role-error         200, the first event of an answer, then an error\n" +
	"  cut:3              three words, then a connection reset\n" +
	"  cut:3:clean        three words, then the end of the stream without a terminator\n" +
	"  cut:3:done         an answer of three words\n" +
	"  cut:3:error        three words, then an error in the stream\n" +
	"  cut:3:silent       three words, then nothing more until the client disconnects\n" +
	"  cut:120b           the first 120 bytes of the stream, then a connection reset\n" +
	"  continue:decline   a model that does not continue an answer that broke off, as ok does; the other ways\n" +
	"                     are paraphrase, repeat and no-prefill\n" +
	"  empty              200 and nothing\n" +
	"  html               200 and a web page\n" +
	"  error-200          200 and an error as JSON\n" +
	"  drip:200ms         an answer with that pause between words"

// Simulator returns the command `simulator`.
func Simulator(s command.Streams) *cobra.Command {
	c := &simulatorCmd{}
	cmd := &cobra.Command{
		Use:   "simulator",
		Short: "Run a provider that fails on command",
		Long:  simulatorHelp,
		Example: "  ridethrough simulator --outage 0s-20s\n" +
			"  ridethrough simulator --replies '529*2, role-error, cut:3' --pace 50ms\n" +
			"  ridethrough simulator --replies 'call:list_files{\"path\":\".\"}+call:list_files{\"path\":\"docs\"}, say:\"Two files.\"'\n" +
			"  ridethrough simulator --limit 5/1m\n" +
			"  ridethrough simulator --limits requests:600,tokens:450k",
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
	f.StringVar(&c.listen, "listen", "127.0.0.1:8485", "the address to listen on; port 0 picks a free port")
	f.StringVar(&c.replies, "replies", "", "the replies to requests for answers, in order")
	f.StringVar(&c.then, "then", "ok", "the reply after these")
	f.StringArrayVar(&c.outages, "outage", nil, "an outage as FROM-TO or FROM-TO=REPLY since the start, such as 5s-25s=503; repeatable")
	f.StringVar(&c.limit, "limit", "", "a rate limit as N/DURATION; further requests get 429 with Retry-After")
	f.StringVar(&c.rates, "limits", "", "what is allowed in a minute, stated in headers, as UNIT:N with requests, tokens, input-tokens or output-tokens")
	f.StringVar(&c.answer, "answer", "", "the text of a normal answer")
	f.DurationVar(&c.pace, "pace", 0, "the pause before each word of a stream")
	return cmd
}

type simulatorCmd struct {
	listen, replies, then, limit, rates, answer string
	outages                                     []string
	pace                                        time.Duration
}

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
	if script.Rates, err = simulator.ParseRates(c.rates); err != nil {
		return script, fmt.Errorf("--limits: %w", err)
	}
	script.Limit, err = parseLimit(c.limit)
	return script, err
}

// parseLimit parses N/DURATION; "": no limit.
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

func simulate(ctx context.Context, s command.Streams, addr string, script simulator.Script) error {
	l, err := command.Listen(addr, "--listen")
	if err != nil {
		return err
	}
	log := command.ServerLog(s.Err, nil)
	defer log.Close()
	script.OnRequest = func(r simulator.Request) { reportReply(log.Logger, r) }
	p := simulator.New(script)
	base := "http://" + l.Addr().String()
	log.Info("simulating a provider", "url", base)
	log.Info("put the gateway in front of it", "run", fmt.Sprintf("ridethrough serve --upstream anthropic=%s --upstream openai=%s/v1", base, base))
	log.Info("or ask it with an agent", "run", fmt.Sprintf("ANTHROPIC_BASE_URL=%s ridethrough run -m anthropic/any Hello", base))
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	err = p.Serve(l)
	return errors.Join(err, p.Close())
}

func reportReply(log *slog.Logger, r simulator.Request) {
	if r.Method == "" {
		log.Info("connection refused")
		return
	}
	attributes := []any{"method", r.Method, "path", r.Path, "reply", r.Outcome}
	if len(r.Images) > 0 {
		attributes = append(attributes, "images", shown(r.Images))
	}
	log.Info("request", attributes...)
}

func shown(images []simulator.Image) string {
	var all []string
	for _, i := range images {
		all = append(all, fmt.Sprintf("%s of %d bytes, sha256 %s", cmp.Or(i.MediaType, "no type"), i.Bytes, i.SHA256))
	}
	return strings.Join(all, "; ")
}

// checkLoopback refuses an address that other machines can reach.
func checkLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return fmt.Errorf("invalid address %q; want HOST:PORT, such as 127.0.0.1:8485", addr)
	}
	if !command.IsLoopback(host) {
		return fmt.Errorf("%q is open to other machines; want a loopback address, such as 127.0.0.1:8485", addr)
	}
	return nil
}
