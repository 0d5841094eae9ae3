package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The checks of what reaches the provider.

// answerLimit is how long Claude Code waits for a list of models.
const answerLimit = 3 * time.Second

// reaches checks that a request gets to the provider and its answer back.
func (t *trial) reaches() (string, error) {
	got, a, err := t.exchange(sendWhole, t.bodyOf(false, "", ""), nil)
	switch {
	case err != nil && got.uri == "":
		return "", fmt.Errorf("%w; is the gateway's upstream http://%s?", err, t.provider.addr)
	case err != nil:
		return "", err
	case !strings.HasPrefix(got.uri, "/v1/messages"):
		return "", fmt.Errorf("the provider was asked for %s", got.uri)
	case len(a.body) == 0:
		return "", errors.New("the answer is empty")
	}
	return "", nil
}

// head checks the test of a connection.
func (t *trial) head() (string, error) {
	defer t.within(answerLimit)()
	a, err := t.send(t.newRequest(http.MethodHead, "/", ""))
	switch {
	case err != nil:
		return "", err
	case a.status >= http.StatusInternalServerError:
		return "", fmt.Errorf("HTTP %d", a.status)
	}
	return fmt.Sprintf("HTTP %d", a.status), nil
}

// models checks the list of models.
func (t *trial) models() (string, error) {
	defer t.within(answerLimit)()
	a, err := t.send(t.newRequest(http.MethodGet, modelsPath, ""))
	if err != nil {
		return "", err
	}
	var list struct{ Data []struct{ ID string } }
	switch {
	case a.err != nil:
		return "", fmt.Errorf("the list broke off: %w", a.err)
	case a.status >= 300 && a.status < 400:
		return "", fmt.Errorf("HTTP %d redirects to %s", a.status, quote(a.header.Get("Location")))
	case t.wantsKey(a.status):
		return "", skipf("HTTP %d: the gateway or its provider asks for a credential", a.status)
	case a.status != http.StatusOK:
		return "", errors.New(a.describe())
	case json.Unmarshal(a.body, &list) != nil || len(list.Data) == 0 || list.Data[0].ID == "":
		return "", fmt.Errorf("the answer has no data with an id: %s", quote(a.body))
	}
	return fmt.Sprintf("%d models", len(list.Data)), nil
}

// wantsKey reports whether a status only shows that there is no credential.
func (t *trial) wantsKey(status int) bool {
	return t.provider == nil && t.Key == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden)
}

// credentials checks both ways to authenticate, each alone.
func (t *trial) credentials() (string, error) {
	ways := []http.Header{{"Authorization": {"Bearer sk-ant-oat01-conform-0123456789"}}, {"X-Api-Key": {playedKey}}}
	if t.Header.Get("Authorization")+t.Header.Get("X-Api-Key") != "" {
		ways = []http.Header{t.Header} // the gateway's own token stands there
	}
	replaced := false
	for i, way := range ways {
		got, err := t.asked(t.bodyOf(false, fmt.Sprint(i), ""), func(h http.Header) {
			h.Del("Authorization")
			h.Del("X-Api-Key")
			maps.Copy(h, way)
		})
		names := strings.Join(slices.Sorted(maps.Keys(way)), ", ")
		login, key := got.header.Get("Authorization"), got.header.Get("X-Api-Key")
		switch {
		case err != nil:
			return "", fmt.Errorf("with %s: %w", names, err)
		case login+key == "":
			return "", fmt.Errorf("with %s: the provider got no credential", names)
		}
		replaced = replaced || login != way.Get("Authorization") || key != way.Get("X-Api-Key")
	}
	if replaced {
		return "the gateway sends a credential of its own: a claude.ai login does not reach the provider", nil
	}
	return "", nil
}

// betaHeaders checks the headers that decide about features.
func (t *trial) betaHeaders() (string, error) {
	sent := []string{"claude-code-20250219,conform-later-2027-01-01", "conform-line-2027-01-01"}
	got, err := t.asked(t.bodyOf(false, "", ""), func(h http.Header) { h["Anthropic-Beta"] = sent })
	if err != nil {
		return "", err
	}
	have := strings.Split(strings.ReplaceAll(strings.Join(got.header.Values("Anthropic-Beta"), ","), " ", ""), ",")
	for _, beta := range strings.Split(strings.Join(sent, ","), ",") {
		if !slices.Contains(have, beta) {
			return "", fmt.Errorf("anthropic-beta has no %s, but %s", beta, quote(strings.Join(have, ",")))
		}
	}
	return "", sameHeaders(got.header, http.Header{"Anthropic-Version": {"2023-06-01"}})
}

// anthropicHeaders checks headers that the gateway cannot know.
func (t *trial) anthropicHeaders() (string, error) {
	return "", t.passes(http.Header{
		"Anthropic-Conform-Later":                   {`a, B;c="d"`},
		"Anthropic-Workspace-Id":                    {"wrkspc_conform"},
		"Anthropic-Dangerous-Direct-Browser-Access": {"true"},
	})
}

// sessionHeaders checks the headers that tell sessions and agents apart.
func (t *trial) sessionHeaders() (string, error) {
	return "", t.passes(http.Header{
		"X-Claude-Code-Session-Id":      {"5f0c9cda-6b5e-4a2d-9d43-000000000001"},
		"X-Claude-Code-Agent-Id":        {"agent-conform"},
		"X-Claude-Code-Parent-Agent-Id": {"agent-conform-parent"},
	})
}

// passes checks that headers reach the provider unchanged.
func (t *trial) passes(sent http.Header) error {
	got, err := t.asked(t.bodyOf(false, "", ""), func(h http.Header) { maps.Copy(h, sent) })
	if err != nil {
		return err
	}
	return sameHeaders(got.header, sent)
}

// sameHeaders returns an error if a header is not among those that arrived, or is another.
func sameHeaders(got, want http.Header) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch have := strings.Join(got.Values(name), ", "); {
		case have == "":
			return fmt.Errorf("%s is missing", strings.ToLower(name))
		case have != strings.Join(want[name], ", "):
			return fmt.Errorf("%s was %s, now %s", strings.ToLower(name), quote(want.Get(name)), quote(have))
		}
	}
	return nil
}

// body checks that nothing in a body is lost or changed. The model may be another, and so may the spaces.
func (t *trial) body() (string, error) {
	sent := t.bodyOf(false, "", unknownFields)
	got, err := t.asked(sent, nil)
	if err != nil {
		return "", err
	}
	want, _ := decode([]byte(sent))
	have, err := decode(got.body)
	if err != nil {
		return "", fmt.Errorf("the provider got no JSON, but %s", quote(got.body))
	}
	if o, ok := have.(map[string]any); ok {
		o["model"] = t.Model
	}
	return "", difference("", want, have)
}

// decode decodes JSON with its numbers as they are written.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v)
}

// difference returns an error that names the first place at which two values differ.
func difference(at string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return changed(at, want, got)
		}
		return differenceOfObjects(at, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return changed(at, want, got)
		}
		for i := range w {
			if err := difference(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if want != got {
		return changed(at, want, got)
	}
	return nil
}

func differenceOfObjects(at string, want, got map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		have, ok := got[name]
		if !ok {
			return fmt.Errorf("%s.%s is missing", at, name)
		}
		if err := difference(at+"."+name, want[name], have); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%s.%s was added", at, name)
		}
	}
	return nil
}

// changed returns the error about a value that has become another.
func changed(at string, want, got any) error {
	before, _ := json.Marshal(want)
	after, _ := json.Marshal(got)
	return fmt.Errorf("%s was %s, now %s", at, quote(before), quote(after))
}

// largeBodyBytes is close to the 32 MB that Anthropic's API accepts.
const largeBodyBytes = 30 << 20

// largeBody checks a body as large as they become.
func (t *trial) largeBody() (string, error) {
	long := strings.Repeat("long ", largeBodyBytes/5)
	got, err := t.asked(t.bodyOf(false, long, ""), nil)
	switch {
	case err != nil:
		return "", err
	case !bytes.Contains(got.body, []byte(long)):
		return "", fmt.Errorf("the provider got %d bytes without the whole prompt", len(got.body))
	}
	return "", nil
}

// countTokens checks the request that counts tokens, which a gateway may refuse.
func (t *trial) countTokens() (string, error) {
	const counted = `{"input_tokens": 42}`
	s := t.provider.expect(t.mark, func(w http.ResponseWriter, _ received) { send(w, http.StatusOK, counted) })
	a, err := t.send(t.newRequest(http.MethodPost, countPath, t.bodyOf(false, "", "")))
	got, reached := s.last()
	switch {
	case err != nil:
		return "", err
	case a.status == http.StatusNotFound && !reached:
		return "refused: Claude Code estimates instead", nil
	case a.status != http.StatusOK || string(a.body) != counted:
		return "", fmt.Errorf("the provider answered %s, the client got %s", quote(counted), a.describe())
	case !strings.HasPrefix(got.uri, "/v1/messages/count_tokens"):
		return "", errors.New("the request did not reach the provider")
	}
	return "", nil
}
