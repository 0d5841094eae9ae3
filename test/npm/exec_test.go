//go:build unix

package npm_test

import (
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// user is someone who runs an agent with `exec`, and has the settings and the login that the agent has without it.
type user struct {
	name  string
	agent string // in agents, of which only the program is used
	files map[string]string
	env   []string // beside commonEnv
	args  string   // before the question
	talk  string   // before the question in a conversation; "": none
	login string   // a header of each request that reaches the provider
	needs string   // the upstream of the login, with {url} for the provider's address; "": the usual ones
	drawn string   // what it draws anew in a terminal of 61 columns
}

const (
	claudeKey = "X-Api-Key: sk-ant-test0000000000000000"
	openaiKey = "Authorization: Bearer sk-test-000000000000000000000000"
	geminiKey = "X-Goog-Api-Key: AIzaTest000000000000000000000000000000000"
)

// users have files as the agents themselves write them: some add to their settings what is missing. {work} is the
// folder in which they work, {jwt} a token.
var users = []user{
	{
		name: "claude", agent: "claude-2.1.332", args: "-p", talk: " ", login: claudeKey, drawn: `─{61}`,
		files: map[string]string{".claude/settings.json": `{"cleanupPeriodDays":30}`},
	},
	{
		name: "claude with a subscription", agent: "claude-2.1.332", args: "-p", login: "Authorization: Bearer sk-ant-oat01-test", env: []string{"ANTHROPIC_API_KEY="},
		files: map[string]string{".claude/.credentials.json": `{"claudeAiOauth":{"accessToken":"sk-ant-oat01-test","refreshToken":"sk-ant-ort01-test",` +
			`"expiresAt":4102444800000,"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}`},
	},
	{
		name: "codex", agent: "codex-socket", args: "exec --skip-git-repo-check", talk: " ", login: openaiKey, drawn: `OpenAI Codex`,
		files: map[string]string{".codex/config.toml": codexConfig, ".codex/auth.json": `{"OPENAI_API_KEY":"sk-test-000000000000000000000000"}`},
	},
	{
		name: "codex with a ChatGPT account", agent: "codex-socket", args: "exec --skip-git-repo-check", login: "Authorization: Bearer {jwt}", needs: "chatgpt={url}/v1", env: []string{"OPENAI_API_KEY="},
		files: map[string]string{".codex/config.toml": codexConfig, ".codex/auth.json": `{"OPENAI_API_KEY":null,"tokens":{"id_token":"{jwt}",` +
			`"access_token":"{jwt}","refresh_token":"r","account_id":"acc"},"last_refresh":"` + time.Now().UTC().Format(time.RFC3339) + `"}`},
	},
	{
		name: "gemini", agent: "gemini", args: "-m gemini-2.5-pro -p", talk: "-m gemini-2.5-pro -i", login: geminiKey, drawn: `─{61}`,
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}`},
	},
	{
		name: "gemini with a Google account", agent: "gemini", args: "-m gemini-2.5-pro -p", login: "Authorization: Bearer ya29.test", needs: "code-assist={url}",
		env:   []string{"GEMINI_API_KEY=", "GOOGLE_GENAI_USE_GCA=true", "GOOGLE_CLOUD_ACCESS_TOKEN=ya29.test"},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"oauth-personal"}},"privacy":{"usageStatisticsEnabled":false}}`},
	},
	{
		name: "opencode", agent: "opencode-anthropic", args: "run -m anthropic/claude-sonnet-4-5", talk: "-m anthropic/claude-sonnet-4-5 --prompt", login: claudeKey, drawn: `▀{50,60}`,
		files: map[string]string{".config/opencode/opencode.json": `{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled"}`},
	},
	{
		name: "qwen", agent: "qwen", args: "-p", talk: "-i", login: openaiKey, drawn: `─{61}`, env: []string{"OPENAI_MODEL=gpt-5"},
		files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false},"$version":4,"ui":{"autoModeAcknowledged":true}}`},
	},
}

const codexConfig = "model = \"gpt-5\"\n[analytics]\nenabled = false\n[projects.\"{work}\"]\ntrust_level = \"trusted\"\n\n" +
	"[tui]\nscreen_reader_detection_done = true\n\n[tui.model_availability_nux]\n\"gpt-6.1-sol\" = 9\n"

// jwt is a token of a ChatGPT account.
var jwt = strings.Join([]string{
	encoded(`{"alg":"none"}`),
	encoded(`{"email":"a@example.com","exp":4102444800,"https://api.openai.com/auth":{"chatgpt_plan_type":"pro","chatgpt_user_id":"u","chatgpt_account_id":"acc"}}`),
	encoded("x"),
}, ".")

func encoded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// desk is a user's home with the files, a provider, and what both have seen.
type desk struct {
	t          *testing.T
	user       user
	agent      agent
	home, work string
	fill       *strings.Replacer
	upstream   string

	mu   sync.Mutex
	seen []http.Header // of requests for answers
}

// forUsers runs a test with each user whose agent is there, all at the same time.
func forUsers(t *testing.T, test func(*testing.T, *desk)) {
	t.Parallel()
	for _, u := range users {
		t.Run(u.name, func(t *testing.T) {
			a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == u.agent })]
			a.needs(t)
			t.Parallel()
			d := &desk{t: t, user: u, agent: a, home: t.TempDir(), work: t.TempDir()}
			d.fill = strings.NewReplacer("{work}", d.work, "{jwt}", jwt)
			for name, text := range u.files {
				d.write(name, d.fill.Replace(text))
			}
			d.write(".claude.json", `{"hasCompletedOnboarding":true,"projects":{"`+d.work+`":{"hasTrustDialogAccepted":true}},`+
				`"customApiKeyResponses":{"approved":["test0000000000000000"]}}`) // Claude Code's own notes
			d.write("bin/notify-send", "#!/bin/sh\necho \"$3: $4\" >>"+d.home+"/told\n")
			test(t, d)
		})
	}
}

// write writes a file below the home.
func (d *desk) write(name, text string) {
	d.t.Helper()
	file := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		d.t.Fatalf("write %s: %v", name, err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		d.t.Fatalf("write %s: %v", name, err)
	}
}

// provide starts the provider. Its script begins with the first request for an answer.
func (d *desk) provide(script simulator.Script) {
	provider := simulator.New(script)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asks(r.URL.Path) {
			once.Do(provider.Start)
			d.mu.Lock()
			d.seen = append(d.seen, r.Header.Clone())
			d.mu.Unlock()
		}
		if strings.Contains(r.URL.Path, "/v1internal:") {
			codeAssist(provider, w, r)
			return
		}
		provider.ServeHTTP(w, r)
	}))
	d.upstream = server.URL
	d.t.Cleanup(func() {
		_ = provider.Close()
		server.Close()
	})
}

// data is the data of an event.
var data = regexp.MustCompile(`(?m)^data: (.*?)\r?$`)

// codeAssist answers as Google's Code Assist does, with the answers of a provider of Gemini's API.
func codeAssist(provider http.Handler, w http.ResponseWriter, r *http.Request) {
	if !asks(r.URL.Path) {
		_, _ = io.WriteString(w, `{"currentTier":{"id":"standard-tier"},"cloudaicompanionProject":"p"}`)
		return
	}
	r.URL.Path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
	got := httptest.NewRecorder()
	provider.ServeHTTP(got, r)
	maps.Copy(w.Header(), got.Header())
	w.WriteHeader(got.Code)
	_, _ = w.Write(data.ReplaceAll(got.Body.Bytes(), []byte(`data: {"response":$1}`)))
}

// run runs the agent in a terminal with `exec`, and asks it something.
func (d *desk) run(args string) *terminal {
	d.t.Helper()
	return inTerminal(d.t, d.exec(append(strings.Fields(args), "Say hi")...))
}

// exec returns the command that runs the agent with `exec`.
func (d *desk) exec(args ...string) *exec.Cmd {
	d.t.Helper()
	own := d.agent.command(d.t.Context(), d.t, d.home, nil)
	all := []string{"exec"}
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		all = append(all, "--upstream", name+"="+d.upstream)
	}
	if d.user.needs != "" {
		all = append(all, "--upstream", strings.Replace(d.user.needs, "{url}", d.upstream, 1))
	}
	cmd := exec.Command(program(d.t), slices.Concat(all, []string{"--", own.Path}, args)...)
	cmd.Dir, cmd.Env = d.work, slices.Concat(own.Env, d.user.env, []string{"TERM=xterm-256color", "LANG=C.UTF-8"})
	for i, v := range cmd.Env {
		if path, is := strings.CutPrefix(v, "PATH="); is {
			cmd.Env[i] = "PATH=" + filepath.Join(d.home, "bin") + ":" + path
		}
	}
	return cmd
}

// check compares the user's files and the login that the provider got with those of before.
func (d *desk) check() {
	d.t.Helper()
	for name, before := range d.user.files {
		got, err := os.ReadFile(filepath.Join(d.home, name))
		if want := d.fill.Replace(before); err != nil || string(got) != want {
			d.t.Errorf("%s: got %s and %v, want it as before: %s", name, got, err, want)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name, want, _ := strings.Cut(d.fill.Replace(d.user.login), ": ")
	for _, h := range d.seen {
		if got := h.Get(name); got != want {
			d.t.Errorf("the provider got %s: %s, want %s", name, got, want)
		}
	}
}

// countdown is a title that `exec` sets.
var countdown = regexp.MustCompile(`^▲ server overloaded — retrying (in \d+m?\d*s|now)… (\(\d calls\) )?· (claude|codex|gemini|opencode|qwen)$`)

// ours is the beginning of such a title.
var ours = regexp.MustCompile("\x1b]2;▲ server")

// onExit is what it writes at the end.
var onExit = regexp.MustCompile(`ridethrough: held (\d) calls?, ([0-9ms]+); (\d) lost`)

// TestExec_AgentsAreHeldInATerminal has an outage of a minute and a half.
func TestExec_AgentsAreHeldInATerminal(t *testing.T) {
	forUsers(t, func(t *testing.T, d *desk) {
		d.provide(outage(window, nil))
		tt := d.run(d.user.args)
		if err := tt.wait(window + 4*time.Minute); err != nil {
			t.Errorf("exec: %v, want the agent's exit code 0", err)
		}
		d.check()
		written := tt.written()
		said := onExit.FindStringSubmatch(written)
		if plain := titleSet.ReplaceAllString(colours.ReplaceAllString(written, ""), ""); !strings.Contains(plain, answer) || said == nil {
			t.Fatalf("the terminal has %q, want the answer and a line at the end", plain[max(0, len(plain)-2000):])
		}
		titles := slices.DeleteFunc(tt.titles(), func(s string) bool { return !countdown.MatchString(s) })
		t.Logf("| %s | %s | %d titles, such as %q |", d.user.name, said[0], len(titles), titles[len(titles)/2])
		if took, err := time.ParseDuration(said[2]); err != nil || took < window-5*time.Second || took > window+time.Minute {
			t.Errorf("held for %s, want about %v", said[2], window)
		}
		if len(titles) < 80 {
			t.Errorf("%d titles with a countdown, want one in each second: %q", len(titles), tt.titles())
		}
		if kept, given := strings.Count(written, "\x1b[22;2t"), strings.Count(written, "\x1b[23;2t"); kept != given {
			t.Errorf("the title was kept %d times and given back %d times", kept, given)
		}
		told, _ := os.ReadFile(filepath.Join(d.home, "told"))
		if !regexp.MustCompile(`^(anthropic|openai|gemini|chatgpt|code-assist) fails: Server overloaded since \d\d:\d\d.*\n[\w-]+ is back: It failed for 1m\d\ds`).Match(told) {
			t.Errorf("the desktop was told %q, want the outage and its end", told)
		}
	})
}

// TestExec_AgentsKeepTheirTerminal holds a conversation, in which the terminal's size changes and Ctrl+C is pressed.
func TestExec_AgentsKeepTheirTerminal(t *testing.T) {
	forUsers(t, func(t *testing.T, d *desk) {
		if d.user.talk == "" {
			t.Skip("the same program with another login")
		}
		d.provide(outage(time.Hour, nil))
		tt := d.run(d.user.talk)
		if !tt.await(0, regexp.MustCompile("▲ server overloaded"), 2*time.Minute) {
			t.Fatalf("no title says that the call is held: %q", tt.titles())
		}
		shown := len(tt.titles())
		from := len(tt.written())
		if err := pty.Setsize(tt.master, &pty.Winsize{Rows: 30, Cols: 61}); err != nil {
			t.Fatalf("resize: %v", err)
		}
		if !tt.await(from, regexp.MustCompile(d.user.drawn), time.Minute) {
			t.Errorf("the agent has not drawn %s in a narrower terminal", d.user.drawn)
		}
		for range 8 {
			if !tt.await(len(tt.written()), ours, time.Minute) {
				t.Errorf("the titles do not count down: %q", tt.titles()[shown:])
			}
		}
		others := slices.DeleteFunc(tt.titles()[shown:], countdown.MatchString)
		t.Logf("| %s | titles of the agent during the hold: %q |", d.user.name, others)
		if len(others) > 2 { // one, when it notices something
			t.Errorf("the agent has changed the title %d times, want it to leave it alone: %q", len(others), others)
		}
		err := tt.interrupt()
		d.check()
		if said := onExit.FindStringSubmatch(tt.written()); said == nil || said[3] == "0" {
			t.Errorf("after Ctrl+C: %v and %q, want a line about a call that was not answered", err, said)
		}
	})
}

func TestExec_ExitCodeIsTheAgents(t *testing.T) {
	forUsers(t, func(t *testing.T, d *desk) {
		d.provide(simulator.Script{})
		bare := d.agent.command(t.Context(), t, d.home, []string{"--no-such-option"})
		bare.Dir = d.work
		held := d.exec("--no-such-option")
		for _, cmd := range []*exec.Cmd{bare, held} {
			if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil {
				t.Fatalf("run: %v: %s", err, out)
			}
		}
		if got, want := held.ProcessState.ExitCode(), bare.ProcessState.ExitCode(); got != want || want <= 0 {
			t.Errorf("exit code %d with exec and %d without, want the same failure", got, want)
		}
		d.check()
	})
}
