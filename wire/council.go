package wire

import "github.com/ridethrough/ridethrough/llm"

// CouncilStart begins a council: several models answer the same question. Its
// turnId is the council's, which all its events have.
type CouncilStart struct {
	Ref
	Members     []string `json:"members"` // as "anthropic/claude-opus-4-5", by their numbers
	Judge       string   `json:"judge"`   // the model that makes one answer of theirs
	Quorum      int      `json:"quorum"`  // how many answers are enough
	Budget      Millis   `json:"budgetMs"`
	Reserve     Millis   `json:"reserveMs"`
	Grace       Millis   `json:"graceMs"`
	JudgeBudget Millis   `json:"judgeBudgetMs"`
	Cap         Millis   `json:"capMs"`
}

// CouncilMember is the state of a member of a council: sent on each change and every 30 seconds in between.
type CouncilMember struct {
	Ref
	llm.Name
	Member    int    `json:"member"`           // its number, from 0
	State     string `json:"state"`            // "asking", "waiting", "answered", "failed" or "cut-off"
	Tries     int    `json:"tries"`            // how often its model was asked
	Took      Millis `json:"tookMs"`           // since its beginning
	Remaining Millis `json:"remainingMs"`      // of its budget
	Delay     Millis `json:"delayMs,omitzero"` // until it is asked again; left out: it does not wait, or for the breaker
	Reason    string `json:"reason,omitzero"`  // what it waits for: "schedule", "hint" or "breaker"; what has cut it off: "grace", "cap" or "stopped"
	Kind      string `json:"kind,omitzero"`    // of its last fault
	Code      string `json:"code,omitzero"`    // of that fault
	Message   string `json:"message,omitzero"` // of that fault, in the provider's words
	Answer    string `json:"answer,omitzero"`  // once it has answered
}

// CouncilQuorum means that enough members have answered: those that have not
// answered when the grace period ends are cut off.
type CouncilQuorum struct {
	Ref
	Answered int    `json:"answered"`
	Asking   int    `json:"asking"`  // members whose models are asked
	Waiting  int    `json:"waiting"` // members that wait for another try or for the breaker
	Grace    Millis `json:"graceMs"`
}

// CouncilEnd is the last event of a council. The answer has come before it, as
// the judge's text-delta events and then its assistant-message.
type CouncilEnd struct {
	Ref
	Status   string `json:"status"` // "done", "failed" or "aborted"
	Answered int    `json:"answered"`
	Failed   int    `json:"failed"`
	CutOff   int    `json:"cutOff"`
	Took     Millis `json:"tookMs"`
	Message  string `json:"message,omitzero"` // why it failed
}

func (CouncilStart) kind() string  { return "council-start" }
func (CouncilMember) kind() string { return "council-member" }
func (CouncilQuorum) kind() string { return "council-quorum" }
func (CouncilEnd) kind() string    { return "council-end" }
