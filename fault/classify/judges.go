package classify

import (
	"context"
	"errors"
	"net/http"

	"github.com/ridethrough/ridethrough/fault"
)

// judgeContext decides by the end of a context: the caller left, or a time limit of this program expired. A
// dialer's timeout claims to be a context's; that one is the network's.
func judgeContext(e Evidence) (Ruling, bool) {
	switch {
	case e.Err == nil:
	case errors.Is(e.Err, context.Canceled):
		return Ruling{Kind: fault.Canceled, Rule: "context/canceled"}, true
	case errors.Is(e.Err, context.DeadlineExceeded) && !isDial(e.Err):
		return Ruling{Kind: fault.Timeout, Rule: "context/deadline", Reason: "a time limit of this program expired"}, true
	}
	return Ruling{}, false
}

// judgeName decides by a name with one meaning.
func judgeName(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := byName(allRules().names, e, l); ok {
			if said, ok := e.overrulesClass(l, r); ok {
				return said, true
			}
			return r, true
		}
	}
	return judgeHeader(e)
}

// overrulesClass returns the ruling of the sentence after the class name of an SDK's error, if nothing else is
// known of the error: "ServiceUnavailableError: the context length is exceeded" is no outage.
func (e Evidence) overrulesClass(l Layer, class Ruling) (Ruling, bool) {
	if l.Code != "" || l.Type != "" || l.Reason != "" || !fault.Transient.Has(class.Kind) {
		return Ruling{}, false
	}
	return allRules().texts.match(l.claims, func(r *rule) bool {
		return finalKinds.Has(r.Kind) && r.Sure >= serverProof && !r.Guessed && e.objection(l, r) == ""
	})
}

// judgeBroadName decides by a broad name, or by a weak one where no status says more: in a stream, or in a
// cause that a relay quotes.
func judgeBroadName(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := byName(allRules().broadNames, e, l); ok && !e.contradicts(r.Kind) {
			return r, true
		}
		if e.Status >= 400 && !l.quoted {
			continue
		}
		if r, ok := byName(allRules().weakNames, e, l); ok {
			return r, true
		}
		if l.quoted && l.Status != 0 {
			return Ruling{}, false // the quoted cause states its status, which decides over its wrapper
		}
	}
	return Ruling{}, false
}

// finalKinds are the kinds that a sentence after the class name of a transient error may prove.
const finalKinds fault.Set = 1<<fault.Quota | 1<<fault.Auth | 1<<fault.Refused | 1<<fault.Invalid | 1<<fault.TooLong

// byName looks up a layer's code, type and reason, in this order. A message that stands alone is searched
// for names: some relays keep nothing else.
func byName(in map[string][]rule, e Evidence, l Layer) (Ruling, bool) {
	for _, name := range [...]string{l.Code, l.Type, l.Reason} {
		if name == "" {
			continue
		}
		if r, ok := lookUp(in, name, e.Status, l); ok {
			return r, true
		}
	}
	if l.Code != "" || l.Type != "" {
		return Ruling{}, false
	}
	return byNameWithin(in, e.Status, l)
}

// lookUp returns the ruling of the first rule under the name whose conditions hold.
func lookUp(in map[string][]rule, name string, status int, l Layer) (Ruling, bool) {
	rules := rulesNamed(in, name)
	for i := range rules {
		if r := &rules[i]; r.matches(status, l) {
			return r.Ruling, true
		}
	}
	return Ruling{}, false
}

// maxNames is how many names in one message are looked up.
const maxNames = 16

// byNameWithin looks up the words of a message that look like identifiers: snake_case or CamelCase.
func byNameWithin(in map[string][]rule, status int, l Layer) (Ruling, bool) {
	s := l.Message[:min(len(l.Message), textLimit)]
	for i, names := 0, 0; i < len(s) && names < maxNames; {
		n := nameLen(s[i:])
		if n >= 8 && isCompound(s[i:i+n]) {
			names++
			if r, ok := lookUp(in, s[i:i+n], status, l); ok {
				return r, true
			}
		}
		i += n + 1
	}
	return Ruling{}, false
}

// nameLen returns the length of the identifier at the start of a text.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (isWord(s[n]) || s[n] == '_') {
		n++
	}
	return n
}

// isCompound reports whether an identifier is made of several words.
func isCompound(name string) bool {
	for i := 1; i < len(name); i++ {
		if name[i] == '_' || isUpper(name[i]) && isLower(name[i-1]) {
			return true
		}
	}
	return false
}

// judgeHeader decides by the value of a header.
func judgeHeader(e Evidence) (Ruling, bool) {
	if len(e.Header) == 0 {
		return Ruling{}, false
	}
	for _, h := range allRules().headers {
		if e.Header.Get(h.name) == h.value {
			return h.Ruling, true
		}
	}
	return Ruling{}, false
}

// judgeText decides by the texts in messages, the innermost layer first.
func judgeText(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := judgeOversized(l, e.Status); ok {
			return r, true
		}
		if r, ok := allRules().texts.match(l.claims, func(r *rule) bool { return e.objection(l, r) == "" }); ok {
			if spent, ok := e.spentByName(l); ok && r.Kind == fault.RateLimited {
				return spent, true
			}
			return r, true
		}
		if r, ok := judgeOverlong(l, e.Status); ok {
			return r, true
		}
	}
	return Ruling{}, false
}

// judgeNameText decides by names that no table has, read like texts: project_spend_limit_exceeded contains
// "spend limit".
func judgeNameText(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		for _, name := range [...]string{l.Code, l.Type, l.Reason} {
			if r, ok := e.readName(l, name); ok {
				return r, true
			}
		}
	}
	return Ruling{}, false
}

// readName reads a name like a text.
func (e Evidence) readName(l Layer, name string) (Ruling, bool) {
	if name == "" || len(name) > 128 {
		return Ruling{}, false
	}
	r, ok := allRules().texts.match(fold(name), func(r *rule) bool { return e.objection(l, r) == "" })
	r.Guessed = true
	return r, ok
}

// spentByName returns what a name that no table has says about money or a window: organization_quota_exceeded
// is more precise than the text "rate limit reached" beside it.
func (e Evidence) spentByName(l Layer) (Ruling, bool) {
	for _, name := range [...]string{l.Code, l.Type} {
		if len(rulesNamed(allRules().broadNames, name))+len(rulesNamed(allRules().weakNames, name)) > 0 {
			continue
		}
		if r, ok := e.readName(l, name); ok && r.Kind == fault.Quota {
			return r, true
		}
	}
	return Ruling{}, false
}

// judgeFailureText decides by the wording of a failure where not even a status is known.
func judgeFailureText(e Evidence) (Ruling, bool) {
	for _, l := range e.Layers {
		if r, ok := allRules().failures.match(l.folded, func(*rule) bool { return true }); ok {
			return r, true
		}
	}
	return Ruling{}, false
}

// objection returns why a rule's text does not count as evidence; "": it does. A server cannot know that our
// caller left; some tables are about other statuses; and a text about a parameter of the request describes
// nothing that passes by itself.
func (e Evidence) objection(l Layer, r *rule) string {
	switch {
	case r.status != 0 && r.status != e.Status && r.status != l.Status:
		return "another status is meant"
	case r.Kind == fault.Canceled:
		if e.Err == nil {
			return "a server cannot know that the caller left"
		}
		return ""
	case !r.table.counts(e.Status):
		return "it says nothing with this status"
	case !r.inForm(l):
		return foreignNumber
	case !r.proves(l, e.proof(r.Kind)) || r.Final && e.Status >= 500:
		return tooWeak
	case r.Guessed && r.Kind == fault.TooLong && e.hint != (hint{}):
		return "no wait makes a payload smaller, and one is stated"
	case l.Param != "" && e.Status/100 == 4 && e.Status != 429 && fault.Transient.Has(r.Kind) && r.Retries == 0:
		return "it is about a parameter of the request"
	}
	return ""
}

// Objections to a number in the form of another vendor's errors, and to a text that proves less than it takes to
// overrule the status.
const (
	foreignNumber = "the number is another vendor's"
	tooWeak       = "it proves too little against this status"
)

// proves reports whether a rule's text in a message is as sure as it takes, in percent.
func (r *rule) proves(l Layer, proof int) bool { return r.Sure >= proof || r.sureIn(l) >= proof }

// accountProof is how much it proves, in percent, that an account is spent or may not use a model, where a message
// says no more. One that speaks of something that failed may only name what could not be read.
const accountProof = 85

// sureIn returns how much a rule's text proves in a message, in percent.
func (r *rule) sureIn(l Layer) int {
	if r.account && r.Sure < accountProof && !containsAny(l.folded, words().failing...) {
		return accountProof
	}
	return r.Sure
}

// serverProof and throttleProof are how much a text must prove, in percent, to make a 5xx or a 429 final.
const serverProof, throttleProof = 80, 40

// proof returns how much a text must prove, in percent, to overrule the status. A 5xx says that the failure
// passes, and a 429 mostly does: a text that calls it final has to be the vendor's own sentence, or for a 429
// at least about money or a window.
func (e Evidence) proof(kind fault.Kind) int {
	final := !fault.Transient.Has(kind) && kind != fault.Unknown
	switch status := e.Status; {
	case status >= 500 && final:
		return serverProof
	case status == http.StatusTooManyRequests && final:
		return throttleProof
	case e.contradicts(kind):
		return 100
	}
	return 0
}

// contradicts reports whether a kind that passes by itself contradicts a status that refuses the caller. No
// word alone makes a 401 or 403 pass; a stated wait beside the word is more than a word.
func (e Evidence) contradicts(kind fault.Kind) bool {
	refused := e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	return refused && fault.Transient.Has(kind) && e.hint == (hint{})
}
