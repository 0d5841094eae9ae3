package llmtest

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// Answer is a scripted model's answer to one request. A test that needs more than the functions below
// writes its own.
type Answer func(context.Context, llm.Request) iter.Seq2[llm.Part, error]

// prompt is the input usage of every request to a scripted model, in tokens.
const prompt = 10

// Says returns an answer of text, a word at a time, with usage and an end: 10 tokens in, one out for each
// word.
func Says(text string) Answer {
	words := spoken(text)
	return Parts(slices.Concat(words, []llm.Part{
		llm.Usage{Input: prompt, Output: len(words)}, llm.End{Reason: llm.Stop},
	})...)
}

// spoken returns the words of a text.
func spoken(text string) []llm.Part {
	var parts []llm.Part
	for word := range strings.SplitAfterSeq(text, " ") {
		if word != "" {
			parts = append(parts, llm.Text{Text: word})
		}
	}
	return parts
}

// Calls returns an answer of tool calls, with usage and an end.
func Calls(calls ...llm.ToolCall) Answer {
	var parts []llm.Part
	for _, c := range calls {
		parts = append(parts, c)
	}
	return Parts(append(parts, llm.Usage{Input: prompt, Output: len(calls)}, llm.End{Reason: llm.Calls})...)
}

// Call returns a tool call with its arguments as JSON.
func Call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// Fails returns a failure before the first part. A model must only return errors of type *fault.Error, or
// the caller's cause.
func Fails(err error) Answer {
	return ends(nil, func(context.Context) error { return err })
}

// Breaks returns an answer that fails after the text.
func Breaks(text string, f *fault.Error) Answer {
	return ends(spoken(text), func(context.Context) error { return f })
}

// Parts returns an answer of exactly these parts.
func Parts(parts ...llm.Part) Answer { return ends(parts, func(context.Context) error { return nil }) }

// Hangs returns an answer that stops after the parts, until the caller leaves.
func Hangs(parts ...llm.Part) Answer {
	return ends(parts, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

// ends returns an answer of parts, and then the error that end returns; nil: none.
func ends(parts []llm.Part, end func(context.Context) error) Answer {
	return func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			for _, p := range parts {
				if !yield(p, nil) {
					return
				}
			}
			if err := end(ctx); err != nil {
				yield(nil, err)
			}
		}
	}
}

// Late delays the first part of an answer.
func Late(d time.Duration, a Answer) Answer {
	return func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
				a(ctx, r)(yield)
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
			}
		}
	}
}
