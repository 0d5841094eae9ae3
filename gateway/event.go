package gateway

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/redact"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// Event is something that happens to a request for an answer: a try, an event in the words that turns have
// too, or that it joins another request. It has no prompt, no answer and no credential in it.
type Event struct {
	At   time.Time
	Call Call      // whose
	Try  retry.Try // a try has passed or failed; its N counts over all upstreams. N 0: see Event

	// Event is turn.Start for a request that has arrived, turn.Retry for a wait, turn.Switched for a failover,
	// turn.Recovered for an answer after failed tries, turn.Error for a request or an answer that has failed, and
	// turn.Sealed for the end: then its Metrics have the retries and their delay. nil: see Try and Joined.
	//
	// Without a Stop, a turn.Error says that the client has left ([turn.Error.Left]) or that the gateway is closed.
	Event turn.Event

	// Crossed says that a share of a limit that the upstream states is used up, to a level that it had not reached
	// before. The limit is of all requests with the same credential, not of this one; nil: see Try and Event.
	Crossed *ratelimit.Crossing

	// Queued is where the request begins to wait for room below a limit that the upstream states, and Admitted for
	// how long it did when that ends, in a try as a rule; nil and 0: see Try and Event.
	Queued   *ratelimit.Place
	Admitted time.Duration

	Joined    int64             // the ID of the request that this one repeats, and now waits with; 0: see Try and Event
	Resent    bool              // the try in progress is sent again, as a pooled connection was closed before its answer began: no retry
	Detached  bool              // the client has left, and its answer is read on for when it sends the request again
	Completed Completed         // an answer is whole that had broken off after its first content; zero: see the other fields
	Replayed  int64             // the ID of the request before whose answer, read on or in progress, the client is given; 0: none
	Unshared  *Unshared         // the answer for a client that has left is at one gateway of the fleet only; nil: see the other fields
	Status    int               // with turn.Sealed, of the answer; 0: the client left, or its connection was cut
	Used      ratelimit.Charged // with turn.Sealed, what the answer has cost; zero: unknown
	Note      api.Note          // with turn.Sealed, what is known of the answer beyond what it says; "": nothing
}

// Call identifies a request for an answer, or an agent's turn where turns are reported in the same form.
type Call struct {
	ID       int64     // the number of the request at this gateway, from 1; of a turn below 0
	Face     string    // where a turn comes from, such as "run"; "": it is a request of the gateway
	Turn     string    // a turn's id; "": as for Face
	Session  string    // the client's own id of a conversation, or that of a turn; "": none
	Client   string    // the client's program, as its User-Agent begins: "claude-cli/2.1.329"
	API      string    // the dialect's name: "openai-responses"
	Upstream string    // the name of the one where it is
	Model    string    // that is asked for there: the request's, unless a fallback names another; "": none is named
	Side     string    // the purpose of a request beside the agent's turn, such as "memory", which it can do without; "": any other request
	Stream   bool      // the answer is to be streamed
	Began    time.Time // when it arrived
	Parent   string    // the client's traceparent header (W3C Trace Context); "": none
	Replica  string    // of the fleet, where it is; "": this one
}

// emit calls OnEvent.
func (c *call) emit(e Event) {
	if c.setup.onEvent == nil {
		return
	}
	e.At, e.Call = time.Now(), c.info
	if c.shared != nil {
		at := c.shared.where()
		e.Call.Upstream, e.Call.Model = at.Name, at.model
	}
	c.setup.onEvent(e)
}

// Resent reports that the try in progress is sent again at once. It implements resendObserver.
func (s *sharedRequest) Resent() { s.leader.emit(Event{Resent: true}) }

// emitError reports the fault that has ended the call, and why no other try follows.
func (c *call) emitError(f *fault.Error, stop policy.Stop) {
	c.end = turn.Failed
	if c.setup.onEvent == nil {
		return
	}
	e := turn.NewError(f, c.outcome.Retries(), c.outcome.Waited)
	e.Name, e.Upstream, e.Stop = c.shared.name(), c.shared.upstreamName(), stop
	c.emit(Event{Event: e})
}

// emitBrokeOff reports a fault that is not retried because part of the answer is out.
func (c *call) emitBrokeOff(f *fault.Error) { c.emitError(f, policy.Committed) }

// emitEnd reports that the call is over.
func (c *call) emitEnd() {
	e := Event{Event: turn.Sealed{Status: turn.Done}, Status: c.status, Used: c.used(), Note: c.note} // a constant, so that most requests allocate nothing
	if retries := c.outcome.Retries(); retries > 0 || c.end != "" {
		e.Event = turn.Sealed{
			Status:  cmp.Or(c.end, turn.Done),
			Metrics: turn.Metrics{RetryCount: retries, TotalRetryDelay: c.outcome.Waited},
		}
	}
	c.emit(e)
}

// used returns what the call's answer has cost, as far as that was read.
func (c *call) used() (u ratelimit.Charged) {
	if s := c.shared; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.winner == c {
			u = s.used
		}
	}
	return u
}

// quotePermit is the permit of a try whose fault may quote the request. The client's key and the words of its
// prompt are left out of it before the breaker shares it with other callers, and before it gets into events,
// which are logged and shown.
type quotePermit struct {
	retry.Permit
	call *call
	body string // of the fault, as the provider sent it; "": there is none
}

// Report implements retry.Permit.
func (p *quotePermit) Report(f *fault.Error) *fault.Error {
	if f != nil && !errors.Is(f, errLocal) {
		p.body, f.Body = f.Body, "" // for the event of a wait; other callers need none
		f.Message, f.Code = p.call.withoutQuotes(f.Message), p.call.withoutQuotes(f.Code)
	}
	return p.Permit.Report(f)
}

// verbatim returns the fault of the try with what the provider sent, without what that quotes of the request.
func (p *quotePermit) verbatim(f *fault.Error) *fault.Error {
	if p.body == "" {
		return f
	}
	whole := *f
	whole.Body = p.call.withoutQuotes(p.body)
	return &whole
}

// withoutQuotes returns a provider's text without what it quotes of the request; "": the request cannot be read,
// so that the text may be a quote.
func (in *intake) withoutQuotes(text string) string {
	if !redact.MayQuote(text) {
		return text
	}
	q := redact.NewQuotes(in.withoutPrivate(text), in.parsed.Model)
	if !in.eachPart(func(part []byte) (more bool) { q.Source(part); return true }) {
		return ""
	}
	return q.Text()
}

// maxPrivate is how many values of a request's headers are looked for in a text.
const maxPrivate = 64

// withoutPrivate returns a provider's text without the credentials of the request and the values of its private
// headers; "": there are too many of them.
func (in *intake) withoutPrivate(text string) string {
	var private []string
	add := func(value string) {
		if len(value) >= redact.ShortestKey && value != in.parsed.Model {
			private = append(private, value)
		}
	}
	for name, values := range in.r.Header {
		if isPublic(name) {
			continue
		}
		for _, v := range values {
			add(redact.Credential(name, v))
		}
	}
	if in.r.URL.RawQuery != "" {
		add(in.r.URL.Query().Get(googleParam))
	}
	switch {
	case len(private) > maxPrivate:
		return ""
	case len(private) == 0:
		return text
	}
	return redact.NewSecret(private...).Text(text)
}

// isPublic reports whether the values of a header are no secret: HTTP or an API defines what they may be, and errors
// that repeat them help. Any other header may have a credential, for a proxy on the way or for what only the user knows.
func isPublic(name string) bool {
	return slices.ContainsFunc(publicHeaders, func(public string) bool {
		return name == public || strings.HasSuffix(public, "-") && strings.HasPrefix(name, public)
	})
}

// publicHeaders are their names, or what these begin with.
var publicHeaders = []string{
	"Accept", "Accept-", "Anthropic-", "Cache-Control", "Connection", "Content-", "Openai-", "Origin", "Sec-Fetch-", "Traceparent",
	"Transfer-Encoding", "User-Agent", "X-App", "X-Codex-", "X-Goog-Api-Client", headerPrefix, "X-Stainless-",
}

// withoutWords returns a provider's fault without its message if that may quote the request, whose body is not
// kept after the first content. Its kind and code say what happened.
func (in *intake) withoutWords(f *fault.Error) *fault.Error {
	silent := *f
	silent.Body, silent.Code = "", in.withoutPrivate(f.Code)
	if redact.MayQuote(f.Message) {
		silent.Message = ""
	}
	return &silent
}
