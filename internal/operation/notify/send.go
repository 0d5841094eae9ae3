package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

const (
	sendTime    = 10 * time.Second // of one try
	showTime    = time.Second      // for a desktop's program to end once its time is over
	answerBound = 4 << 10          // bytes of an answer
)

// Send delivers a notice in one try. Its errors are faults. They do not contain the target's URL.
func (t *Target) Send(ctx context.Context, client *http.Client, n Notice) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sendTime, &fault.Error{Kind: fault.Timeout, Message: "no answer within " + sendTime.String()})
	defer cancel()
	if t.Kind == Desktop {
		return t.show(ctx, n)
	}
	return t.post(ctx, client, n)
}

func (t *Target) post(ctx context.Context, client *http.Client, n Notice) error {
	req, err := t.request(ctx, n)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Message: err.Error()}
	}
	resp, err := client.Do(req)
	if err != nil {
		return classify.Of(withoutURL(err), time.Now())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerBound))
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode < 400:
		return &fault.Error{Kind: fault.Invalid, Status: resp.StatusCode, Message: "it redirects; use the address that it redirects to"}
	case err != nil:
		return classify.Of(withoutURL(err), time.Now())
	}
	return classify.FromResponse(resp.StatusCode, resp.Header, body, time.Now())
}

func (t *Target) request(ctx context.Context, n Notice) (*http.Request, error) {
	if t.URL == nil {
		return nil, errors.New("it has no URL")
	}
	to, err := t.URL()
	if err != nil {
		return nil, err
	}
	if err := CheckURL(to); err != nil {
		return nil, fmt.Errorf("its URL %w", err)
	}
	m, err := t.message(n)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(m.body))
	if err != nil {
		return nil, withoutURL(err)
	}
	req.Header.Set("User-Agent", "ridethrough")
	for name, value := range m.header {
		req.Header.Set(name, value)
	}
	if t.Token != nil {
		token, err := t.Token()
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// withoutURL returns the cause of a client's error, which would contain the URL.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func (t *Target) show(ctx context.Context, n Notice) error {
	text, err := t.text(n)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Message: err.Error()}
	}
	name, args := desktopCommand(runtime.GOOS, n.Title(), text)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = showTime
	out, err := cmd.CombinedOutput()
	switch said := strings.TrimSpace(string(out[:min(len(out), answerBound)])); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return classify.Of(context.Cause(ctx), time.Now())
	case said != "":
		return &fault.Error{Kind: fault.Invalid, Message: name + ": " + said}
	default:
		return &fault.Error{Kind: fault.Invalid, Message: err.Error()}
	}
}

// DesktopProgram returns the name of the program that shows notices on this system's desktop. It may be missing.
func DesktopProgram() string {
	name, _ := desktopCommand(runtime.GOOS, "", "")
	return name
}

// desktopCommand returns the command that shows a notice. The texts are arguments, so that a shell never interprets
// them.
func desktopCommand(system, title, text string) (name string, args []string) {
	if system == "darwin" {
		return "osascript", []string{
			"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", title, text,
		}
	}
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text) // the text may have markup
	return "notify-send", []string{"--app-name=ridethrough", "--", title, escaped}
}

// NewClient returns the client for all targets. It does not follow redirects, so that a token only goes to its
// target.
func NewClient() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
