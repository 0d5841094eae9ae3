package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/wire"
)

// script answers one request after the other.
type script struct {
	t       *testing.T
	answers []func(*http.Request) (*http.Response, error)
	asked   []string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
	}
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL.String(), "http://server/-/conversations")+" "+body))
	if len(s.answers) == 0 {
		s.t.Error("asked too often:", s.asked)
		return nil, errors.New("nothing is left to answer")
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next(r)
}

// at is a client whose requests are answered like that.
func at(t *testing.T, answers ...func(*http.Request) (*http.Response, error)) (client.Client, *script) {
	s := &script{t: t, answers: answers}
	return client.Client{Base: "http://server", HTTP: &http.Client{Transport: s}}, s
}

// says answers with a text.
func says(status int, text string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

// hangs answers with a text and then says nothing until the client leaves.
func hangs(text string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: &hung{strings.NewReader(text), r.Context()}}, nil
	}
}

// hung is a body that never ends by itself.
type hung struct {
	*strings.Reader
	ctx context.Context
}

func (h *hung) Read(p []byte) (int, error) {
	if n, err := h.Reader.Read(p); err == nil {
		return n, nil
	}
	<-h.ctx.Done()
	return 0, context.Cause(h.ctx)
}

func (h *hung) Close() error { return nil }

func refused(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }

// attached returns what a reader sees until the last event has come.
func attached(t *testing.T, c client.Client, last int64) (got []string, err error) {
	t.Helper()
	for e, err := range c.Attach(t.Context(), "c", 0) {
		if err != nil {
			return got, err
		}
		text := fmt.Sprint(e.Seq, " ", wire.Type(e.Body))
		switch b := e.Body.(type) {
		case wire.ConnectionLost:
			text = fmt.Sprintf("lost %d for %v: %s", b.Retry-1, time.Duration(b.Delay).Truncate(time.Second/4), b.Message)
		case wire.ConnectionBack:
			text = fmt.Sprintf("back after %v", time.Duration(b.Lost).Truncate(time.Second/4))
		}
		if got = append(got, text); e.Seq == last && wire.Kept(e.Body) {
			break
		}
	}
	return got, nil
}

func TestAttach_ContinuesAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := at(t,
			says(200, line(1, "t", `"type":"input-queued","text":"hi"`)+line(3, "t", `"type":"turn-start","id":"t"`)+line(3, "t", `"type":"text-delta","text":"h"`)),
			refused, refused, says(503, `{"status":503,"code":"busy","detail":"the server is ending"}`), says(502, "<html>"), says(200, ""),
			says(200, "\n"+line(3, "t", `"type":"turn-start","id":"t"`)+line(4, "t", `"type":"turn-restarted"`)+line(9, "t", `"type":"turn-sealed","status":"done"`)),
		)
		got, err := attached(t, c, 9)
		want := []string{
			"1 input-queued", "3 turn-start", "3 text-delta",
			"lost 0 for 250ms: the server at http://server cannot be reached: connection refused",
			"lost 1 for 500ms: the server at http://server cannot be reached: connection refused",
			"lost 2 for 1s: the server is ending", "lost 3 for 2s: <html>",
			"back after 3.75s", "lost 4 for 5s: the server has ended the connection",
			"back after 5s", "4 turn-restarted", "9 turn-sealed",
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("differs (-want +got):\n%s\nerror %v", diff, err)
		}
		for _, asked := range s.asked[1:] {
			if asked != "GET /c/events?after=3" {
				t.Errorf("asked %s", asked)
			}
		}
	})
}

func TestAttach_ReconnectsSilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, _ := at(t, hangs(line(1, "t", `"type":"turn-start","id":"t"`)), hangs(""), says(200, line(2, "t", `"type":"usage"`)))
		got, err := attached(t, c, 2)
		want := []string{"1 turn-start", "lost 0 for 250ms: the server is silent", "back after 250ms", "2 usage"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("differs (-want +got):\n%s\nerror %v", diff, err)
		}
		if took := time.Since(began).Truncate(time.Second); took != 90*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestAttach_EndsWithRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := at(t, says(410, `{"status":410,"code":"gone","detail":"the conversation was deleted"}`))
		got, err := attached(t, c, 1)
		if p, ok := errors.AsType[*api.Problem](err); !ok || p.Code != "gone" || len(got) != 0 {
			t.Errorf("events %v, error %v", got, err)
		}
	})
}

func TestAttach_CallerLeavesWhileServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := at(t, refused)
		for e, err := range c.Attach(t.Context(), "c", 0) {
			if _, lost := e.Body.(wire.ConnectionLost); !lost || err != nil {
				t.Errorf("event %v, error %v", e, err)
			}
			break
		}
		time.Sleep(time.Minute)
		if len(s.asked) != 1 {
			t.Errorf("asked %s", s.asked)
		}
	})
}

func TestPut_RetriesUntilServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := at(t, refused, says(503, `{"status":503,"code":"busy"}`), says(202, `{}`), refused, says(202, `{}`), says(507, `{"status":507,"code":"store-full","detail":"no room"}`))
		if err := c.Put(t.Context(), "c", "t1", "hi"); err != nil {
			t.Errorf("follow: %v", err)
		}
		if err := c.Again(t.Context(), "c", "t2", false); err != nil {
			t.Errorf("follow: %v", err)
		}
		if p, ok := errors.AsType[*api.Problem](c.Put(t.Context(), "c", "t3", "hi")); !ok || p.Code != "store-full" {
			t.Errorf("what does not pass by itself is told at once: %v", p)
		}
		const put, again = `POST /c/turns {"id":"t1","text":"hi"}`, `POST /c/again {"id":"t2"}`
		if diff := cmp.Diff([]string{put, put, put, again, again, `POST /c/turns {"id":"t3","text":"hi"}`}, s.asked); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	})
}

func TestClient_SendsRequests(t *testing.T) {
	done := says(202, `{}`)
	c, s := at(t, done, done, says(204, ""), done, done, done, says(200, `{"id":"c","model":"a/b","turnId":"t1","seq":7,"queue":[{"id":"i","text":"x"}],"wait":{"attempt":2,"kind":"overloaded"}}`),
		says(200, `{"conversations":[{"id":"c2"},{"id":"c1"}],"before":"c1"}`), says(200, `{"conversations":[{"id":"c0"}]}`))
	ctx := t.Context()
	for i, err := range []error{
		c.Change(ctx, "c", conversation.Settings{Model: "a/b"}), c.Edit(ctx, "c", "i/1", "new"), c.Remove(ctx, "c", "i"), c.Steer(ctx, "c", "i"),
		c.Stop(ctx, "c", "t1"), c.Now(ctx, "c"),
	} {
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	v, err := c.Get(ctx, "c")
	if err != nil || v.Settings.Model != "a/b" || v.Turn != "t1" || v.Last != 7 || v.Wait.Run.Tries != 3 || v.Inputs[0].Text != "x" {
		t.Errorf("%+v, %v", v, err)
	}
	var ids []string
	for v, err := range c.List(ctx) {
		if err != nil {
			t.Errorf("follow: %v", err)
		}
		ids = append(ids, v.ID)
	}
	if diff := cmp.Diff([]string{"c2", "c1", "c0"}, ids); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	want := []string{
		`PATCH /c {"model":"a/b","fallback":[],"patienceMs":0,"system":"","policy":"","effort":"","title":"","agent":"","dir":""}`,
		`PATCH /c/queue/i%2F1 {"text":"new"}`, "DELETE /c/queue/i", "POST /c/queue/i/steer", `POST /c/stop {"turnId":"t1"}`, "POST /c/now",
		"GET /c", "GET ?before=", "GET ?before=c1",
	}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}
