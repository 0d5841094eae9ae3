package gateway

import (
	"cmp"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
)

// Config configures a gateway.
type Config struct {
	Upstreams []Upstream          // the first of an API takes that API's requests; none: Defaults()
	Policy    policy.Policy       // of the upstreams without a policy of their own; zero: never retry
	Base      http.RoundTripper   // reaches the upstreams without a transport of their own; nil: pooled connections
	Faults    classify.Classifier // classifies the faults; zero: the built-in rules
	Spool     Spool               // keeps the bodies of requests
	Detached  Detached            // reads answers on for clients that have left; zero: none
	Receive   *Receive            // how slowly clients may send them; nil: DefaultReceive()
	Fleet     *Fleet              // the gateways beside this one; nil: it is alone
	OnEvent   func(Event)         // called for each event, by concurrent requests; nil: none

	// Share is called with the breaker of each upstream that is new, before its first call, such as to join it with
	// those of the same upstream in other gateways, and with the limits of all upstreams by their names. Credentials
	// then have the same names in all. What it returns is called when the upstream is no longer configured under this
	// name and base URL; calls that are held there go on. nil: they are shared with none.
	Share Share

	// Learned returns what has been learned of an upstream, by its name, such as by an earlier process; nil: an
	// upstream learns as long as it keeps its name and base URL.
	Learned func(upstream string) *transport.Learned
}

// Share is the form of [Config.Share]. leave may be nil.
type Share func(upstream string, base *url.URL, b *breaker.Breaker, limits *ratelimit.Table) (leave func())

// Upstream is one provider, or one account with it.
type Upstream struct {
	Name       string                    // in paths (/NAME/v1/…), headers and logs
	API        string                    // one of APIs(): the meaning of its base URL, its credentials and its default requests
	Base       *url.URL                  // nil: the API's public URL; Azure has none
	Key        func() (string, error)    // the credential sent in place of the client's, asked before each request; nil: the client's own passes through
	NoKey      bool                      // it gets no credentials, not even the client's
	Sign       func(*http.Request) error // signs each try, in place of the client's credentials; the body is read with GetBody; nil: nothing is signed
	Policy     *policy.Policy            // nil: the gateway's
	Limits     *Limits                   // of each try; nil: DefaultLimits()
	Body       int64                     // the largest request in bytes; 0: 32 MiB
	Complete   CompleteMode              // what happens to a stream that breaks off; "": CompleteLossless
	Background BackgroundMode            // which answers of OpenAI's Responses API are generated in the background, unless Complete is off; "": BackgroundOff
	Fallback   []Fallback                // where a request goes when it finds no answer here, in order
	Routes     []Route                   // the first that matches a request overrides the fields above
	Transport  http.RoundTripper         // reaches it; nil: the gateway's
	Network    Network                   // how it is reached without a Transport or the gateway's Base
	Admission  Admission                 // which requests wait for room; "": AdmissionLearned
	Reserve    float64                   // the share of each limit that is kept for people: for sessions after a pause, and no agents; 0: none
	Socket     SocketMode                // what happens to a WebSocket for the Responses API; "": SocketRide
}

// Admission is which requests wait for room at an upstream before they are sent.
type Admission string

// The ways to admit requests.
const (
	AdmissionLearned Admission = "learned" // those wait that would exceed a limit which the upstream states, or has refused beyond
	AdmissionOff     Admission = "off"     // none waits

	// AdmissionAdaptive is AdmissionLearned, and where the upstream states no limits as few are in flight as its
	// answers need to begin soon: for a server of one's own.
	AdmissionAdaptive Admission = "adaptive"
)

// Admissions returns all of them.
func Admissions() []Admission { return []Admission{AdmissionLearned, AdmissionAdaptive, AdmissionOff} }

// SocketMode is what happens to a client that opens a WebSocket for OpenAI's Responses API, as Codex does.
type SocketMode string

// The modes.
const (
	SocketRide   SocketMode = "ride"   // its requests are kept waiting and retried like POSTs, and sent as such
	SocketRefuse SocketMode = "426"    // it is told to send POSTs
	SocketTunnel SocketMode = "tunnel" // the socket goes to the upstream, and nothing on it is retried
)

// SocketModes returns all modes.
func SocketModes() []SocketMode { return []SocketMode{SocketRide, SocketRefuse, SocketTunnel} }

// Limits bounds each try. When one expires, the try has failed with a [fault.Timeout], or with a
// [fault.UpstreamTimeout] while connecting. A zero field sets no limit.
type Limits struct {
	Connect   time.Duration // until the connection is established; only for pooled connections: no Transport, no Base
	FirstByte time.Duration // from sending the request to the first byte of an answer
	Learned   bool          // of a streamed answer, FirstByte is shortened to what is usual for the model and the size of the request, once that is known
	Idle      time.Duration // between two reads of an answer
}

// DefaultLimits returns the limits of an upstream without its own: 10 s to
// connect, 10 min to the first byte or less where more is not usual, 5 min of
// silence. The first byte may take as long as the most patient client waits for
// an answer without a stream.
func DefaultLimits() Limits {
	return Limits{Connect: 10 * time.Second, FirstByte: 10 * time.Minute, Learned: true, Idle: 5 * time.Minute}
}

// perTry returns the limits that package transport keeps.
func (l Limits) perTry() transport.Limits {
	return transport.Limits{FirstByte: l.FirstByte, Idle: l.Idle}
}

// Route overrides an upstream's settings for some models.
type Route struct {
	Models     []string       // patterns of path.Match, one of which the model matches; none: every model
	Policy     *policy.Policy // nil: the upstream's
	Limits     *Limits        // nil: the upstream's. Connect is the upstream's in any case
	Complete   CompleteMode   // "": the upstream's
	Background BackgroundMode // "": the upstream's
	Admission  Admission      // "": the upstream's
	Reserve    *float64       // nil: the upstream's
	Fallback   []Fallback     // nil: the upstream's
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

// settings are what holds for one request at an upstream.
type settings struct {
	policy    *policy.Policy
	limits    *Limits
	fallback  []Fallback
	admission Admission
	reserve   float64
}

// settings returns what holds for the requests to a model. The upstream's own policy and limits are set.
func (u *Upstream) settings(model string) settings {
	p, l, f := u.ForModel(model)
	admission, reserve := u.admissionFor(model)
	return settings{p, l, f, admission, reserve}
}

// CompleteFor returns what happens to an answer of a model that breaks off.
func (u *Upstream) CompleteFor(model string) CompleteMode {
	mode := u.Complete
	if r := u.route(model); r != nil {
		mode = cmp.Or(r.Complete, mode)
	}
	return cmp.Or(mode, CompleteLossless)
}

// BackgroundFor returns which answers of a model are generated in the background.
func (u *Upstream) BackgroundFor(model string) BackgroundMode {
	mode := u.Background
	if r := u.route(model); r != nil {
		mode = cmp.Or(r.Background, mode)
	}
	return cmp.Or(mode, BackgroundOff)
}

// admissionFor returns which requests for a model wait for room, and the share that is kept for people.
func (u *Upstream) admissionFor(model string) (mode Admission, reserve float64) {
	mode, reserve = u.Admission, u.Reserve
	if r := u.route(model); r != nil {
		mode = cmp.Or(r.Admission, mode)
		if r.Reserve != nil {
			reserve = *r.Reserve
		}
	}
	return cmp.Or(mode, AdmissionLearned), reserve
}

// route returns the first route that is for a model; nil: none is.
func (u *Upstream) route(model string) *Route {
	i := slices.IndexFunc(u.Routes, func(r Route) bool { return r.matches(model) })
	if i < 0 {
		return nil
	}
	return &u.Routes[i]
}

// ForModel returns what holds for the requests to a model: that of the first route that matches it, or else the
// upstream's. A nil policy is the gateway's, nil limits are DefaultLimits().
func (u *Upstream) ForModel(model string) (p *policy.Policy, l *Limits, fallback []Fallback) {
	p, l, fallback = u.Policy, u.Limits, u.Fallback
	r := u.route(model)
	if r == nil {
		return p, l, fallback
	}
	p, l = cmp.Or(r.Policy, p), cmp.Or(r.Limits, l)
	if r.Fallback != nil {
		fallback = r.Fallback
	}
	return p, l, fallback
}

// matches reports whether a route is for a model.
func (r Route) matches(model string) bool {
	for _, pattern := range r.Models {
		if ok, _ := path.Match(pattern, model); ok {
			return true
		}
	}
	return len(r.Models) == 0
}
