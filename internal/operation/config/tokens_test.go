package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/access"
)

func TestTokens_FollowTheirFile(t *testing.T) {
	dir := t.TempDir()
	hash := " sha256:" + strings.Repeat("ab", 32) + "\n"
	put := func(text string) {
		if err := os.Rename(write(t, dir, "new", text), filepath.Join(dir, "tokens")); err != nil {
			t.Fatalf("rename: %v", err)
		}
	}
	put("alice use never" + hash)
	c := parseIn(t, dir, "tokens: tokens\n")
	var reports []string
	get, err := c.Tokens(env(), func(all []access.Token, err error) {
		report := "none"
		if err != nil {
			report = err.Error()
		} else if len(all) > 0 {
			report = all[0].Name
		}
		reports = append(reports, report)
	})
	if err != nil {
		t.Fatalf("Tokens: %v", err)
	}
	names := func() (all []string) {
		for _, t := range get() {
			all = append(all, t.Name)
		}
		return all
	}
	for _, tt := range []struct{ text, want string }{
		{"", "alice"},
		{"bob see never" + hash + "carol act never" + hash, "bob carol"},
		{"bob sea never" + hash, "bob carol"},
		{"# empty\n", ""},
	} {
		if tt.text != "" {
			put(tt.text)
		}
		if got := strings.Join(names(), " "); got != tt.want {
			t.Errorf("tokens of %q: %q, want %q", tt.text, got, tt.want)
		}
	}
	wrong := `file ` + filepath.Join(dir, "tokens") + `, line 1: unknown scope "sea"; want use, see, act or admin, separated by commas`
	if got, want := strings.Join(reports, "\n"), "bob\n"+wrong+"\nnone"; got != want {
		t.Errorf("reports\n%s\nwant\n%s", got, want)
	}
}

func TestTokens_RefuseUnusableFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tokens", "alice use never secret\n")
	for text, want := range map[string]string{
		"tokens: none":   "config.yaml:1:9: file " + dir + "/none: no such file or directory",
		"tokens: tokens": "config.yaml:1:9: file " + dir + "/tokens, line 1: the fourth field is no hash",
	} {
		c := parseIn(t, dir, text)
		if get, err := c.Tokens(env(), nil); get != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestToken_ShortOneIsRefused(t *testing.T) {
	c := parse(t, "token: {env: T}")
	for value, want := range map[string]string{"fifteen letters": "config.yaml:1:8: the token has 15 characters and could be guessed; want at least 16", "sixteen letters!": ""} {
		_, err := c.Token(env("T=" + value))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("token %q: %v, want %q", value, err, want)
		}
	}
}
