package execcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Setup returns the command `setup`.
func Setup(s command.Streams) *cobra.Command {
	c := &setupCmd{Flags: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "setup PROGRAM",
		Short: "Let a coding agent use the gateway for good",
		Long: "setup prints what " + text.And(programs()) + " need in their configuration to use the gateway,\n" +
			"and in which file. It changes nothing. For one run only there is `ridethrough exec`, which needs no file.",
		Example:   "  ridethrough setup claude",
		Args:      cobra.ExactArgs(1),
		ValidArgs: programs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.AddFile(cmd)
	return cmd
}

type setupCmd struct{ configflags.Flags }

func (c *setupCmd) run(cmd *cobra.Command, program string) error {
	conf, err := c.Read()
	if err != nil {
		return configflags.Explain(err)
	}
	l, err := lastingly(program, conf.URL(), c.Streams.Env)
	switch {
	case err != nil:
		return err
	case l.Need.Name != "" && !slices.Contains(conf.Upstreams(), l.Need.Name):
		return command.WithCode(fmt.Errorf("the login of a %s account needs an upstream in the configuration: "+
			"upstreams: {%s: {api: %s, url: %s}}", l.Need.Account, l.Need.Name, config.LoginAPI(l.Need.Name), l.Need.URL), command.ExitConfig)
	case l.File == "":
		c.say("Run this:\n\n%s", l.Text)
	default:
		c.say("Put this into %s:\n\n%s", l.File, l.Text)
		c.say("If it has another address there, such as a company's, the gateway needs that: upstreams: {%s: {url: ADDRESS}}", l.Upstream)
	}
	if l.Also != "" {
		c.say("%s", l.Also)
	}
	if g := (running.Gateway{URL: conf.URL(), Token: c.Streams.Env("RIDETHROUGH_TOKEN")}); !g.Answers(cmd.Context()) {
		c.say("No gateway answers at %s, and %s needs one then: `ridethrough serve`, or for good `ridethrough service install`", g.URL, program)
	}
	c.say("For one run, without any file: ridethrough exec -- %s", program)
	return nil
}

func (c *setupCmd) say(format string, args ...any) {
	fmt.Fprintf(command.Text(c.Streams.Out), format+"\n", args...)
}

type lasting struct {
	File     string   // its configuration file; "": Text is a command of the program itself, whose file is no place for others
	Text     string   // what the file needs, as it is written there
	Upstream string   // the upstream of an address that the file has already
	Need     upstream // that the gateway must have; zero: those of every gateway
	Also     string   // what else to know; "": nothing
}

func programs() []string {
	return []string{"claude", "codex", "gemini", "opencode", "qwen", "cline", "aider"}
}

// lastingly returns what a program needs for a gateway at an address. The environment locates its files.
func lastingly(program, url string, env func(string) string) (lasting, error) {
	home := cmp.Or(env("HOME"), env("USERPROFILE"))
	if !filepath.IsAbs(home) {
		return lasting{}, fmt.Errorf("no home directory")
	}
	const project = "A .env file of a project is read in place of this one; set the variable there too."
	switch program {
	case "claude":
		dir := cmp.Or(env("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
		settings := map[string]any{"env": map[string]string{"ANTHROPIC_BASE_URL": url}}
		return lasting{File: filepath.Join(dir, "settings.json"), Text: indented(settings), Upstream: "anthropic"}, nil
	case "codex":
		l, path := lasting{File: filepath.Join(codexHome(env), "config.toml"), Upstream: "openai"}, "/v1"
		if codexLogin(env) {
			l.Need, path = chatgpt, "/"+chatgpt.Name
		}
		l.Text = fmt.Sprintf("openai_base_url = %q\n", url+path)
		l.Also = "It goes above the first [table] of the file."
		return l, nil
	case "gemini":
		l := lasting{File: geminiFile(env, ".env"), Text: "GOOGLE_GEMINI_BASE_URL=" + url + "\n", Upstream: "gemini", Also: project}
		if googleLogin(env) {
			l.Need = codeAssist
			l.Text += codeAssistVariable + "=" + url + "/" + codeAssist.Name + "\n"
		}
		return l, nil
	case "qwen":
		return lasting{File: filepath.Join(home, ".qwen", ".env"), Text: "OPENAI_BASE_URL=" + url + "/v1\n", Upstream: "openai", Also: project}, nil
	case "opencode":
		return lasting{File: opencodeFile(home, env), Text: indented(opencodeSettings(nil, url)), Upstream: "anthropic"}, nil
	case "aider":
		return lasting{
			File: filepath.Join(home, ".aider.conf.yml"), Text: fmt.Sprintf("openai-api-base: %q\n", url+"/v1"), Upstream: "openai",
			Also: "For Claude's models set the variable ANTHROPIC_API_BASE=" + url + ", which this file has no name for.",
		}, nil
	case "cline":
		return lasting{
			Text: "cline auth -p openai-compatible -b " + url + "/v1 -k KEY -m MODEL\n",
			Also: "Cline keeps the address beside your key, in a file that is not for others.",
		}, nil
	default:
		return lasting{}, fmt.Errorf("setup does not know %s, but %s; any other program: `ridethrough exec -- PROGRAM`", program, strings.Join(programs(), ", "))
	}
}

func indented(settings map[string]any) string {
	text, _ := json.MarshalIndent(settings, "", "  ") // of maps and strings
	return string(text) + "\n"
}

// opencodeFile returns the path of opencode's settings, which may have comments.
func opencodeFile(home string, env func(string) string) string {
	if file := env("OPENCODE_CONFIG"); file != "" {
		return file
	}
	file := filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "opencode", "opencode.json")
	if other := file + "c"; !exists(file) && exists(other) {
		return other
	}
	return file
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Hints returns the page's text about each of [programs], and about all others.
func Hints() (all []server.Program) {
	home := filepath.Join(os.TempDir(), "~") // of no user: its reader may be at another machine
	for _, program := range programs() {
		l, err := lastingly(program, "{url}", func(name string) string { return map[string]string{"HOME": home}[name] })
		if err != nil {
			continue // none that is tested
		}
		h := server.Program{Name: program, Text: l.Text, Also: l.Also}
		if l.File != "" {
			h.File = "~" + filepath.ToSlash(strings.TrimPrefix(l.File, home))
		}
		if program == "codex" {
			h.Also += " With the login of a ChatGPT account, `ridethrough setup codex` says what it needs."
		}
		all = append(all, h)
	}
	return append(all, server.Program{Name: "another program", Text: exports(), Also: "SDKs read these variables too."})
}

func exports() string {
	var lines []string
	for name := range upstreamsOf(os.Getenv) {
		if value, ok := everywhere[name]; ok && strings.HasSuffix(name, "_BASE_URL") {
			lines = append(lines, "export "+name+"="+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
