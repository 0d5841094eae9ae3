package turn

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
)

// Marshal returns an event's members as a JSON object, without its type.
// Durations are whole milliseconds, and retries count from 0.
func Marshal(e Event) ([]byte, error) {
	if e, ok := e.(interface{ form() any }); ok {
		return json.Marshal(e.form())
	}
	return json.Marshal(e)
}

// Unmarshal reads an event of a type from a JSON object that has its members,
// perhaps among others. The event is nil if no event has that type.
func Unmarshal(kind string, text []byte) (Event, error) {
	switch kind {
	case Start{}.kind():
		return decode[Start](text)
	case UserMessage{}.kind():
		return decode[UserMessage](text)
	case AssistantMessage{}.kind():
		return decode[AssistantMessage](text)
	case ToolCall{}.kind():
		return decode[ToolCall](text)
	case ToolResult{}.kind():
		return decode[ToolResult](text)
	case ApprovalRequested{}.kind():
		return decode[ApprovalRequested](text)
	case ApprovalAnswered{}.kind():
		return decode[ApprovalAnswered](text)
	case Usage{}.kind():
		return decode[Usage](text)
	case Compacted{}.kind():
		return decode[Compacted](text)
	case Switched{}.kind():
		return decode[Switched](text)
	case Restarted{}.kind():
		return decode[Restarted](text)
	case TextDelta{}.kind():
		return decode[TextDelta](text)
	case ReasoningDelta{}.kind():
		return decode[ReasoningDelta](text)
	case Error{}.kind():
		return decodeForm[errorForm](text)
	case Sealed{}.kind():
		return decodeForm[sealedForm](text)
	case MCPRetry{}.kind():
		return decodeForm[mcpRetryForm](text)
	case MCPRecovered{}.kind():
		return decodeForm[mcpRecoveredForm](text)
	}
	return UnmarshalWait(kind, text)
}

// UnmarshalWait reads an event of a wait as [Unmarshal] does: a [Retry], a [Waiting] or a [Recovered]. A program that
// reads no others does not contain what agents say and do.
func UnmarshalWait(kind string, text []byte) (Event, error) {
	switch kind {
	case Retry{}.kind():
		return decodeForm[retryForm](text)
	case Waiting{}.kind():
		return decodeForm[waitingForm](text)
	case Recovered{}.kind():
		return decodeForm[recoveredForm](text)
	}
	return nil, nil
}

func decode[E Event](text []byte) (Event, error) {
	var e E
	err := json.Unmarshal(text, &e)
	return e, err
}

// decodeForm reads an event whose members differ from its fields.
func decodeForm[F interface{ event() Event }](text []byte) (Event, error) {
	var f F
	err := json.Unmarshal(text, &f)
	return f.event(), err
}

// millis is a duration as a number of whole milliseconds.
type millis int64

func toMillis(d time.Duration) millis { return millis(d.Milliseconds()) }

func (m millis) duration() time.Duration { return time.Duration(m) * time.Millisecond }

type errorForm struct {
	llm.Name
	Upstream   string `json:"upstream,omitzero"`
	Message    string `json:"message"`
	Kind       string `json:"kind"`
	Code       string `json:"code,omitzero"`
	RequestID  string `json:"requestId,omitzero"`
	Retries    int    `json:"retries"`
	Waited     millis `json:"waitedMs"`
	RetryAfter millis `json:"retryAfterMs,omitzero"`
	Committed  bool   `json:"committed,omitzero"`
	Images     bool   `json:"imagesRefused,omitzero"` // the model does not take the images of the request

	OpensAt time.Time `json:"opensAt,omitzero"`
}

func (e Error) form() any {
	return errorForm{e.Name, e.Upstream, e.Message, e.Kind, e.Code, e.RequestID, e.Retries, toMillis(e.Waited), toMillis(e.RetryAfter), e.Committed(), e.OfImages(), opensAt(e.Fault)}
}

func (f errorForm) event() Event {
	e := Error{
		Name: f.Name, Upstream: f.Upstream, Message: f.Message, Kind: f.Kind, Code: f.Code, RequestID: f.RequestID,
		Retries: f.Retries, Waited: f.Waited.duration(), RetryAfter: f.RetryAfter.duration(),
		Fault: readFault(f.Kind, f.Code, f.Message, f.RequestID),
	}
	e.Fault.Images = f.Images
	setOpensAt(e.Fault, f.OpensAt)
	switch {
	case f.Committed:
		e.Stop = policy.Committed
	case e.RetryAfter > 0:
		e.Stop = policy.RetryAfterTooLong
	}
	return e
}

type sealedForm struct {
	Status           Status `json:"status"`
	RetryCount       int    `json:"retryCount"`
	TotalRetryDelay  millis `json:"totalRetryDelayMs"`
	TimeToFirstToken millis `json:"timeToFirstTokenMs,omitzero"`
	Duration         millis `json:"durationMs"`
	InputTokens      int    `json:"inputTokens"`
	OutputTokens     int    `json:"outputTokens"`
}

func (e Sealed) form() any {
	return sealedForm{
		e.Status, e.RetryCount, toMillis(e.TotalRetryDelay), toMillis(e.TimeToFirstToken), toMillis(e.Duration),
		e.InputTokens, e.OutputTokens,
	}
}

func (f sealedForm) event() Event {
	return Sealed{f.Status, Metrics{
		f.RetryCount, f.TotalRetryDelay.duration(), f.TimeToFirstToken.duration(), f.Duration.duration(),
		f.InputTokens, f.OutputTokens,
	}}
}

type retryForm struct {
	llm.Name
	Upstream   string    `json:"upstream,omitzero"`
	Attempt    int       `json:"attempt"`
	Delay      millis    `json:"delayMs"`
	Message    string    `json:"message"`
	Summary    string    `json:"summary,omitzero"`
	Code       string    `json:"code,omitzero"`
	Kind       string    `json:"kind"`
	RequestID  string    `json:"requestId,omitzero"`
	MaxRetries int       `json:"maxRetries,omitzero"`
	Deadline   time.Time `json:"deadline,omitzero"`
	OpensAt    time.Time `json:"opensAt,omitzero"`
	Reason     string    `json:"reason"`

	CachedUntil time.Time `json:"cachedUntil,omitzero"`
	CacheTokens int64     `json:"cacheTokens,omitzero"`
}

// The reasons of a wait.
const (
	bySchedule = "schedule"
	byHint     = "hint"   // the provider has asked for it
	byWindow   = "window" // likewise, until a usage window opens
)

func (e Retry) form() any {
	f := retryForm{
		Name: e.Name, Upstream: e.Upstream, Attempt: max(0, e.Run.Tries-1), Delay: toMillis(e.Verdict.Wait),
		Message: e.Fault.Verbatim(), Code: e.Fault.ShortCode(), Kind: e.Fault.Kind.String(), RequestID: e.Fault.RequestID,
		MaxRetries: e.Limit, Reason: bySchedule, OpensAt: opensAt(e.Fault),
		CacheTokens: e.Cache.Tokens,
	}
	if !e.Cache.Until.IsZero() {
		f.CachedUntil = e.Cache.Until.UTC().Truncate(time.Millisecond)
	}
	if summary := e.Fault.Redacted(); summary != f.Message {
		f.Summary = summary
	}
	if e.Limit == policy.Unlimited {
		f.MaxRetries = 0
	}
	if !e.Deadline.IsZero() {
		f.Deadline = e.Deadline.UTC().Truncate(time.Millisecond)
	}
	switch {
	case e.Verdict.Window:
		f.Reason = byWindow
	case e.Verdict.Hinted:
		f.Reason = byHint
	}
	return f
}

// opensAt returns when the usage window opens that a fault is about; zero: about none.
func opensAt(f *fault.Error) (at time.Time) {
	if f == nil || !f.Window {
		return at
	}
	return f.ResetAt.UTC().Truncate(time.Millisecond)
}

// setOpensAt reverses opensAt.
func setOpensAt(f *fault.Error, at time.Time) { f.Window, f.ResetAt = !at.IsZero(), at }

func (f retryForm) event() Event {
	limit := f.MaxRetries
	if limit == 0 {
		limit = policy.Unlimited
	}
	window := f.Reason == byWindow
	return Retry{f.Name, f.Upstream, policy.Wait{
		Run: policy.Run{Tries: f.Attempt + 1}, Fault: f.fault(), Limit: limit, Deadline: f.Deadline,
		Verdict: policy.Verdict{Wait: f.Delay.duration(), Hinted: window || f.Reason == byHint, Window: window},
	}, PromptCache{f.CachedUntil, f.CacheTokens}}
}

// fault returns as much of the fault as JSON has of it.
func (f retryForm) fault() (e *fault.Error) {
	if f.Summary == "" {
		e = readFault(f.Kind, f.Code, f.Message, f.RequestID)
	} else {
		e = readFault(f.Kind, f.Code, f.Summary, f.RequestID)
		e.Body = withoutStatus(f.Message, f.Code)
	}
	setOpensAt(e, f.OpensAt)
	return e
}

type waitingForm struct {
	llm.Name
	Upstream  string `json:"upstream,omitzero"`
	Attempt   int    `json:"attempt"`
	Remaining millis `json:"remainingMs"`
}

func (e Waiting) form() any {
	return waitingForm{e.Name, e.Upstream, max(0, e.Retry-1), toMillis(e.Remaining)}
}

func (f waitingForm) event() Event {
	return Waiting{f.Name, f.Upstream, f.Attempt + 1, f.Remaining.duration()}
}

type recoveredForm struct {
	llm.Name
	Upstream string `json:"upstream,omitzero"`
	Retries  int    `json:"retries"`
	Waited   millis `json:"waitedMs"`
}

func (e Recovered) form() any {
	return recoveredForm{e.Name, e.Upstream, e.Retries, toMillis(e.Waited)}
}

func (f recoveredForm) event() Event {
	return Recovered{f.Name, f.Upstream, f.Retries, f.Waited.duration()}
}

// readFault returns as much of a fault as JSON has of it.
func readFault(kind, code, message, requestID string) *fault.Error {
	f := &fault.Error{Kind: fault.KindOf(kind), Code: code, Message: message, RequestID: requestID}
	if status, err := strconv.Atoi(code); err == nil {
		f.Status, f.Code = status, ""
		f.Message = withoutStatus(message, code)
	}
	return f
}

// withoutStatus returns a text without the status at its beginning that is its code.
func withoutStatus(text, code string) string { return strings.TrimPrefix(text, "HTTP "+code+": ") }
