package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

var name = llm.Name{Provider: "test", Model: "m"}

// heard returns an answer's parts and its error.
func heard(ctx context.Context, m llm.Model, r llm.Request) ([]llm.Part, error) {
	var parts []llm.Part
	for p, err := range m.Stream(ctx, r) {
		if err != nil {
			return parts, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func TestModel_AnswersInOrder(t *testing.T) {
	overload := &fault.Error{Kind: fault.Overloaded}
	call := llmtest.Call("1", "read", `{"path":"a"}`)
	end := llm.End{Reason: llm.Stop, Model: "m"}
	m := llmtest.New(name,
		llmtest.Says("one two"), llmtest.Calls(call), llmtest.Fails(overload), llmtest.Breaks("one two", overload),
		llmtest.Parts(llm.Reasoning{Text: "hm"}, llm.End{Reason: llm.Length, Model: "other"}))
	m.Then = llmtest.Says("")
	for i, want := range []struct {
		parts []llm.Part
		err   error
	}{
		{[]llm.Part{llm.Text{Text: "one "}, llm.Text{Text: "two"}, llm.Usage{Input: 10, Output: 2}, end}, nil},
		{[]llm.Part{call, llm.Usage{Input: 10, Output: 1}, llm.End{Reason: llm.Calls, Model: "m"}}, nil},
		{nil, overload},
		{[]llm.Part{llm.Text{Text: "one "}, llm.Text{Text: "two"}}, overload},
		{[]llm.Part{llm.Reasoning{Text: "hm"}, llm.End{Reason: llm.Length, Model: "other"}}, nil},
		{[]llm.Part{llm.Usage{Input: 10}, end}, nil},
		{[]llm.Part{llm.Usage{Input: 10}, end}, nil},
	} {
		parts, err := heard(t.Context(), m, llm.Request{System: fmt.Sprint(i)})
		if diff := cmp.Diff(want.parts, parts); diff != "" || err != want.err {
			t.Errorf("answer %d: error %v, (-want +got):\n%s", i+1, err, diff)
		}
		if asked := m.Requests(); len(asked) != i+1 || asked[i].System != fmt.Sprint(i) {
			t.Errorf("Requests() = %+v", asked)
		}
	}
}

func TestModel_NoAnswerLeftIsFinalFault(t *testing.T) {
	_, err := heard(t.Context(), llmtest.New(name), llm.Request{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || !f.Final || f.Retryable() {
		t.Errorf("error %#v", err)
	}
}

func TestModel_ReturnsCallersCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("reason")
		for i, answer := range []llmtest.Answer{
			llmtest.Hangs(), llmtest.Hangs(llm.Text{Text: "one"}), llmtest.Late(time.Hour, llmtest.Says("one")),
		} {
			ctx, leave := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { leave(reason) })
			begun := time.Now()
			if _, err := heard(ctx, llmtest.New(name, answer), llm.Request{}); err != reason || time.Since(begun) != time.Minute {
				t.Errorf("answer %d: error %v after %v", i, err, time.Since(begun))
			}
			if parts, err := heard(ctx, llmtest.New(name, llmtest.Says("one")), llm.Request{}); err != reason || parts != nil {
				t.Errorf("answer %d after the caller left: parts %v, error %v", i, parts, err)
			}
		}
	})
}

func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		parts, err := heard(t.Context(), llmtest.New(name, llmtest.Late(time.Hour, llmtest.Says("one"))), llm.Request{})
		if err != nil || len(parts) != 3 || time.Since(begun) != time.Hour {
			t.Errorf("parts %v, error %v after %v", parts, err, time.Since(begun))
		}
	})
}

func TestModel_CallerMayLeave(t *testing.T) {
	for _, answer := range []llmtest.Answer{
		llmtest.Says("one two"), llmtest.Hangs(llm.Text{Text: "one"}), llmtest.Breaks("one two", &fault.Error{}),
	} {
		for range llmtest.New(name, answer).Stream(t.Context(), llm.Request{}) {
			break
		}
	}
}

func BenchmarkModel(b *testing.B) {
	b.ReportAllocs()
	var words llm.Part = llm.Text{Text: "word "}
	m := llmtest.New(name)
	m.Then = func(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			for b.Loop() {
				yield(words, nil)
			}
		}
	}
	for range m.Stream(b.Context(), llm.Request{}) {
	}
}

func ExampleModel() {
	m := llmtest.New(llm.Name{Provider: "test", Model: "parrot"},
		llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}),
		llmtest.Says("Good morning."))
	for range 2 {
		var c llm.Collector
		for p, err := range m.Stream(context.Background(), llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}) {
			if err != nil {
				fmt.Println(err)
				break
			}
			c.Add(p)
		}
		fmt.Printf("%q %q\n", c.Content().Text(), c.End.Reason)
	}
	fmt.Println(len(m.Requests()), "requests")
	// Output:
	// HTTP 529: Overloaded
	// "" ""
	// "Good morning." "stop"
	// 2 requests
}
