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

// Answer is what a scripted model does with one request. Tests that need more
// than what is below write their own.
type Answer func(context.Context, llm.Request) iter.Seq2[llm.Part, error]

// prompt is what every request to a scripted model costs.
const prompt = 10

// Says gives an answer of text, a word at a time, with usage and an end: 10
// tokens in, one out for each word.
func Says(text string) Answer {
	words := spoken(text)
	return Parts(slices.Concat(words, []llm.Part{
		llm.Usage{Input: prompt, Output: len(words)}, llm.End{Reason: llm.Stop},
	})...)
}

// spoken gives the words of a text.
func spoken(text string) []llm.Part {
	var parts []llm.Part
	for word := range strings.SplitAfterSeq(text, " ") {
		if word != "" {
			parts = append(parts, llm.Text{Text: word})
		}
	}
	return parts
}

// Calls gives an answer of tool calls, with usage and an end.
func Calls(calls ...llm.ToolCall) Answer {
	var parts []llm.Part
	for _, c := range calls {
		parts = append(parts, c)
	}
	return Parts(append(parts, llm.Usage{Input: prompt, Output: len(calls)}, llm.End{Reason: llm.Calls})...)
}

// Call gives a tool call with its arguments as JSON.
func Call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// Fails gives a failure before the first part. An error that is no *fault.Error
// is something that a model must not give.
func Fails(err error) Answer {
	return func(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) { yield(nil, err) }
	}
}

// Breaks gives an answer that fails after some of its text.
func Breaks(text string, f *fault.Error) Answer {
	return func(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			for _, p := range spoken(text) {
				if !yield(p, nil) {
					return
				}
			}
			yield(nil, f)
		}
	}
}

// Parts gives an answer of these parts and no others.
func Parts(parts ...llm.Part) Answer {
	return func(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			for _, p := range parts {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// Hangs gives an answer that has come to a halt after some parts, until the
// caller leaves.
func Hangs(parts ...llm.Part) Answer {
	return func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			for _, p := range parts {
				if !yield(p, nil) {
					return
				}
			}
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}
}

// Late gives an answer that keeps one waiting for its first part.
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
