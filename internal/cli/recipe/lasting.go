package recipe

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ridethrough/ridethrough/internal/cli/settingsfile"
)

// Lasting is what a program needs to use a gateway for good.
type Lasting struct {
	File     string // its configuration file; "": Command does it
	Format   settingsfile.Format
	Settings []settingsfile.Setting // in whose values {url} is the gateway's address
	Upstream map[string]string      // by the name of a setting: the upstream that its present value is an address of
	Need     Upstream               // that the gateway must have; zero: those of every gateway
	Command  string                 // of the program itself, where its file is no place for others
	Also     string                 // what else to know; "": nothing
}

// Programs returns the programs that [Lastingly] knows.
func Programs() []string {
	return []string{"claude", "codex", "gemini", "opencode", "qwen", "cline", "aider"}
}

// Lastingly returns what a program needs for a gateway at an address. The environment says where its files are.
func Lastingly(program, url string, env func(string) string) (Lasting, error) {
	home := cmp.Or(env("HOME"), env("USERPROFILE"))
	if !filepath.IsAbs(home) {
		return Lasting{}, fmt.Errorf("no home directory")
	}
	l := Lasting{Upstream: map[string]string{}}
	one := func(file string, format settingsfile.Format, upstream, value string, path ...string) {
		l.File, l.Format = file, format
		l.Settings = append(l.Settings, settingsfile.Setting{Path: path, Value: value})
		l.Upstream[strings.Join(path, ".")] = upstream
	}
	switch program {
	case "claude":
		dir := cmp.Or(env("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
		one(filepath.Join(dir, "settings.json"), settingsfile.JSON, "anthropic", url, "env", "ANTHROPIC_BASE_URL")
	case "codex":
		path := "/v1"
		if codexLogin(env) {
			l.Need, path = chatgpt, "/"+chatgpt.Name
		}
		one(filepath.Join(codexHome(env), "config.toml"), settingsfile.TOML, "openai", url+path, "openai_base_url")
	case "gemini":
		one(geminiFile(env, ".env"), settingsfile.Variables, "gemini", url, "GOOGLE_GEMINI_BASE_URL")
		if googleLogin(env) {
			l.Need = codeAssist
			one(l.File, l.Format, codeAssist.Name, url+"/"+codeAssist.Name, codeAssistVariable)
		}
		l.Also = "A .env file of a project is read in place of this one; set the variable there too."
	case "qwen":
		one(filepath.Join(home, ".qwen", ".env"), settingsfile.Variables, "openai", url+"/v1", "OPENAI_BASE_URL")
		l.Also = "A .env file of a project is read in place of this one; set the variable there too."
	case "opencode":
		l = opencodeLasting(url, home, env)
	case "aider":
		one(filepath.Join(home, ".aider.conf.yml"), settingsfile.YAML, "openai", url+"/v1", "openai-api-base")
		l.Also = "For Claude's models set the variable ANTHROPIC_API_BASE=" + url + ", which this file has no name for."
	case "cline":
		l.Command = "cline auth -p openai-compatible -b " + url + "/v1 -k KEY -m MODEL"
		l.Also = "Cline keeps the address beside your key, in a file that is not for others."
	default:
		return l, fmt.Errorf("setup does not know %s, but %s; any other program: `ridethrough exec -- PROGRAM`", program, strings.Join(Programs(), ", "))
	}
	return l, nil
}

// opencodeLasting returns what opencode needs: an address for each of its providers.
func opencodeLasting(url, home string, env func(string) string) Lasting {
	dir := filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "opencode")
	file := env("OPENCODE_CONFIG")
	if file == "" {
		file = filepath.Join(dir, "opencode.json")
		if other := file + "c"; !exists(file) && exists(other) {
			file = other
		}
	}
	l := Lasting{File: file, Format: settingsfile.JSON, Upstream: map[string]string{}}
	for _, p := range opencodeProviders() {
		path := []string{"provider", p.name, "options", "baseURL"}
		l.Settings = append(l.Settings, settingsfile.Setting{Path: path, Value: strings.ReplaceAll(p.url, "{url}", url)})
		l.Upstream[strings.Join(path, ".")] = p.upstream
	}
	return l
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
