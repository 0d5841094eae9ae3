package wire

// The types of a council's events on the wire.
const (
	typeCouncilStart  = "council-start"
	typeCouncilMember = "council-member"
	typeCouncilQuorum = "council-quorum"
	typeCouncilEnd    = "council-end"
)

// CouncilStart begins a council: several models are asked the same. Its turnId
// is the council's, which all events of it bear.
type CouncilStart struct {
	Call
	Members       []string `json:"members"` // as "anthropic/claude-opus-4-5", by their numbers
	Judge         string   `json:"judge"`   // who makes one answer of theirs
	Quorum        int      `json:"quorum"`  // how many answers are enough
	BudgetMs      int64    `json:"budgetMs"`
	ReserveMs     int64    `json:"reserveMs"`
	GraceMs       int64    `json:"graceMs"`
	JudgeBudgetMs int64    `json:"judgeBudgetMs"`
	CapMs         int64    `json:"capMs"`
}

// CouncilMember tells where a member of a council stands: each time that this
// changes, and every 30 seconds in between.
type CouncilMember struct {
	Call
	Member      int    `json:"member"`           // its number, from 0
	State       string `json:"state"`            // "asking", "waiting", "answered", "failed" or "cut-off"
	Tries       int    `json:"tries"`            // how often its model was asked
	TookMs      int64  `json:"tookMs"`           // since its beginning
	RemainingMs int64  `json:"remainingMs"`      // of its budget
	DelayMs     int64  `json:"delayMs,omitzero"` // until it is asked again; left out: it does not wait, or for the gate
	Reason      string `json:"reason,omitzero"`  // what it waits for: "schedule", "hint" or "gate"; what has cut it off: "grace", "cap" or "stopped"
	Kind        string `json:"kind,omitzero"`    // of the fault that it has met last
	Code        string `json:"code,omitzero"`    // of that fault
	Message     string `json:"message,omitzero"` // of that fault, in the provider's words
	Answer      string `json:"answer,omitzero"`  // once it has answered
}

// CouncilQuorum tells that enough members have answered: what the others have
// not said when the grace is over is not waited for.
type CouncilQuorum struct {
	Call
	Answered int   `json:"answered"`
	Asking   int   `json:"asking"`  // members whose models are asked
	Waiting  int   `json:"waiting"` // members that wait for another try or for the gate
	GraceMs  int64 `json:"graceMs"`
}

// CouncilEnd is the last event of a council. The answer has come before it, as
// the judge's text-delta events and then its assistant-message.
type CouncilEnd struct {
	Call
	Status   string `json:"status"` // "done", "failed" or "aborted"
	Answered int    `json:"answered"`
	Failed   int    `json:"failed"`
	CutOff   int    `json:"cutOff"`
	TookMs   int64  `json:"tookMs"`
	Message  string `json:"message,omitzero"` // what it has failed of
}

// Type gives "council-start".
func (CouncilStart) Type() string { return typeCouncilStart }

// Type gives "council-member".
func (CouncilMember) Type() string { return typeCouncilMember }

// Type gives "council-quorum".
func (CouncilQuorum) Type() string { return typeCouncilQuorum }

// Type gives "council-end".
func (CouncilEnd) Type() string { return typeCouncilEnd }

// readCouncil reads the body of a council's event; nil: the type is none of
// them.
func readCouncil(kind string, text []byte) (Body, error) {
	switch kind {
	case typeCouncilStart:
		return decode[CouncilStart](text)
	case typeCouncilMember:
		return decode[CouncilMember](text)
	case typeCouncilQuorum:
		return decode[CouncilQuorum](text)
	case typeCouncilEnd:
		return decode[CouncilEnd](text)
	}
	return nil, nil
}
