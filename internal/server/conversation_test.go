package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

// hello is a turn that goes well, as a stream tells it.
const hello = `
	queued: hello
	turn-start
	user: hello
	… hello
	… you
	model: hello you
	usage
	sealed done, 0 retries`

func TestConversation_CreateSayGetDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"))
		resp := p.send("POST", "", `{"id":"c1","model":"acme/large","title":"Greetings","system":"Be kind.","fallback":["acme/small"],"patienceMs":1000,"policy":"patient"}`)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 201 || resp.Header.Get("Location") != "/-/conversations/c1" {
			t.Errorf("%s %s", resp.Status, text)
		}
		expect(t, p.ndjson("POST", "/c1/turns", `{"text":"hello"}`), hello)
		status, c := p.ask("GET", "/c1", "")
		if status != 200 || c["title"] != "Greetings" || c["system"] != "Be kind." || c["patienceMs"] != 1000.0 || c["turnId"] != nil || len(c["queue"].([]any)) != 0 {
			t.Errorf("%d %v", status, c)
		}
		if status, _ := p.ask("DELETE", "/c1", ""); status != 204 {
			t.Errorf("status %d", status)
		}
		p.refused(410, "gone", "GET", "/c1", "")
		p.refused(410, "gone", "POST", "/c1/turns", `{"text":"hello"}`)
	})
}

func TestSay_AcceptedInputIsAnsweredWithoutReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"))
		c := p.create("")
		p.say(c, "hello")
		synctest.Wait()
		want := strings.ReplaceAll(hello, "… hello\n\t… you\n\t", "")
		expect(t, p.ndjson("GET", "/"+c+"/events?until=sealed", ""), want)
		expect(t, p.ndjson("GET", "/"+c+"/events?until=sealed&after=7", ""), "sealed done, 0 retries")
	})
}

func TestSay_SameIDTwiceIsOneInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"))
		c := p.create("")
		for range 2 {
			if status, a := p.ask("POST", "/"+c+"/turns", `{"text":"hello"}`, "Idempotency-Key", `"k-1"`); status != 202 || a["turnId"] != "k-1" {
				t.Errorf("status %d: %v", status, a)
			}
		}
		synctest.Wait()
		again := p.ndjson("POST", "/"+c+"/turns", `{"text":"hello","id":"k-1"}`)
		expect(t, again, strings.ReplaceAll(hello, "… hello\n\t… you\n\t", ""))
		if n := len(p.model.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
		p.refused(400, "invalid-input", "POST", "/"+c+"/turns", `{"text":"hello","id":"other"}`, "Idempotency-Key", "k-1")
	})
}

func TestFollowConversation_ContinuesAfterLastEventID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(busy), llmtest.Says("hello you"), llmtest.Says("bye"))
		c := p.create("")
		first := p.read("/-/conversations/" + c + "/events")
		p.say(c, "hello")
		synctest.Wait()
		before := first.seen()
		first.close()
		last := ""
		for _, e := range before {
			if e.id != "" {
				last = e.id
			}
		}
		time.Sleep(time.Minute)
		second := p.read("/-/conversations/"+c+"/events", "Last-Event-ID", last)
		p.say(c, "bye")
		synctest.Wait()
		var got, ids []string
		for _, e := range slices.Concat(before, second.seen()) {
			if e.comment == "" {
				got = append(got, describeEvent(t, e.data))
			}
			if e.id != "" {
				ids = append(ids, e.id)
			}
		}
		expect(t, got, `
			queued: hello
			turn-start
			user: hello
			retry 0: HTTP 529: Overloaded
			model: hello you
			usage
			sealed done, 1 retries
			queued: bye
			turn-start
			user: bye
			… bye
			model: bye
			usage
			sealed done, 0 retries`)
		if !slices.IsSortedFunc(ids, func(a, b string) int { return len(a) - len(b) }) || len(slices.Compact(slices.Clone(ids))) != 14-2 {
			t.Errorf("ids %v", ids)
		}
	})
}

func TestFollowConversation_KeepsSilentStreamAliveUntilShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		c := p.create("")
		r := p.read("/-/conversations/" + c + "/events")
		time.Sleep(31 * time.Second)
		if got := r.seen(); len(got) != 2 || got[0].comment != "beat" {
			t.Errorf("%v", got)
		}
		p.stop()
		if e := r.next(); e.comment != "the server is shutting down" {
			t.Errorf("%v", e)
		}
	})
}

func TestFollowConversation_EndsWithProblemWhenDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Hangs())
		c := p.create("")
		r := p.read("/-/conversations/" + c + "/events")
		p.say(c, "hello")
		synctest.Wait()
		p.ask("DELETE", "/"+c, "")
		seen := r.seen()
		if last := seen[len(seen)-1]; last.name != "problem" || !strings.Contains(last.data, `"code":"gone"`) {
			t.Errorf("%v", seen)
		}
	})
}

func TestListConversations_NewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		for i := range 5 {
			p.create(fmt.Sprintf("c%d", i))
		}
		ids := func(query string) (ids []string, before any) {
			status, page := p.ask("GET", query, "")
			if status != 200 {
				t.Errorf("status %d: %v", status, page)
			}
			for _, c := range page["conversations"].([]any) {
				ids = append(ids, c.(map[string]any)["id"].(string))
			}
			return ids, page["before"]
		}
		for _, c := range []struct {
			query  string
			want   string
			before any
		}{
			{"", "c4 c3 c2 c1 c0", nil},
			{"?limit=2", "c4 c3", "c3"},
			{"?limit=2&before=c3", "c2 c1", "c1"},
			{"?limit=2&before=c1", "c0", nil},
			{"?limit=5", "c4 c3 c2 c1 c0", nil},
			{"?before=c0", "", nil},
		} {
			if got, before := ids(c.query); strings.Join(got, " ") != c.want || before != c.before {
				t.Errorf("%s: %v, %v", c.query, got, before)
			}
		}
	})
}

func TestConversations_RefuseInvalidRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"))
		p.create("c1")
		for _, c := range []struct {
			status             int
			code               string
			method, path, body string
			headers            []string
		}{
			{404, "not-found", "GET", "/none", "", nil},
			{404, "not-found", "DELETE", "/none", "", nil},
			{404, "not-found", "POST", "/none/turns", `{"text":"hi"}`, nil},
			{404, "not-found", "GET", "/none/events", "", nil},
			{404, "not-found", "GET", "/c1/nothing", "", nil},
			{400, "invalid-input", "GET", "/a%20b", "", nil},
			{409, "exists", "POST", "", `{"id":"c1","model":"acme/large"}`, nil},
			{400, "invalid-input", "POST", "", `{"id":"a b","model":"acme/large"}`, nil},
			{400, "invalid-input", "POST", "", `{"id":"c2","mode":"acme/large"}`, nil},
			{400, "invalid-input", "POST", "", `{"id":"c2","patienceMs":-1}`, nil},
			{400, "invalid-input", "POST", "", `{"id":"c2","patienceMs":9223372036855}`, nil}, // a duration would overflow
			{400, "invalid-input", "POST", "", `{"id":"c2"} {}`, nil},
			{400, "invalid-input", "POST", "", `{"id":`, nil},
			{400, "invalid-input", "POST", "/c1/turns", "", nil},
			{400, "invalid-input", "POST", "/c1/turns", `{"text":" "}`, nil},
			{400, "invalid-input", "POST", "/c1/turns", "{\"text\":\"\xff\"}", nil},
			{400, "invalid-input", "POST", "/c1/turns", `{"text":"` + strings.Repeat("x", 384<<10+1) + `"}`, nil},
			{413, "too-large", "PATCH", "/c1/queue/t1", `{"text":"` + strings.Repeat("x", 3<<20) + `"}`, nil},
			{413, "too-large", "POST", "", `{"system":"` + strings.Repeat("x", 1<<20) + `"}`, nil},
			{400, "invalid-input", "POST", "/c1/turns", `{"text":"hi","id":"a b"}`, nil},
			{415, "unsupported-media-type", "POST", "/c1/turns", `{"text":"hi"}`, []string{"Content-Type", "text/plain"}},
			{403, "forbidden", "POST", "/c1/turns", `{"text":"hi"}`, []string{"Origin", "https://evil.example"}},
			{405, "method-not-allowed", "PUT", "/c1", "", nil},
			{405, "method-not-allowed", "GET", "/c1/turns", "", nil},
			{409, "wrong-sequence", "GET", "/c1/events?after=2", "", nil},
			{409, "wrong-sequence", "GET", "/c1/events", "", []string{"Last-Event-ID", "17"}},
			{400, "invalid-input", "GET", "/c1/events?after=-1", "", nil},
			{400, "invalid-input", "GET", "/c1/events", "", []string{"Last-Event-ID", "nofpsryb-2"}},
			{400, "invalid-input", "GET", "/c1/events?until=monday", "", nil},
			{400, "invalid-input", "GET", "?limit=many", "", nil},
		} {
			p.refused(c.status, c.code, c.method, c.path, c.body, c.headers...)
		}
		if n := len(p.model.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// full is an engine without room.
type full struct{ store.Store }

func (full) Enqueue(context.Context, store.Job) error { return store.ErrFull }

// fullForNew is an engine that has room for what it has begun only.
type fullForNew struct{ store.Store }

func (f fullForNew) Append(ctx context.Context, log string, at store.Position, data ...store.Record) (store.Position, error) {
	if at == (store.Position{}) {
		return at, store.ErrFull
	}
	return f.Store.Append(ctx, log, at, data...)
}

func TestCreate_FullStoreRefusesWithRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServerOn(t, server.Config{}, fullForNew{store.Memory()})
		resp := p.send("POST", "", `{"model":"anthropic/claude-opus-4-5"}`)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 507 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"code":"store-full"`) {
			t.Errorf("a new conversation: %s %s, want 507 with Retry-After and store-full", resp.Status, text)
		}
	})
}

func TestSay_FullStoreRefusesWithRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServerOn(t, server.Config{}, full{store.Memory()})
		c := p.create("")
		for _, kind := range []string{"application/json", "application/x-ndjson"} {
			resp := p.send("POST", "/"+c+"/turns", `{"text":"hello"}`, "Accept", kind)
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != 507 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"code":"store-full"`) {
				t.Errorf("%s %s", resp.Status, text)
			}
		}
		if status, _ := p.ask("GET", "/"+c, ""); status != 200 {
			t.Errorf("status %d", status)
		}
	})
}

// torn is an engine with a log of which something is missing.
type torn struct{ store.Store }

func (torn) Read(context.Context, string, int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		yield(store.Record{}, &store.Damage{Conversation: "c1", N: 1, Why: "missing"})
	}
}

func TestConversations_ReportDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServerOn(t, server.Config{}, torn{store.Memory()})
		if _, err := p.host.Create(t.Context(), "c1", conversation.Settings{Model: "acme/large"}); err != nil {
			t.Fatalf("create: %v", err)
		}
		p.refused(500, "damaged", "GET", "/c1", "")
		p.refused(500, "damaged", "POST", "/c1/turns", `{"text":"hello"}`)
		p.refused(500, "damaged", "GET", "/c1/events", "")
	})
}

func TestCreateConversation_ChecksAndCompletesSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settle := func(s conversation.Settings) (conversation.Settings, error) {
			if s.Model != "" {
				return s, errors.New("no such model")
			}
			s.Model = "acme/usual"
			return s, nil
		}
		p := newConversationServerWith(t, &conversations.API{Settle: settle}, server.Config{}, store.Memory())
		if status, c := p.ask("POST", "", ""); status != 201 || c["model"] != "acme/usual" {
			t.Errorf("status %d: %v", status, c)
		}
		p.refused(400, "invalid-input", "POST", "", `{"model":"acme/huge"}`)
	})
}

func TestReaders_LeavingFreesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		c := p.create("")
		for i := range 300 { // there are 256 places
			resp := p.send("GET", "/"+c+"/events", "")
			if resp.StatusCode != 200 {
				t.Fatalf("reader %d: %s", i, resp.Status)
			}
			_ = resp.Body.Close()
			synctest.Wait()
		}
	})
}

func TestReaders_RefusedReaderAddsNoInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"))
		c := p.create("")
		for range 256 {
			resp := p.send("GET", "/"+c+"/events", "")
			t.Cleanup(func() { _ = resp.Body.Close() })
		}
		p.refused(503, "busy", "GET", "/"+c+"/events", "")
		p.refused(503, "busy", "POST", "/"+c+"/turns", `{"text":"hello"}`, "Accept", "application/x-ndjson")
		if _, v := p.ask("GET", "/"+c, ""); v["seq"] != 1.0 {
			t.Errorf("%v", v)
		}
		p.say(c, "hello") // without a stream
	})
}

func TestReaders_StalledReaderDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says(strings.Repeat("word ", 1000)))
		c := p.create("")
		conn, err := p.pipe.DialContext(t.Context(), "tcp", "localhost:80")
		if err != nil {
			t.Fatalf("dial context: %v", err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /-/conversations/"+c+"/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatalf("write string: %v", err)
		}
		synctest.Wait()
		began := time.Now()
		if got := p.ndjson("POST", "/"+c+"/turns", `{"text":"hello"}`); got[len(got)-1] != "sealed done, 0 retries" || time.Since(began) > time.Second {
			t.Errorf("%q after %v", got[len(got)-1], time.Since(began))
		}
		time.Sleep(time.Minute)
		text, err := io.ReadAll(conn)
		if err != nil || strings.Contains(string(text), "turn-sealed") {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
}

// FuzzBody sends arbitrary bodies.
func FuzzBody(f *testing.F) {
	for _, text := range []string{
		`{"text":"hello","id":"t1"}`, `{"id":"c2","model":"acme/large","fallback":["acme/small"],"patienceMs":1000}`, `{"turnId":"t1"}`, `{"text":`, "\xff", "[]", "null", "",
	} {
		f.Add(text)
	}
	log := slog.New(slog.DiscardHandler)
	f.Fuzz(func(t *testing.T, text string) {
		host := conversation.New(conversation.Config{Store: store.Memory()})
		if _, err := host.Create(t.Context(), "c1", conversation.Settings{Model: "acme/large"}); err != nil {
			t.Fatalf("create: %v", err)
		}
		s := server.New(withConversations(server.Config{Gateway: &fake{}, Log: log}, &conversations.API{Runner: host}))
		for _, path := range []string{"", "/c1/turns", "/c1/stop", "/c1/now", "/c1/queue/t1/steer"} {
			w := ask(s, request("POST", "/-/conversations"+path, text, "Content-Type", "application/json"))
			if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}
