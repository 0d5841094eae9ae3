package classify

import (
	"context"
	"errors"
	"sync"

	"github.com/ridethrough/ridethrough/fault"
)

// book is everything that is known about what vendors say. Where two tables
// have a sentence in common the earlier one decides; sentences that everybody
// uses come last. It is bound when it is first asked: a program that never sees
// a fault pays nothing.
var book = sync.OnceValue(func() *index {
	return bind(
		anthropic, openai, azure, gemini, bedrock, ollama, lmstudio, openrouter, groq, mistral, deepseek, xai, cerebras, together,
		fireworks, kimi, qwen, zhipu, minimax, ark, copilot, cohere, vllm, relay, grpc, workersAI, cloudflare, page, chinese, unread, runtimes, common, network, curl, grammar, pairs(),
		sizes, requests, wrappers,
	)
})

// lastBook is what says no more than a status does.
var lastBook = sync.OnceValue(func() *index { return bind(failures) })

// gone rules on the end of a context: the caller's leaving, or a limit of ours.
// A dialer's timeout pretends to be a context's; that one is the network's.
func gone(e Evidence) (Ruling, bool) {
	switch {
	case e.Err == nil:
	case errors.Is(e.Err, context.Canceled):
		return Ruling{Kind: fault.Canceled, Rule: "context/canceled"}, true
	case errors.Is(e.Err, context.DeadlineExceeded) && !dialing(e.Err):
		return Ruling{Kind: fault.Timeout, Rule: "context/deadline", Reason: "a limit of ours expired"}, true
	}
	return Ruling{}, false
}

// named rules by a name that means one thing.
func named(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := byName(book().names, e, l); ok {
			return r, true
		}
	}
	return byHeader(e)
}

// family rules by the name of a family, or by a vague one where no status says
// more: in a stream, or in the cause that a relay has quoted.
func family(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := byName(book().family, e, l); ok {
			return r, true
		}
		if e.Status >= 400 && !l.quoted {
			continue
		}
		if r, ok := byName(book().vague, e, l); ok {
			return r, true
		}
		if l.quoted && l.Status != 0 {
			return Ruling{}, false // the quoted cause states its status: that is more than what wraps it can say
		}
	}
	return Ruling{}, false
}

// byName looks up a layer's code, type and reason, in this order. A message
// that stands alone is searched for names: some relays keep nothing else.
func byName(in map[string][]rule, e Evidence, l Layer) (Ruling, bool) {
	for _, name := range [...]string{l.Code, l.Type, l.Reason} {
		if name == "" {
			continue
		}
		if r, ok := lookUp(in, name, e.Status, l.folded); ok {
			return r, true
		}
	}
	if l.Code != "" || l.Type != "" {
		return Ruling{}, false
	}
	return byNameWithin(in, e.Status, l)
}

// lookUp gives the first rule under the name whose conditions hold.
func lookUp(in map[string][]rule, name string, status int, folded string) (Ruling, bool) {
	rules := find(in, name)
	for i := range rules {
		if r := &rules[i]; r.holds(status, folded) {
			return r.ruling(), true
		}
	}
	return Ruling{}, false
}

// mentioned is how many names in one sentence are looked up.
const mentioned = 16

// byNameWithin looks up the words of a sentence that are names and no words of
// a language: snake_case or CamelCase.
func byNameWithin(in map[string][]rule, status int, l Layer) (Ruling, bool) {
	s := l.Message[:min(len(l.Message), heard)]
	for i, names := 0, 0; i < len(s) && names < mentioned; {
		n := nameLen(s[i:])
		if n >= 8 && compound(s[i:i+n]) {
			names++
			if r, ok := lookUp(in, s[i:i+n], status, l.folded); ok {
				return r, true
			}
		}
		i += n + 1
	}
	return Ruling{}, false
}

// nameLen gives the length of the name at the start of a text.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (isWord(s[n]) || s[n] == '_') {
		n++
	}
	return n
}

// compound tells whether a name is made of several words.
func compound(name string) bool {
	for i := 1; i < len(name); i++ {
		if name[i] == '_' || isUpper(name[i]) && isLower(name[i-1]) {
			return true
		}
	}
	return false
}

// byHeader rules by what a header states.
func byHeader(e Evidence) (Ruling, bool) {
	if len(e.Header) == 0 {
		return Ruling{}, false
	}
	header := book().header
	for i := range header {
		if r := &header[i]; e.Header.Get(r.name) == r.says {
			return r.ruling(), true
		}
	}
	return Ruling{}, false
}

// worded rules by sentences, those of the innermost layer first.
func worded(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := oversized(l); ok {
			return r, true
		}
		if r, ok := book().hears(l.folded, func(r *rule) bool { return e.believes(l, r) }); ok {
			return r, true
		}
		if r, ok := overlong(l, e.Status); ok {
			return r, true
		}
	}
	return Ruling{}, false
}

// spelled rules by names that no table has: they are read like sentences, so
// that project_spend_limit_exceeded says "spend limit".
func spelled(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		for _, name := range [...]string{l.Code, l.Type, l.Reason} {
			if name == "" || len(name) > 128 {
				continue
			}
			if r, ok := book().hears(fold(name), func(r *rule) bool { return e.believes(l, r) }); ok {
				r.Guessed = true
				return r, true
			}
		}
	}
	return Ruling{}, false
}

// failed rules by the words of a failure where not even a status is known.
func failed(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := lastBook().hears(l.folded, func(*rule) bool { return true }); ok {
			return r, true
		}
	}
	return Ruling{}, false
}

// believes tells whether a sentence counts as evidence. A server that has
// answered cannot know that our caller left; some tables are about other
// statuses; and a sentence about a parameter of ours is about nothing that passes by itself.
func (e Evidence) believes(l Layer, r *rule) bool {
	switch {
	case r.status != 0 && r.status != e.Status && r.status != l.Status:
		return false
	case r.kind == fault.Canceled:
		return e.Err != nil
	case r.not != nil && r.not(e.Status):
		return false
	case l.Param != "" && isRefusal(e.Status) && e.Status != 429:
		return !fault.Transient.Has(r.kind)
	}
	return true
}

// isRefusal tells whether a status is a 4xx: an answer, and so no broken
// connection.
func isRefusal(status int) bool { return status >= 400 && status < 500 }
