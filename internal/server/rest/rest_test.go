package rest_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

type body struct {
	N int `json:"n"`
}

func TestRead_DecodesOrRefuses(t *testing.T) {
	const js = "application/json"
	for _, c := range []struct {
		kind, text string
		status     int // of the problem; 0: none
		n          int
	}{
		{js, `{"n":3}`, 0, 3},
		{js + "; charset=utf-8", ` {"n":3} `, 0, 3},
		{"", "", 0, 0},
		{js, `{"m":3}`, 400, 0},
		{js, `{"n":3}{}`, 400, 0},
		{js, "{\"n\":3,\"\xff\":1}", 400, 0},
		{"text/plain", `{"n":3}`, 415, 0},
		{js, `{"n":3` + strings.Repeat(" ", 100) + `}`, 413, 0},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.text))
		r.Header.Set("Content-Type", c.kind)
		got, err := rest.Read[body](httptest.NewRecorder(), r, 64)
		status := 0
		if p, ok := errors.AsType[*api.Problem](err); ok {
			status = p.Status
		}
		if status != c.status || err == nil && got.N != c.n {
			t.Errorf("Read(%q, %q) = %+v, %v; want %d and problem %d", c.kind, c.text, got, err, c.n, c.status)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "17": 17, "-1": -1, "x": -1, "1.5": -1} {
		got, err := rest.Number("after", text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("Number(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestProblemOf_HidesUnknownErrors(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/-/conversations/c1", nil)
	for _, c := range []struct {
		err    error
		status int
		code   string
		shown  bool
	}{
		{rest.Problem(http.StatusForbidden, "no"), 403, "forbidden", true},
		{errors.New("disk error in /var/lib"), 500, "internal", false},
	} {
		p := rest.ProblemOf(slog.New(slog.DiscardHandler), r, c.err)
		if p.Status != c.status || p.Code != c.code || (p.Detail == c.err.Error()) != c.shown {
			t.Errorf("ProblemOf(%v) = %+v; want %d %s", c.err, p, c.status, c.code)
		}
		if got := rest.StatusOf(c.code); got != c.status {
			t.Errorf("StatusOf(%q) = %d, want %d", c.code, got, c.status)
		}
	}
}

func TestRoutes_OneForEachAddress(t *testing.T) {
	answer := func(text string) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, _ *http.Request) error {
			rest.Answer(w, http.StatusOK, text)
			return nil
		}
	}
	routes := rest.Routes(slog.New(slog.DiscardHandler), []rest.Operation{
		{Method: "GET", Path: "/a", Summary: "get it", Serve: answer("got")},
		{Method: "POST", Path: "/a", Summary: "change it", Serve: answer("changed")},
		{Method: "GET", Path: "/b", Summary: "the other", Serve: answer("other")},
	})
	if len(routes) != 2 || strings.Join(routes[0].Methods, " ") != "GET HEAD POST" || routes[0].What != "get it; POST: change it" {
		t.Fatalf("routes %+v", routes)
	}
	for method, want := range map[string]string{"GET": "got", "HEAD": "got", "POST": "changed"} {
		w := httptest.NewRecorder()
		routes[0].Serve(w, httptest.NewRequest(method, "/a", nil))
		if got := strings.TrimSpace(w.Body.String()); got != `"`+want+`"` {
			t.Errorf("%s /a: got %s, want %q", method, got, want)
		}
	}
}
