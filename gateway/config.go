package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
)

// Config configures a gateway.
type Config struct {
	Upstreams []Upstream          // the first of an API takes that API's requests; none: Defaults()
	Policy    policy.Policy       // of the upstreams without a policy of their own; zero: never retry
	Base      http.RoundTripper   // reaches the upstreams; nil: pooled connections
	Faults    classify.Classifier // classifies the faults; zero: the built-in rules
	Spool     Spool               // keeps the bodies of requests
	Detached  Detached            // reads answers on for clients that have left; zero: none
	Receive   *Receive            // how slowly clients may send them; nil: DefaultReceive()
	Fleet     *Fleet              // the gateways beside this one; nil: it is alone
	OnEvent   func(Event)         // called for each event, by concurrent requests; nil: none

	// Share is called before the first call of each new upstream, with its breaker and with the limits of all upstreams
	// by their names, for example to share them with other gateways. Credentials then have the same names in all. The
	// function that it returns is called when the upstream is no longer configured under this name and base URL; calls
	// that are held there continue. nil: nothing is shared.
	Share Share

	// Learned returns what has been learned of an upstream, by its name, such as by an earlier process; nil: an
	// upstream learns as long as it keeps its name and base URL.
	Learned func(upstream string) *transport.Learned
}

// Share is the form of [Config.Share]. leave may be nil.
type Share func(upstream string, base *url.URL, b *breaker.Breaker, limits *ratelimit.Table) (leave func())

// Upstream is one provider, or one account with it.
type Upstream struct {
	Name      string                    // in paths (/NAME/v1/…), headers and logs
	API       string                    // one of APIs(): the meaning of its base URL, its credentials and its default requests
	Base      *url.URL                  // nil: the API's public URL; Azure has none
	Key       func() (string, error)    // the credential sent in place of the client's, asked before each request; nil: the client's own passes through
	NoKey     bool                      // it gets no credentials, not even the client's
	Sign      func(*http.Request) error // signs each try, in place of the client's credentials; the body is read with GetBody; nil: nothing is signed
	Policy    *policy.Policy            // nil: the gateway's
	Limits    *Limits                   // of requests and each try; nil: DefaultLimits()
	Complete  CompleteMode              // what happens to a stream that breaks off; "": CompleteLossless
	Fallback  []Fallback                // where a request goes when it finds no answer here, in order
	Routes    []Route                   // the first that matches a request overrides the fields above
	Network   Network                   // how it is reached without the gateway's Base
	Admission Admission                 // which requests wait for room; "": AdmissionLearned
	Reserve   float64                   // the share of each limit that is kept for people: for sessions after a pause, and no agents; 0: none
	NoSocket  bool                      // a WebSocket for the Responses API is refused with 426; false: its requests are kept waiting and retried like POSTs, and sent as such
}

// Admission is which requests wait for room at an upstream before they are sent.
type Admission string

// The ways to admit requests.
const (
	AdmissionLearned Admission = "learned" // those wait that would exceed a limit which the upstream states, or has refused beyond
	AdmissionOff     Admission = "off"     // none waits
)

// Admissions returns all of them.
func Admissions() []Admission { return []Admission{AdmissionLearned, AdmissionOff} }

// Limits bounds requests and each try. When a time expires, the try has failed with a [fault.Timeout], or with a
// [fault.UpstreamTimeout] while connecting. A zero field sets no limit.
type Limits struct {
	Connect   time.Duration // until the connection is established; only for pooled connections: no Base
	FirstByte time.Duration // from sending the request to the first byte of an answer
	Learned   bool          // of a streamed answer, FirstByte is shortened to what is usual for the model and the size of the request, once that is known
	Content   time.Duration // from sending the request to the first content of an answer, and between two in a streamed one: pings and the like do not count
	Idle      time.Duration // between two reads of an answer
	Body      int64         // the largest request in bytes; 0: 32 MiB, the vendors' own limit
}

// DefaultLimits returns the limits of an upstream without its own: 10 s to
// connect, 10 min to the first byte or less where more is not usual, 10 min
// without content, 5 min of silence. The first byte may take as long as the most
// patient client waits for an answer without a stream, and the first content as
// long as DeepSeek sends comments while a request is queued.
func DefaultLimits() Limits {
	return Limits{
		Connect: 10 * time.Second, FirstByte: 10 * time.Minute, Learned: true, Content: 10 * time.Minute, Idle: 5 * time.Minute,
	}
}

// Route overrides an upstream's settings for some models.
type Route struct {
	Models    []string       // patterns of path.Match, one of which the model matches; none: every model
	Policy    *policy.Policy // nil: the upstream's
	Limits    *Limits        // nil: the upstream's. Connect and Body are the upstream's in any case
	Complete  CompleteMode   // "": the upstream's
	Admission Admission      // "": the upstream's
	Reserve   *float64       // nil: the upstream's
	Fallback  []Fallback     // nil: the upstream's
}

// Fallback is another upstream for a request, or another model.
type Fallback struct {
	To    string        // the name of an upstream, which may be the same one if Model is another
	Model string        // what it is asked for in place of the request's model; "": that
	After time.Duration // how long the request may stay at the upstream before; 0: until that one gives up
	Kinds fault.Set     // faults for which it is taken at once, even if they are final; 0: none
}

// Spool bounds what the bodies of requests take, of all requests together, from their first byte until no try
// can follow. Those that wait are compressed. What exceeds the memory goes to a file, which has no name and ends
// with the process. A request that exceeds the disk too is answered with 503.
type Spool struct {
	Memory int64  // in bytes; 0: 64 MiB, or a quarter of Go's memory limit if that is less
	Disk   int64  // in bytes; 0: 2 GiB
	Dir    string // of the file; "": os.TempDir()
}

// Defaults returns an upstream for each API that has a public URL, at that.
func Defaults() []Upstream {
	all := make([]Upstream, 0, len(apis))
	for i := range apis {
		if base := apis[i].publicURL(); base != nil {
			all = append(all, Upstream{Name: apis[i].name, API: apis[i].name, Base: base})
		}
	}
	return all
}

// Detached has an answer read to its end although its client has left, and kept for when the client sends the
// same request again. The zero value is off.
type Detached struct {
	Agents []string      // for clients whose User-Agent or Originator begins so, such as "codex", in any case; "all": every client
	Time   time.Duration // how long an answer is read on, and how long it is kept then; 0: 5 min
	Bytes  int64         // the largest answer that is kept; 0: 8 MiB
	Tries  bool          // also a try in progress that has no content so far; false: it ends when the client leaves
}

// AllAgents stands for every client in [Detached.Agents].
const AllAgents = "all"

// withDefaults returns d with the defaults in place of zeros.
func (d Detached) withDefaults() Detached {
	if d.Time == 0 {
		d.Time = 5 * time.Minute
	}
	if d.Bytes == 0 {
		d.Bytes = 8 << 20
	}
	return d
}

// includes reports whether the answers to a client are kept.
func (d *Detached) includes(c api.Client) bool {
	return slices.ContainsFunc(d.Agents, func(agent string) bool {
		return agent == AllAgents || beginsWith(c.Agent, agent) || beginsWith(c.Originator, agent)
	})
}

// beginsWith compares in any case.
func beginsWith(s, begin string) bool {
	return len(s) >= len(begin) && strings.EqualFold(s[:len(begin)], begin)
}
