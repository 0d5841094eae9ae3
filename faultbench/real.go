package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The checks with a provider that is not played here. All but one ask for what the provider refuses, or does not
// charge for.

// refused sends a request that the provider refuses with 400, and returns its answer.
func (t *trial) refused(body string, change func(http.Header)) (answer, error) {
	r := t.newRequest(http.MethodPost, messagesPath, body)
	if change != nil {
		change(r.Header)
	}
	a, err := t.send(r)
	switch {
	case err != nil:
		return a, err
	case t.wantsKey(a.status):
		return a, skipf("HTTP %d: the gateway or its provider asks for a credential first", a.status)
	}
	return a, a.err
}

// answersAtAll checks that there is an API at all.
func (t *trial) answersAtAll() (string, error) {
	a, err := t.send(t.newRequest(http.MethodPost, messagesPath, "{}"))
	switch {
	case err != nil:
		return "", err
	case a.status >= 300 && a.status < 400:
		return "", fmt.Errorf("HTTP %d redirects to %s", a.status, quote(a.header.Get("Location")))
	case a.status == http.StatusOK || a.status == http.StatusNotFound || a.status >= 500:
		return "", fmt.Errorf("an empty request should be refused with 400 or 401, not with %s", a.describe())
	}
	return fmt.Sprintf("HTTP %d to an empty request", a.status), nil
}

// realErrors checks the form of an error, of the provider or of the gateway.
func (t *trial) realErrors() (string, error) {
	a, err := t.send(t.newRequest(http.MethodPost, messagesPath, `{"model":"","messages":[]}`))
	if err != nil {
		return "", err
	}
	v, err := decode(a.body)
	o, _ := v.(map[string]any)
	e, _ := o["error"].(map[string]any)
	if err != nil || o["type"] != "error" || e["type"] == nil || e["message"] == nil {
		return "", fmt.Errorf("want %s, got %s", `{"type":"error","error":{"type":…,"message":…}}`, a.describe())
	}
	return fmt.Sprintf("HTTP %d in Anthropic's form; its bytes are only compared with --provider", a.status), hasType(jsonType, a.header)
}

// realBetaHeaders checks that the provider complains about a beta that does not exist.
func (t *trial) realBetaHeaders() (string, error) {
	const beta = "conform-later-2027-01-01"
	return t.complains(t.bodyOf(false, "", ""), func(h http.Header) { h.Set("Anthropic-Beta", beta) }, beta)
}

// realBody checks that the provider complains about a field that does not exist.
func (t *trial) realBody() (string, error) {
	return t.complains(t.bodyOf(false, "", `,"conform_later":[]`), nil, "conform_later")
}

// complains checks that the provider refuses a request by naming what it does not know.
func (t *trial) complains(body string, change func(http.Header), about string) (string, error) {
	if t.Key == "" {
		return "", skip("needs --provider, or a key: a provider that does not refuse it charges a few tokens")
	}
	a, err := t.refused(body, change)
	switch {
	case err != nil:
		return "", err
	case a.status == http.StatusOK:
		return "", fmt.Errorf("the request was answered, not refused: the provider did not get %s", about)
	case !bytes.Contains(a.body, []byte(about)):
		return "", fmt.Errorf("the provider should refuse %s by its name; the client got %s", about, a.describe())
	}
	return "the provider refuses " + about + " by its name", nil
}

// realStream asks for a short answer.
func (t *trial) realStream() (string, error) {
	a, err := t.refused(t.bodyOf(true, "", ""), nil)
	all := events(a.body)
	switch {
	case err != nil:
		return "", err
	case a.status != http.StatusOK:
		return "", errors.New(a.describe())
	case len(all) == 0 || !strings.HasPrefix(all[0], "event: message_start") || !strings.HasPrefix(all[len(all)-1], "event: message_stop"):
		return "", fmt.Errorf("the answer is not one from message_start to message_stop: %s", quote(a.body))
	}
	return fmt.Sprintf("%d events", len(all)), hasType(eventsType, a.header)
}

// realCountTokens counts the tokens of a request, for which providers charge nothing.
func (t *trial) realCountTokens() (string, error) {
	a, err := t.realCount()
	switch {
	case err != nil:
		return "", err
	case a.status == http.StatusNotFound:
		return "refused: Claude Code estimates instead", nil
	case a.status != http.StatusOK || !bytes.Contains(a.body, []byte(`"input_tokens"`)):
		return "", errors.New(a.describe())
	}
	return "", nil
}

// realResponseHeaders looks for headers of the provider.
func (t *trial) realResponseHeaders() (string, error) {
	a, err := t.realCount()
	switch {
	case err != nil:
		return "", err
	case a.status != http.StatusOK:
		return "", skipf("count_tokens has no answer: HTTP %d", a.status)
	case a.header.Get("Request-Id") == "":
		return "", errors.New("request-id is missing")
	}
	return "request-id " + a.header.Get("Request-Id"), nil
}

// realCount asks for the number of tokens of a request.
func (t *trial) realCount() (answer, error) {
	if t.Key == "" {
		return answer{}, skip("needs --provider, or a key")
	}
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Say hi."}]}`, t.Model)
	a, err := t.send(t.newRequest(http.MethodPost, countPath, body))
	return a, errors.Join(err, a.err)
}
