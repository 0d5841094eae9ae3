package agentcmd_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

const (
	secret = "my secret"
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	span   = "00f067aa0ba902b7"
	parent = "00-" + trace + "-" + span + "-01"
)

var (
	large = llm.Name{Provider: "acme", Model: "large"}
	small = llm.Name{Provider: "spare", Model: "small"}
	busy  = &fault.Error{Kind: fault.Overloaded, Status: 529, Code: "overloaded_error", Message: "cannot answer: " + secret, Body: "the whole of " + secret}
)

// failing returns an agent whose model fails for two retries and then for good, so that another takes over.
func failing() agent.Agent {
	return agent.Agent{
		Model:    llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy)),
		Fallback: []llm.Model{llmtest.New(small, llmtest.Late(time.Second, llmtest.Says("a "+secret)))},
		Patience: time.Hour,
		Retry:    retry.Retrier{Policy: policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{5 * time.Second}}, MaxWait: time.Hour}},
	}
}

// seen is what an operator sees.
type seen struct {
	log, metrics string
	spans        tracetest.SpanStubs
}

// watch plays a turn of a face in a bubble and returns what an operator sees of it.
func watch(t *testing.T, face string, play func(*testing.T, *agentcmd.TurnWatcher)) seen {
	t.Helper()
	var log bytes.Buffer
	recorder := tracetest.NewSpanRecorder()
	tel, err := telemetry.New(t.Context(), telemetry.Config{
		Spans: recorder, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime})),
	})
	if err != nil {
		t.Fatalf("telemetry: %v", err)
	}
	w := agentcmd.NewTurnWatcher(face, tel.Watch)
	w.Group = tel.Group
	play(t, w)
	page := httptest.NewRecorder()
	tel.ServeHTTP(page, httptest.NewRequest("GET", "/-/metrics", nil))
	if err := tel.Close(t.Context()); err != nil {
		t.Fatalf("close telemetry: %v", err)
	}
	spans := tracetest.SpanStubsFromReadOnlySpans(recorder.Ended())
	for what, text := range map[string]string{"log": log.String(), "metrics": page.Body.String(), "spans": fmt.Sprintf("%+v", spans)} {
		if strings.Contains(text, "secret") {
			t.Errorf("%s of %s contains the prompt or the answer:\n%s", what, face, text)
		}
	}
	return seen{log.String(), page.Body.String(), spans}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// runTurn is what `run` does.
func runTurn(t *testing.T, w *agentcmd.TurnWatcher) {
	a := failing()
	a.OnReport = w.Turn("t1", parent)
	for _, err := range a.Run(t.Context(), turn.State{}, turn.Begin("t1", secret)...) {
		if err != nil {
			t.Fatalf("run: %v", err)
		}
	}
}

// converse is what `chat` and the conversations of `serve` do.
func converse(t *testing.T, w *agentcmd.TurnWatcher) {
	kept := store.Memory()
	runner := conversation.New(conversation.Config{
		Store: kept, OnEvent: w.Watch,
		Agent: func(context.Context, conversation.Settings) (agent.Agent, error) { return failing(), nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()
	id, err := runner.Create(ctx, "c1", conversation.Settings{Model: "acme/large"})
	if err == nil {
		_, err = runner.Submit(conversation.WithParent(ctx, parent), id, "t1", secret)
	}
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	if err := retry.Sleep(ctx, time.Minute); err != nil {
		t.Fatalf("sleep: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("runner: %v", err)
	}
	if err := kept.Close(t.Context()); err != nil {
		t.Errorf("close the store: %v", err)
	}
}

// spansOf writes spans, a line for each: those of tries below their turn's, and those below a council's.
func spansOf(all tracetest.SpanStubs) []string { return spansBelow(all, span, "") }

func spansBelow(all tracetest.SpanStubs, parent, indent string) (lines []string) {
	for _, s := range all {
		if s.Parent.SpanID().String() == parent && s.Parent.TraceID().String() == trace {
			lines = append(append(lines, indent+line(s)), spansBelow(all, s.SpanContext.SpanID().String(), indent+"  ")...)
		}
	}
	return lines
}

func line(s tracetest.SpanStub) string {
	text := fmt.Sprintf("%s %v", s.Name, s.EndTime.Sub(s.StartTime).Round(time.Millisecond))
	for _, a := range s.Attributes {
		switch a.Key {
		case "ridethrough.face", "ridethrough.turn", "ridethrough.status", "ridethrough.retries", "gen_ai.request.model", "error.type":
			text += " " + strings.TrimPrefix(string(a.Key), "ridethrough.") + "=" + a.Value.String()
		}
	}
	for _, e := range s.Events {
		text += " [" + e.Name + "]"
	}
	return text
}

func TestWatcher_TurnsAreInLogMetricsAndTraces(t *testing.T) {
	for face, play := range map[string]func(*testing.T, *agentcmd.TurnWatcher){
		agentcmd.RunFace: runTurn, agentcmd.ChatFace: converse, agentcmd.Conversation: converse,
	} {
		synctest.Test(t, func(t *testing.T) {
			got := watch(t, face, play)
			where := "face=" + face + " turn=t1 "
			ends := ""
			if face != agentcmd.RunFace {
				ends = " conversation=c1"
			}
			wantLog := []string{
				`level=WARN msg="provider retry" ` + where + `upstream=acme model=large` + ends + ` kind=overloaded error="HTTP 529: overloaded_error" attempt=1 delay=5s`,
				`level=WARN msg="provider retry" ` + where + `upstream=acme model=large` + ends + ` kind=overloaded error="HTTP 529: overloaded_error" attempt=2 delay=5s`,
				`level=WARN msg="failover to another upstream or model" ` + where + `upstream=spare model=small` + ends + ` from=acme/large error="HTTP 529: overloaded_error"`,
				`level=DEBUG msg="turn sealed" ` + where + `upstream=spare model=small` + ends + ` retries=2 waited=10s status=done took=11s`,
			}
			if d := cmp.Diff(wantLog, strings.Split(strings.TrimSpace(got.log), "\n")); d != "" {
				t.Errorf("log (-want +got):\n%s", d)
			}
			for _, want := range []string{
				`requests_total{face="` + face + `",model="large",upstream="acme"} 1`,
				`tries_total{face="` + face + `",kind="overloaded",model="large",upstream="acme"} 3`,
				`tries_total{face="` + face + `",kind="none",model="small",upstream="spare"} 1`,
				`retries_total{face="` + face + `",kind="overloaded",model="large",upstream="acme"} 2`,
				`switched_total{face="` + face + `",model="small",upstream="spare"} 1`,
				`time_to_first_content_seconds_sum{face="` + face + `",upstream="spare"} 11`,
			} {
				if !strings.Contains(got.metrics, "\nridethrough_"+want+"\n") {
					t.Errorf("metrics lack %s:\n%s", want, got.metrics)
				}
			}
			failed := "  POST 0s gen_ai.request.model=large error.type=overloaded"
			wantSpans := []string{
				"invoke_agent large 11s face=" + face + " turn=t1 gen_ai.request.model=small status=done retries=2 [retry] [retry] [switched]",
				failed, failed, failed, "  POST 1s gen_ai.request.model=small",
			}
			if d := cmp.Diff(wantSpans, spansOf(got.spans)); d != "" {
				t.Errorf("spans (-want +got):\n%s", d)
			}
		})
	}
}

func TestWatcher_CouncilsAreInLogMetricsAndTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := func(name, text string, before ...llmtest.Answer) agent.Agent {
			return agent.Agent{Model: llmtest.New(llm.Name{Provider: name, Model: "large"}, append(before, llmtest.Says(text))...)}
		}
		got := watch(t, agentcmd.CouncilFace, func(t *testing.T, w *agentcmd.TurnWatcher) {
			c := council.Council{
				Members:    []agent.Agent{{}, says("b", secret, llmtest.Fails(busy))},
				Aggregator: says("judge", secret, llmtest.Fails(busy), llmtest.Fails(busy)),
			}
			c.Members[0].Model = llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(busy))
			c.Members[0].Fallback = []llm.Model{llmtest.New(small, llmtest.Fails(busy), llmtest.Says(secret))}
			c.Members[0].Patience = agent.Forever
			c.Aggregator.Retry = failing().Retry
			var end func(turn.Status)
			c.OnReport, end = w.Members("k1", parent)
			r, err := c.Run(t.Context(), secret)
			if err != nil {
				t.Fatalf("council: %v", err)
			}
			end(r.Status)
		})
		for _, want := range []string{
			`requests_total{face="council",model="large",upstream="acme"} 1`,
			`retries_total{face="council",kind="overloaded",model="large",upstream="acme"} 1`,
			`retries_total{face="council",kind="overloaded",model="small",upstream="spare"} 1`,
			`switched_total{face="council",model="small",upstream="spare"} 1`,
			`tries_total{face="council",kind="none",model="small",upstream="spare"} 1`,
			`retries_total{face="council",kind="overloaded",model="large",upstream="b"} 1`,
			`recovered_total{face="council",model="large",upstream="b"} 1`,
			`retries_total{face="council",kind="overloaded",model="large",upstream="judge"} 2`,
			`recovered_total{face="council",model="large",upstream="judge"} 1`,
			`wait_seconds_sum{face="council",upstream="judge"} 10`,
		} {
			if !strings.Contains(got.metrics, "\nridethrough_"+want+"\n") {
				t.Errorf("metrics lack %s:\n%s", want, got.metrics)
			}
		}
		var judge []string
		for _, l := range strings.Split(got.log, "\n") {
			if strings.Contains(l, "upstream=judge") {
				judge = append(judge, l)
			}
		}
		if len(judge) != 4 || !strings.Contains(judge[2], `msg="provider recovered" face=council turn=k1 upstream=judge model=large retries=2 waited=10s`) {
			t.Errorf("log of the judge:\n%s\nwant two retries, a recovery and its seal", strings.Join(judge, "\n"))
		}
		spans := spansOf(got.spans)
		answered, failed := "    POST 0s gen_ai.request.model=large", "    POST 0s gen_ai.request.model=large error.type=overloaded"
		for _, want := range [][]string{
			{"council 13s face=council turn=k1 status=done"},
			{
				"  invoke_agent large 10s face=council turn=k1 gen_ai.request.model=large retries=2 status=done [retry] [retry]",
				failed, failed, answered,
			},
			{
				"  invoke_agent large 3s face=council turn=k1 gen_ai.request.model=small retries=2 status=done [retry] [switched] [retry]",
				failed, failed, strings.ReplaceAll(failed, "large", "small"), strings.ReplaceAll(answered, "large", "small"),
			},
		} {
			if i := slices.Index(spans, want[0]); i < 0 || cmp.Diff(want, spans[i:min(len(spans), i+len(want))]) != "" {
				t.Errorf("spans:\n%s\nwant among them\n%s", strings.Join(spans, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

func TestWatcher_StoppedTurnIsACallerThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := watch(t, agentcmd.RunFace, func(t *testing.T, w *agentcmd.TurnWatcher) {
			a := failing()
			a.OnReport = w.Turn("t1", "")
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(7*time.Second, cancel).Stop()
			for range a.Run(ctx, turn.State{}, turn.Begin("t1", secret)...) {
			}
		})
		want := `level=INFO msg="turn stopped" face=run turn=t1 upstream=acme model=large kind=overloaded error="HTTP 529: overloaded_error" retries=1 waited=7s`
		if !strings.Contains(got.log, want) {
			t.Errorf("log:\n%s\nwant in it\n%s", got.log, want)
		}
		if line := `ridethrough_left_total{face="run",model="large",upstream="acme"} 1`; !strings.Contains(got.metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	})
}

func TestWatcher_WaitOfTheSupervisorIsNoProvidersRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := watch(t, agentcmd.Conversation, func(_ *testing.T, w *agentcmd.TurnWatcher) {
			tell := func(e turn.Event) {
				w.Watch(conversation.Event{Report: agent.Report{At: time.Now(), Name: large, Event: e}, Conversation: "c1", Turn: "t1"})
			}
			tell(turn.Start{})
			f := &fault.Error{Kind: fault.Unknown, Code: turn.WorkerFailed, Message: "panic: " + secret}
			tell(turn.Retry{Name: large, Wait: policy.Wait{Run: policy.Run{Tries: 1}, Fault: f, Verdict: policy.Verdict{Wait: 3 * time.Second}}})
			tell(turn.Sealed{Status: turn.Done})
		})
		want := `level=WARN msg="worker failed, another takes the turn up" face=conversation turn=t1 upstream=acme model=large conversation=c1 kind=unknown error=worker attempt=1 delay=3s`
		if !strings.Contains(got.log, want) {
			t.Errorf("log:\n%s\nwant in it\n%s", got.log, want)
		}
	})
}

func TestTelemetry_WaitingTurnsAreAGauge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, err := telemetry.New(t.Context(), telemetry.Config{})
		if err != nil {
			t.Fatalf("telemetry: %v", err)
		}
		kept := store.Memory()
		runner := conversation.New(conversation.Config{Store: kept, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
			a := failing()
			a.Retry.Policy.Backoff.Steps[0] = time.Hour
			return a, nil
		}})
		tel.ShowTurns((&conversations.API{Runner: runner}).Upstreams, history.Open("", slog.New(slog.DiscardHandler)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- runner.Run(ctx) }()
		id, err := runner.Create(ctx, "c1", conversation.Settings{Model: "acme/large"})
		if err == nil {
			_, err = runner.Submit(ctx, id, "t1", secret)
		}
		if err != nil {
			t.Fatalf("submit: %v", err)
		}
		synctest.Wait()
		page := httptest.NewRecorder()
		tel.ServeHTTP(page, httptest.NewRequest("GET", "/-/metrics", nil))
		if want := `ridethrough_waiting_requests{face="conversation",upstream="acme"} 1`; !strings.Contains(page.Body.String(), want) {
			t.Errorf("metrics lack %s:\n%s", want, page.Body)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("runner: %v", err)
		}
		_ = kept.Close(t.Context())
	})
}
