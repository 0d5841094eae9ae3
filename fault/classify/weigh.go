package classify

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Sign is something in the evidence that says what kind of fault it is.
type Sign struct {
	From    string     // "your row", "context", "code", "type", "reason", "header", "status", "connection", "text" or "wait"
	Found   string     // what is there: a name, a status, or the words that count
	Kind    fault.Kind // what it says
	Sure    int        // how much it proves, in percent
	Rule    string     // the rule that reads it
	Decides bool       // it has decided
	Because string     // why it decides, or why it does not

	step  step
	order int // within a step
}

// step is where in the order of the judges a sign is asked about.
type step int

const (
	ownStep step = iota
	contextStep
	nameStep
	plainStatusStep
	connectionStep
	textStep
	broadNameStep
	nameTextStep
	statusStep
	failureStep
)

// steps say why a step comes before the later ones.
var steps = [...]string{
	ownStep:         "your rows are asked first",
	contextStep:     "the end of a context is asked about first",
	nameStep:        "a name with one meaning is asked before texts and statuses",
	plainStatusStep: "this status has one meaning, whatever the text says",
	connectionStep:  "the type of an error is asked before its text",
	textStep:        "a text says more than a general name or a status",
	broadNameStep:   "a name says more than a status",
	nameTextStep:    "the words in a name say more than a status",
	statusStep:      "no name and no text says more than the status",
	failureStep:     "not even a status is known",
}

// How much signs other than texts prove, in percent.
const (
	certain   = 100
	broadName = 80
	weakName  = 60
	topic     = 60 // a text that only names what it is about: "credit balance" is also in the name of a service
	anyStatus = 50
)

// maxSigns bounds how many texts Weigh returns.
const maxSigns = 12

// Weigh returns what in the evidence says what kind of fault it is, in the order in which it is asked about,
// and what decides. It is an explanation: Classify decides.
func (c Classifier) Weigh(e Evidence) []Sign {
	e.Provider = cmp.Or(e.Provider, c.Provider)
	w := weighing{e: e}
	for _, judge := range c.Judges {
		w.ask(ownStep, "your row", "", judge)
	}
	w.ask(contextStep, "context", "", judgeContext)
	w.names()
	w.ask(nameStep, "header", "", judgeHeader)
	if status := e.innermostStatus(); status != 0 {
		w.ask(plainStatusStep, "status", strconv.Itoa(status), judgePlainStatus)
	}
	w.ask(connectionStep, "connection", "", judgeConnection)
	w.texts()
	if !slices.ContainsFunc(w.signs, func(s Sign) bool { return s.Because == "" && (s.step == nameStep || s.step == broadNameStep) }) {
		w.ask(nameTextStep, "name", "", judgeNameText)
	}
	switch status := e.innermostStatus(); {
	case status < 400:
		w.ask(failureStep, "text", "", judgeFailureText)
	case allRules().plainStatuses[status].Rule == "":
		w.ask(statusStep, "status", strconv.Itoa(status), judgeStatus)
	}
	r, own := c.decide(e)
	w.mark(r)
	return append(w.signs, w.wait(r, own)...)
}

// weighing collects the signs of evidence.
type weighing struct {
	e     Evidence
	signs []Sign
}

// ask adds the sign of one judge.
func (w *weighing) ask(at step, from, found string, judge Judge) {
	r, ok := judge(w.e)
	if !ok {
		return
	}
	sure := r.Sure
	switch {
	case sure > 0:
	case at == statusStep:
		sure = anyStatus
	case at == failureStep:
		sure = topic
	default:
		sure = certain
	}
	if at == nameStep && from == "header" {
		_, found, _ = strings.Cut(r.Rule, "/")
	}
	w.signs = append(w.signs, Sign{From: from, Found: found, Kind: r.Kind, Sure: sure, Rule: r.Rule, step: at})
}

// names adds what is known of every code, type and reason, and of the names in a message that stands alone.
func (w *weighing) names() {
	all := allRules()
	indexes := [...]nameIndex{{all.names, nameStep, certain}, {all.broadNames, broadNameStep, broadName}, {all.weakNames, broadNameStep, weakName}}
	for _, l := range w.e.Layers {
		for _, n := range [...]struct{ from, name string }{{"code", l.Code}, {"type", l.Type}, {"reason", l.Reason}} {
			if n.name == "" {
				continue
			}
			for _, in := range indexes {
				w.name(l, n.from, n.name, in)
			}
		}
		if l.Code != "" || l.Type != "" {
			continue
		}
		for _, in := range indexes {
			if r, ok := byNameWithin(in.rules, w.e.Status, l); ok {
				_, name, _ := strings.Cut(r.Rule, "/")
				w.signs = append(w.signs, Sign{From: "text", Found: name, Kind: r.Kind, Sure: in.sure, Rule: r.Rule, step: in.step})
			}
		}
	}
}

// nameIndex is the rules of one sort of names, and how much those prove.
type nameIndex struct {
	rules map[string][]rule
	step  step
	sure  int
}

// name adds what one index says about a name, and what a number would say if it were that of another vendor.
func (w *weighing) name(l Layer, from, name string, in nameIndex) {
	s := Sign{From: from, Found: clean(name, 128), step: in.step}
	r, ok := lookUp(in.rules, name, w.e.Status, l)
	if !ok {
		for _, r := range rulesNamed(in.rules, name) {
			if !r.inForm(l) {
				s.Kind, s.Rule, s.Because = r.Kind, r.Rule, foreignNumber
				w.signs = append(w.signs, s)
			}
		}
		return
	}
	if slices.ContainsFunc(w.signs, func(s Sign) bool { return s.Rule == r.Rule }) {
		return
	}
	switch s.Kind, s.Rule, s.Sure = r.Kind, r.Rule, in.sure; {
	case in.sure == weakName && w.e.Status >= 400 && !l.quoted:
		s.Because = "it says less than the status"
	case in.step == broadNameStep && w.e.contradicts(r.Kind):
		s.Because = objectionOf(tooWeak, in.sure, certain)
	}
	w.signs = append(w.signs, s)
}

// texts adds every text of the tables that is in a message.
func (w *weighing) texts() {
	from := len(w.signs)
	for i, l := range w.e.Layers {
		if r, ok := judgeOversized(l, w.e.Status); ok {
			w.signs = append(w.signs, Sign{From: "text", Found: clean(l.Message, 80), Kind: r.Kind, Sure: certain, Rule: r.Rule, step: textStep, order: i << 16})
		}
		allRules().texts.all(l.claims, func(r *rule, words string, order int) {
			if slices.ContainsFunc(w.signs, func(s Sign) bool {
				return s.Rule == r.Rule || s.Found == words && s.Kind == r.Kind && s.order < i<<16|order
			}) {
				return
			}
			why := w.e.objection(l, r)
			if why == tooWeak {
				why = objectionOf(why, r.sureIn(l), max(w.e.proof(r.Kind), serverProof))
			}
			w.signs = append(w.signs, Sign{From: "text", Found: clean(words, 80), Kind: r.Kind, Sure: r.sureIn(l), Rule: r.Rule, Because: why, step: textStep, order: i<<16 | order})
		})
		if r, ok := judgeOverlong(l, w.e.Status); ok {
			w.signs = append(w.signs, Sign{From: "text", Found: clean(l.Message, 80), Kind: r.Kind, Sure: topic, Rule: r.Rule, step: textStep, order: i<<16 | 1<<16 - 1})
		}
	}
	slices.SortStableFunc(w.signs[from:], func(a, b Sign) int { return a.order - b.order })
	w.signs = w.signs[:min(len(w.signs), from+maxSigns)]
}

// objectionOf adds how sure a sign is, and how sure it would have to be, in percent.
func objectionOf(why string, sure, proof int) string {
	return why + ": " + strconv.Itoa(sure) + " % sure, and it takes " + strconv.Itoa(proof) + " %"
}

// mark says which sign decides, and why the others do not.
func (w *weighing) mark(r Ruling) {
	at := slices.IndexFunc(w.signs, func(s Sign) bool { return s.Rule == r.Rule && s.Because == "" })
	if at < 0 {
		s := Sign{From: "nothing", Kind: r.Kind, Rule: r.Rule, Decides: true, Because: "no rule knows it", step: statusStep}
		if from, _, ok := strings.Cut(r.Rule, "/"); ok {
			s.From, s.Sure, s.Because = from, cmp.Or(r.Sure, anyStatus), r.Reason
		}
		at = len(w.signs)
		w.signs = append(w.signs, s)
	}
	won := &w.signs[at]
	if !won.Decides {
		won.Decides, won.Because = true, steps[won.step]
	}
	for i := range w.signs {
		switch s := &w.signs[i]; {
		case i == at || s.Because != "":
		case s.Kind == won.Kind:
			s.Because = "it agrees"
		case s.step <= won.step:
			s.Because = "what decides is more precise"
		default:
			s.Because = "not asked: " + steps[won.step]
		}
	}
}

// wait returns the sign of a stated wait, which tells a spent window from a throttle, and of a provider that
// asks not to be asked again.
func (w *weighing) wait(r Ruling, own bool) (signs []Sign) {
	f := &fault.Error{Kind: r.Kind, Wait: w.e.hint.wait, ResetAt: w.e.hint.at}
	stated := f.RetryAfter(w.e.Now)
	if !own {
		applyQuotaThreshold(f, r, w.e.Now)
	}
	if w.e.Header.Get("X-Should-Retry") == "false" {
		s := Sign{From: "header", Found: "x-should-retry: false", Kind: r.Kind, Sure: certain, Rule: "header/x-should-retry", Because: "whatever the kind, the provider asks not to retry"}
		if f.Window {
			s.Because = "not before the window opens"
		}
		signs = append(signs, s)
	}
	if stated == 0 || r.Wait > 0 {
		return signs
	}
	s := Sign{From: "wait", Found: stated.Round(time.Millisecond).String(), Kind: r.Kind, Sure: certain, Rule: "wait/stated", Because: "the wait that the provider states"}
	if f.Kind != r.Kind {
		s.Kind, s.Decides = f.Kind, true
		s.Because = "a limit is a throttle up to a wait of " + quotaThreshold.String() + ", and a spent window above"
	}
	return append(signs, s)
}
