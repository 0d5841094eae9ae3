package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing/tracingtest"
)

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

var noon = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

// environment returns what an environment of such variables answers.
func environment(all ...string) func(string) string {
	return func(name string) string {
		for _, one := range all {
			if k, v, _ := strings.Cut(one, "="); k == name {
				return v
			}
		}
		return ""
	}
}

func silent(error) {}

func TestParseTraceparent(t *testing.T) {
	for header, want := range map[string]string{
		parent:                                                   parent,
		"00-" + trace + "-00f067aa0ba902b7-00":                   "00-" + trace + "-00f067aa0ba902b7-00",
		"00-" + trace + "-00f067aa0ba902b7-03":                   parent, // a flag that is not known
		"01-" + trace + "-00f067aa0ba902b7-01-later":             parent,
		"00-" + trace + "-00f067aa0ba902b7-01-later":             "",
		"ff-" + trace + "-00f067aa0ba902b7-01":                   "",
		"00-" + trace + "-00f067aa0ba902b7":                      "",
		"00-" + trace + "-00f067aa0ba902b-01":                    "",
		"00-" + trace + "-0000000000000000-01":                   "",
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": "",
		"00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01":  "",
		"00-" + trace + "-00f067aa0ba902bg-01":                   "",
		"":                                                       "",
		"---":                                                    "",
	} {
		c := tracing.ParseTraceparent(header)
		got := c.Traceparent()
		if want == "" {
			want, got = fmt.Sprint(tracing.Context{}), fmt.Sprint(c)
		}
		if got != want {
			t.Errorf("ParseTraceparent(%q): got %s, want %s", header, got, want)
		}
	}
}

// made returns the spans of a story.
func made(t *testing.T, story func(*tracing.Tracer), env ...string) []tracing.Span {
	t.Helper()
	kept := &tracingtest.Exporter{}
	tracer, err := tracing.New(environment(env...), kept, "v1", silent)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	story(tracer)
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	return kept.Spans()
}

func TestRecording_HasWhatWasSetBeforeItsEnd(t *testing.T) {
	const model, tries, cause = tracing.Key("model"), tracing.Key("tries"), tracing.Key("cause")
	spans := made(t, func(tracer *tracing.Tracer) {
		r := tracer.Start(tracing.ParseTraceparent(parent), "chat", tracing.Client, noon, model.Text("large"), tries.Int(1))
		r.Set(model.Text("small"))
		for i := range 5 {
			r.Event("retry", noon.Add(time.Duration(i)*time.Second), cause.Int(i))
		}
		r.Fail("HTTP 529")
		r.End(noon.Add(time.Hour))
		r.Set(model.Text("late"))
		r.Event("late", noon)
		r.End(noon)
	}, "OTEL_SPAN_EVENT_COUNT_LIMIT=2")
	if len(spans) != 1 || spans[0].TraceID.String() != trace || spans[0].SpanID == (tracing.SpanID{}) {
		t.Fatalf("spans: got %+v, want one of trace %s", spans, trace)
	}
	want := tracing.Span{
		Context: tracing.Context{TraceID: spans[0].TraceID, SpanID: spans[0].SpanID, Sampled: true}, Parent: tracing.ParseTraceparent(parent),
		Name: "chat", Kind: tracing.Client, Start: noon, End: noon.Add(time.Hour),
		Attributes:    []tracing.Attribute{model.Text("small"), tries.Int64(1)},
		Events:        []tracing.Event{{"retry", noon.Add(3 * time.Second), []tracing.Attribute{cause.Int(3)}}, {"retry", noon.Add(4 * time.Second), []tracing.Attribute{cause.Int(4)}}},
		DroppedEvents: 3, Failed: true, Description: "HTTP 529",
	}
	if diff := cmp.Diff(want, spans[0]); diff != "" {
		t.Errorf("span (-want +got):\n%s", diff)
	}
}

func TestTracer_SamplesAsTheVariablesSay(t *testing.T) {
	const sampled, not = parent, "00-" + trace + "-00f067aa0ba902b7-00"
	for _, c := range []struct {
		parent, sampler, arg string
		want                 int // of 1000
	}{
		{"", "", "", 1000},
		{sampled, "", "", 1000},
		{not, "", "", 0},
		{not, "always_on", "", 1000},
		{sampled, "always_off", "", 0},
		{"", "parentbased_always_off", "", 0},
		{sampled, "parentbased_always_off", "", 1000},
		{"", "traceidratio", "0", 0},
		{"", "traceidratio", "1", 1000},
		{"", "traceidratio", "", 1000},
		{"", "parentbased_traceidratio", "0.5", 500},
		{not, "parentbased_traceidratio", "1", 0},
		{sampled, "traceidratio", "0.65", 1000}, // a3ce929d… is 0.64 of all
		{sampled, "traceidratio", "0.63", 0},
	} {
		got := len(made(t, func(tracer *tracing.Tracer) {
			for range 1000 {
				tracer.Start(tracing.ParseTraceparent(c.parent), "chat", tracing.Client, noon).End(noon)
			}
		}, "OTEL_TRACES_SAMPLER="+c.sampler, "OTEL_TRACES_SAMPLER_ARG="+c.arg))
		if slack := 100 * min(c.want%1000, 1); got < c.want-slack || got > c.want+slack {
			t.Errorf("sampler %q %q, parent %q: %d spans of 1000, want %d", c.sampler, c.arg, c.parent, got, c.want)
		}
	}
}

func TestTracer_ChildOfWhatIsNotSampledIsNotEither(t *testing.T) {
	made(t, func(tracer *tracing.Tracer) {
		r := tracer.Start(tracing.Context{}, "council", tracing.Internal, noon)
		c := r.Context()
		if got := tracing.ParseTraceparent(c.Traceparent()); got.TraceID != c.TraceID || got.SpanID != c.SpanID || got.Sampled {
			t.Errorf("header %s: got %+v, want that of %+v, which is not sampled", c.Traceparent(), got, c)
		}
	}, "OTEL_TRACES_SAMPLER=parentbased_always_off")
}

func TestNew_DescribesTheProcess(t *testing.T) {
	for _, c := range []struct{ attributes, name, want string }{
		{"", "", "service.name=ridethrough service.version=v1"},
		{"team=a b,region=eu%20west", "", "service.name=ridethrough service.version=v1 team=a b region=eu west"},
		{"service.name=x,service.version=2", "", "service.name=x service.version=2"},
		{"service.name=x", "y", "service.name=y service.version=v1"},
	} {
		kept := &keeper{}
		tracer, err := tracing.New(environment("OTEL_RESOURCE_ATTRIBUTES="+c.attributes, "OTEL_SERVICE_NAME="+c.name), kept, "v1", silent)
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		tracer.Start(tracing.Context{}, "chat", tracing.Client, noon).End(noon)
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Fatalf("Shutdown: %v", err)
		}
		var got []string
		for _, a := range kept.batches[0].Resource {
			if !strings.HasPrefix(string(a.Key), "telemetry.sdk.") {
				got = append(got, fmt.Sprintf("%s=%v", a.Key, a.Value))
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("resource %q, name %q: got %s, want %s", c.attributes, c.name, got, c.want)
		}
	}
}

func TestNew_NamesVariablesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"OTEL_TRACES_SAMPLER=jaeger_remote", `OTEL_TRACES_SAMPLER: no sampler "jaeger_remote"`},
		{"OTEL_RESOURCE_ATTRIBUTES=team", "OTEL_RESOURCE_ATTRIBUTES: want name=value pairs"},
		{"OTEL_BSP_SCHEDULE_DELAY=5s", `OTEL_BSP_SCHEDULE_DELAY: "5s" is not a number above 0`},
		{"OTEL_BSP_MAX_QUEUE_SIZE=-1", `OTEL_BSP_MAX_QUEUE_SIZE: "-1" is not a number above 0`},
	} {
		tracer, err := tracing.New(environment(c.env), &tracingtest.Exporter{}, "v1", silent)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New with %s: got error %v, want %q", c.env, err, c.want)
		}
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	tracer, err := tracing.New(environment("OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN"), &tracingtest.Exporter{}, "v1", silent)
	if err == nil || !strings.Contains(err.Error(), `OTEL_TRACES_SAMPLER_ARG: "NaN"`) {
		t.Errorf("New with a share that is no number: got error %v", err)
	}
	_ = tracer.Shutdown(t.Context())
}

// keeper is an exporter that keeps batches, each after a while.
type keeper struct {
	takes   time.Duration
	fails   error
	batches []tracing.Batch
	at      []time.Time
	left    int // exports that were ended
}

func (k *keeper) Export(ctx context.Context, b tracing.Batch) error {
	select {
	case <-time.After(k.takes):
	case <-ctx.Done():
		k.left++
		return context.Cause(ctx)
	}
	k.batches, k.at = append(k.batches, b), append(k.at, time.Now())
	return k.fails
}

func (k *keeper) Shutdown(context.Context) error { return nil }

func TestTracer_BatchesSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, began := &keeper{}, time.Now()
		tracer, _ := tracing.New(environment("OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10"), kept, "v1", silent)
		add := func(n int) {
			for range n {
				tracer.Start(tracing.Context{}, "chat", tracing.Client, noon).End(noon)
			}
		}
		add(3)
		time.Sleep(6 * time.Second)
		add(10)
		synctest.Wait()
		add(2)
		time.Sleep(time.Second)
		add(1)
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		var got []string
		for i, b := range kept.batches {
			got = append(got, fmt.Sprint(len(b.Spans), " after ", kept.at[i].Sub(began)))
		}
		want := []string{"3 after 5s", "10 after 6s", "3 after 7s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("exports (-want +got):\n%s", diff)
		}
	})
}

func TestTracer_WhatIsTooMuchIsDroppedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		kept := &keeper{takes: 10 * time.Second, fails: errors.New("HTTP 401")}
		tracer, _ := tracing.New(environment("OTEL_BSP_MAX_QUEUE_SIZE=2"), kept, "v1", func(err error) { told = append(told, err.Error()) })
		add := func(n int) {
			for range n {
				tracer.Start(tracing.Context{}, "chat", tracing.Client, noon).End(noon)
			}
		}
		add(1)
		time.Sleep(6 * time.Second)
		add(7) // while the first one is exported
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if diff := cmp.Diff([]string{"HTTP 401", "5 spans were dropped, as 2 waited", "HTTP 401"}, told); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	})
}

func TestTracer_ShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, began := &keeper{takes: time.Hour}, time.Now()
		tracer, _ := tracing.New(nil, kept, "v1", silent)
		tracer.Start(tracing.Context{}, "chat", tracing.Client, noon).End(noon)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := tracer.Shutdown(ctx)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("Shutdown: error %v after %v, want the deadline after 3 s", err, took)
		}
		synctest.Wait()
		if kept.left != 1 {
			t.Errorf("%d exports were ended, want 1", kept.left)
		}
	})
}

func TestTracer_ExportEndsWithItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		kept := &keeper{takes: time.Hour}
		tracer, _ := tracing.New(environment("OTEL_BSP_EXPORT_TIMEOUT=2000"), kept, "v1", func(err error) { told = append(told, err) })
		tracer.Start(tracing.Context{}, "chat", tracing.Client, noon).End(noon)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(told) != 1 || !errors.Is(told[0], context.DeadlineExceeded) {
			t.Errorf("after 10 s: reported %v, want the deadline once", told)
		}
		_ = tracer.Shutdown(t.Context())
	})
}
