package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/turn"
)

func TestRequests_AreShownAndFiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := measured(&fake{}, 0, 0)
		for id := range int64(3) {
			e := happens(id+1, turn.Sealed{Status: turn.Done})
			e.Status, e.Call.Began = http.StatusOK, e.At.Add(-1500*time.Millisecond)
			if id == 2 {
				e.Call.Model = "haiku"
			}
			h.Watch(&e)
		}
		for query, want := range map[string]string{
			"": "3: 3 2 1", "?limit=1": "3: 3", "?limit=0": "3: 3 2 1", "?text=HAIKU": "1: 3", "?upstream=none": "0:", "?outcome=answered&limit=2": "3: 3 2", "?outcome=failed": "0:",
		} {
			var got struct {
				All      int
				Requests []struct{ ID int }
			}
			w := ask(s, request("GET", "/-/requests"+query, ""))
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !strings.Contains(w.Body.String(), `"requests":[`) {
				t.Fatalf("%s: %v: %s", query, err, w.Body)
			}
			text := fmt.Sprintf("%d:", got.All)
			for _, r := range got.Requests {
				text += fmt.Sprint(" ", r.ID)
			}
			if text != want {
				t.Errorf("%s: got %s, want %s", query, text, want)
			}
		}
		for query, want := range map[string]string{
			"?outcome=lost": `outcome: want answered, failed, broke-off or left, not "lost"`, "?limit=many": `limit: want a whole number from 0, not "many"`,
		} {
			if w := ask(s, request("GET", "/-/requests"+query, "")); w.Code != http.StatusBadRequest || message(t, w) != want {
				t.Errorf("%s: got %d, %s; want 400, %s", query, w.Code, w.Body, want)
			}
		}
	})
}

// Without a history there is nothing to show, which is no error.
func TestRequests_WithoutHistoryAreNone(t *testing.T) {
	s := server.New(server.Config{Gateway: &fake{}})
	for path, want := range map[string]string{
		"/-/requests": `{"all":0,"requests":[]}`, "/-/setup": `{"token":false,"programs":[]}`,
	} {
		if got := strings.TrimSpace(ask(s, request("GET", path, "")).Body.String()); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestSetup_ShowsProgramsAndWhetherATokenIsNeeded(t *testing.T) {
	asked := 0
	s := server.New(server.Config{Gateway: &fake{}, Token: "0123456789abcdef", Programs: func() []server.Program {
		asked++
		return []server.Program{{Name: "claude", File: "~/.claude/settings.json", Text: "{url}"}}
	}})
	if asked > 0 {
		t.Errorf("programs asked for before the first request: %d times, want none", asked)
	}
	got := strings.TrimSpace(ask(s, request("GET", "/-/setup", "", "X-Ridethrough-Token", "0123456789abcdef")).Body.String())
	if want := `{"token":true,"programs":[{"name":"claude","file":"~/.claude/settings.json","text":"{url}"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Who may only use the providers sees nothing of what others do.
func TestRequests_NeedTheScopeToSee(t *testing.T) {
	tokens := []access.Token{
		{Name: "user", Scope: access.Use, Hash: access.Hash("user-user-user-user")},
		{Name: "reader", Scope: access.See, Hash: access.Hash("reader-reader-reader")},
	}
	s := server.New(server.Config{Gateway: &fake{}, Tokens: func() []access.Token { return tokens }})
	for _, path := range []string{"/-/requests", "/-/setup"} {
		for token, want := range map[string]int{"": http.StatusUnauthorized, "user-user-user-user": http.StatusForbidden, "reader-reader-reader": http.StatusOK} {
			if got := ask(s, request("GET", path, "", "X-Ridethrough-Token", token)).Code; got != want {
				t.Errorf("%s with token %q: got %d, want %d", path, token, got, want)
			}
		}
	}
}
