package gateway

import (
	"math"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
)

// Unlimited as one of Limits sets no limit.
const Unlimited time.Duration = math.MaxInt64

// Config says what a gateway stands in front of.
type Config struct {
	Upstreams []Upstream          // the first of an API takes that API's requests; none: Defaults()
	Policy    policy.Policy       // of the upstreams that have none of their own; zero: never try again
	Base      http.RoundTripper   // reaches the upstreams that have no transport of their own; nil: pooled connections
	Faults    classify.Classifier // names the faults; zero: the built-in rules
	Spool     Spool               // where the bodies of waiting requests are kept; zero: in memory up to 128 MiB, then on disk
	OnEvent   func(Event)         // told of what happens, by concurrent callers; nil: nobody
}

// Upstream is one provider, or one account with it.
type Upstream struct {
	Name      string                 // in paths (/NAME/v1/…), headers and logs
	API       string                 // one of APIs(): how its base URL is meant, which credentials it takes and which requests are its own by default
	Base      *url.URL               // nil: the API's public URL
	Key       func() (string, error) // gives a credential in place of the client's, asked before each call; nil: the client's own passes through
	NoKey     bool                   // it gets no credentials, not even the client's
	Policy    policy.Policy          // one with Retries 0: the gateway's
	Limits    Limits                 // of each try
	Body      int64                  // the largest request in bytes; 0: 32 MiB
	Fallback  []Fallback             // where a call goes on that finds no answer here, in order
	Routes    []Route                // the first that fits a request overrules the fields above
	Transport http.RoundTripper      // reaches it; nil: the gateway's
}

// Limits bounds each try. Where one expires, the try has failed with a
// [fault.Timeout]; connecting too slowly is a [fault.UpstreamTimeout].
type Limits struct {
	Connect   time.Duration // until the connection stands; 0: 10 s. It needs pooled connections: no Transport, no Base
	FirstByte time.Duration // from sending the request to the first byte of an answer; 0: 10 min
	Idle      time.Duration // between two reads of an answer; 0: 5 min
}

// Route is for some of an upstream's requests.
type Route struct {
	Models   []string      // patterns of path.Match, one of which the model fits; none: every model
	Policy   policy.Policy // one with Retries 0: the upstream's
	Limits   Limits        // zero fields: the upstream's
	Fallback []Fallback    // nil: the upstream's
}

// Fallback is another upstream for a call.
type Fallback struct {
	To    string        // its name
	After time.Duration // how long the call may wait before; 0: until the upstream before it gives up
	Kinds fault.Set     // for faults of these kinds it is taken at once, also where they are final; 0: for none
}

// Spool says where the bodies of waiting requests are kept, compressed.
type Spool struct {
	Memory int64  // how many bytes of them stay in memory, the rest goes to disk; 0: 128 MiB
	Dir    string // of the file, which has no name and ends with the process; "": os.TempDir()
}

// Defaults gives an upstream for each API, at its public URL.
func Defaults() []Upstream {
	all := make([]Upstream, len(apis))
	for i := range apis {
		all[i] = Upstream{Name: apis[i].name, API: apis[i].name, Base: apis[i].publicURL()}
	}
	return all
}

// terms are what holds for one request at an upstream.
type terms struct {
	policy   policy.Policy
	limits   Limits
	fallback []Fallback
}

// terms gives what holds for a model's requests.
func (u *Upstream) terms(model string) terms {
	t := terms{u.Policy, u.Limits, u.Fallback}
	for _, r := range u.Routes {
		if !r.matches(model) {
			continue
		}
		if r.Policy.Retries != 0 {
			t.policy = r.Policy
		}
		t.limits = r.Limits.orElse(t.limits)
		if r.Fallback != nil {
			t.fallback = r.Fallback
		}
		break
	}
	return t
}

// matches tells whether a route is for a model.
func (r Route) matches(model string) bool {
	for _, pattern := range r.Models {
		if ok, _ := path.Match(pattern, model); ok {
			return true
		}
	}
	return len(r.Models) == 0
}

// orElse fills in the fields that are zero.
func (l Limits) orElse(other Limits) Limits {
	fill := func(d *time.Duration, other time.Duration) {
		if *d == 0 {
			*d = other
		}
	}
	fill(&l.Connect, other.Connect)
	fill(&l.FirstByte, other.FirstByte)
	fill(&l.Idle, other.Idle)
	return l
}

// defaultLimits are the limits of an upstream that says nothing. The first byte may
// take as long as the most patient client without a stream waits for it.
var defaultLimits = Limits{Connect: 10 * time.Second, FirstByte: 10 * time.Minute, Idle: 5 * time.Minute}

// bound gives a limit as transport takes it: 0 for none.
func bound(d time.Duration) time.Duration {
	if d == Unlimited {
		return 0
	}
	return d
}
