package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

func ExampleParse() {
	_, err := config.Parse("config.yaml", []byte("policy: {backoff: [5s, soon]}\n"))
	fmt.Println(err)
	// Output: config.yaml:1:24: "soon"; want a time above zero, such as 30s, 5m or 1d12h
}

func ExampleExcerpts() {
	_, err := config.Parse("/etc/config.yaml", []byte("listen: 127.0.0.1:8484\npolcy: patient\n"))
	fmt.Println(config.Excerpts(err))
	// Output:
	// /etc/config.yaml:2:1: unknown field "polcy"; did you mean policy?
	//     2 | polcy: patient
	//       | ^
}

func ExampleLoad() {
	_, err := config.Load("nowhere.yaml")
	fmt.Println(err)
	// Output: nowhere.yaml: no such file or directory
}

func ExampleConfig_Show() {
	c, _ := config.Parse("config.yaml", []byte("policy: quick\npolicies:\n  quick: {backoff: [1s], retries: 3}\nupstreams:\n  ollama: {key: none}\n"))
	_ = c.Set("listen", "127.0.0.1:9000", "--listen")
	fmt.Print(c.Show(true))
	// Output:
	// listen: 127.0.0.1:9000           # --listen
	// policy: quick                    # config.yaml:1
	// quota:
	//   wait: until-reset              # default
	//   max: 5h                        # default
	// supervisor: worker               # default
	// policies:
	//   quick:
	//     backoff: [1s]                # config.yaml:3
	//     retries: 3                   # config.yaml:3
	// upstreams:
	//   ollama:
	//     api: ollama                  # default
	//     url: http://127.0.0.1:11434  # default
	//     key: none                    # config.yaml:5
	//     limits:
	//       connect: 10s               # default
	//       first-byte: learned        # default
	//       idle: 5m                   # default
	//     body: 32MiB                  # default
	//     complete: lossless           # default
	//     responses-websocket: ride    # default
	//     admission: learned           # default
	// spool:
	//   memory: 64MiB                  # default
	//   disk: 2GiB                     # default
	// receive:
	//   time: 10m                      # default
	//   rate: 16KiB                    # default
	// detached:
	//   time: 5m                       # default
	//   bytes: 8MiB                    # default
	//   from: content                  # default
	// notices:
	//   after: 1m                      # default
	//   remind: 1h                     # default
	// log: info                        # default
}

func ExampleConfig_Changes() {
	before, _ := config.Parse("config.yaml", []byte("policy: patient\nlog: debug\n"))
	after, _ := config.Parse("config.yaml", []byte("policy: worker\nhosts: [gateway.internal]\n"))
	fmt.Println(after.Changes(&before))
	// Output: [hosts: [gateway.internal] policy: patient → worker log: debug → info]
}

func ExampleConfig_Warnings() {
	c, _ := config.Parse("config.yaml", []byte("policy: {backoff: [1m]}\n"))
	fmt.Println(c.Warnings())
	// Output: config.yaml:1:9: this policy never gives up; set retries, max-total-wait or deadline
}

func ExampleConfig_Gateway() {
	c, _ := config.Parse("config.yaml", []byte("upstreams:\n  openai: {key: {env: OPENAI_API_KEY}}\n"))
	_, err := c.Gateway(func(string) string { return "" })
	fmt.Println(err)
	g, _ := c.Gateway(func(string) string { return "a key" })
	fmt.Println(g.Upstreams[0].Name, g.Policy.MaxWait)
	// Output:
	// config.yaml:2:17: key of openai: environment variable OPENAI_API_KEY is empty or not set
	// openai 8h0m0s
}

func ExampleConfig_SetUpstream() {
	c, _ := config.Parse("config.yaml", nil)
	_ = c.SetUpstream("openai", "https://llm.example/v1", "--upstream")
	fmt.Println(c.SetUpstream("acme", "https://acme.example", "--upstream"))
	// Output: unknown upstream "acme"; want anthropic, gemini, openai, cohere, vertex, ollama, lmstudio or bedrock
}

func ExampleWatch() {
	name := filepath.Join(os.TempDir(), "ridethrough-missing.yaml")
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan bool, 1)
	asked <- true
	config.Watch(ctx, name, asked, func() {
		fmt.Println("look again")
		cancel()
	})
	// Output: look again
}

func ExampleConfig_Named() {
	c, err := config.Parse("", []byte("policies: {quick: {backoff: [1s], retries: 3}}\n"))
	if err != nil {
		panic(err)
	}
	p, err := c.Named("quick")
	fmt.Println(p.Retries, err)
	_, err = c.Named("slow")
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// unknown policy "slow"; want patient, interactive, attended, worker, simple, council, none or quick
}

// A scenario of the lab is read as strictly as the configuration.
func ExampleParseScenario() {
	_, err := config.ParseScenario("monday.yaml", []byte(`lasts: 2h
callers: {number: 50, every: 1m}
outages:
  - {kind: totl, for: 30m}
`))
	fmt.Println(err)
	// Output: monday.yaml:4:12: "totl"; want a kind of outage: total, partial, flapping, rate-limit, token-bucket, window, brown-out, limited or slots
}

func ExampleConfig_Uses() {
	c, err := config.Parse("", []byte(`
policies: {quick: {backoff: [1s], retries: 3}}
policy: {backoff: [2s], retries: 5}
upstreams:
  anthropic: {policy: quick, routes: [{models: [claude-haiku-*], policy: simple}]}
  openai: {}
`))
	if err != nil {
		panic(err)
	}
	for _, u := range c.Uses() {
		if len(u.By) > 0 {
			fmt.Printf("%s: %d retries, %q\n", u.Name, u.Policy.Retries, u.By)
		}
	}
	// Output:
	// worker: 10 retries, ["supervisor"]
	// simple: 3 retries, ["anthropic, route 1"]
	// quick: 3 retries, ["anthropic"]
	// policy of conversations: 5 retries, ["conversations" "openai"]
}
