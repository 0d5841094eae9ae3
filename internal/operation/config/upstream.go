package config

import (
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
)

// upstream is a provider, or an account with it.
type upstream struct {
	api, url   string
	key        secret
	region     string
	aws        awsCredentials
	policy     choice
	quota      quota
	limits     limits
	body       int64
	complete   string
	background string
	fallback   []fallback
	routes     []route
	socket     string
	reserve    float64
	ca         string
	proxy      string
	http2      string

	admission  string
	statusPage string
}

// limits bound each try; zero: the gateway's.
type limits struct{ connect, firstByte, idle time.Duration }

// fallback is an upstream or a model that takes over a failing call.
type fallback struct {
	to, model     string
	after         time.Duration
	immediatelyOn fault.Set
}

// route overrides settings for some models.
type route struct {
	models     []string
	policy     choice
	quota      quota
	limits     limits
	fallback   []fallback
	complete   string
	background string

	admission string
	reserve   *float64 // nil: the upstream's
}

// upstreams is the codec of an upstream; policy is that of a reference to a policy.
func upstreams(policy codec[choice]) codec[upstream] {
	return object(
		&schema{name: "upstream", about: "One provider, or one account with it.", expected: "the fields of an upstream"}, namedAfterAPI,
		newField("api", oneOf("an API", gateway.APIs()...), func(u *upstream) *string { return &u.api }, fieldDoc{"The API that it serves.", "", "its name, which must then be the name of an API"}),
		newField("url", baseURL(), func(u *upstream) *string { return &u.url }, fieldDoc{"The base URL in the form that clients of the API use: with /v1 for openai, without it for the others; the address of the resource for azure.", "", "the API's public URL; for ollama and lmstudio their local default; azure has none; vertex has one for each location, taken from the path"}),
		newField("key", keys(), func(u *upstream) *secret { return &u.key }, fieldDoc{"The credential that replaces the client's. none removes the client's and sends no credential.", "", "the client's own"}),
		newField("region", region(), func(u *upstream) *string { return &u.region }, fieldDoc{"The AWS region of an upstream of Bedrock. It decides the default url and is in the signatures.", "", "that of url, or AWS_REGION in the environment, or us-east-1"}),
		newField("aws", credentials(), func(u *upstream) *awsCredentials { return &u.aws }, fieldDoc{"The AWS credentials with which the gateway signs each request to Bedrock, in place of the client's. A Bedrock API key is a key.", "", "the client's own API key; a client's signature is refused"}),
		newField("policy", policy, func(u *upstream) *choice { return &u.policy }, fieldDoc{"The retry policy.", "", "the policy of the file"}),
		newField("quota", quotas("own-quota", false), func(u *upstream) *quota { return &u.quota }, fieldDoc{"What follows when a usage window is spent.", "", "that of the file"}),
		newField("limits", timeLimits("limits", true), func(u *upstream) *limits { return &u.limits }, fieldDoc{"The time limits of one try.", "", "the defaults"}),
		newField("body", size(), func(u *upstream) *int64 { return &u.body }, fieldDoc{"The largest request body. A larger one is rejected with status 413.", "32MiB", ""}),
		newField("fallback", chain(), func(u *upstream) *[]fallback { return &u.fallback }, fieldDoc{"The upstreams or models that take over a failing call, in order. For agents, --fallback replaces them.", "", "none"}),
		newField("complete", oneOf("a way to complete answers", completeModes()...), func(u *upstream) *string { return &u.complete }, fieldDoc{completeDoc, string(gateway.CompleteLossless), ""}),
		newField("background", oneOf("answers in the background", backgroundModes()...), func(u *upstream) *string { return &u.background }, fieldDoc{backgroundDoc, string(gateway.BackgroundOff), ""}),
		newField("routes", seq[*[]route]("a list of routes", routes(policy)), func(u *upstream) *[]route { return &u.routes }, fieldDoc{"Overrides for some models. The first matching route applies.", "", "none"}),
		newField("ca", anyName("a path"), func(u *upstream) *string { return &u.ca }, fieldDoc{"A file with certificates of authorities, in PEM, that are trusted besides the system's, relative to the configuration file. It is read with the configuration.", "", "only the system's, or those of the file in SSL_CERT_FILE"}),
		newField("proxy", proxyURL(), func(u *upstream) *string { return &u.proxy }, fieldDoc{"The proxy to this upstream. none connects directly.", "", "the proxy that HTTPS_PROXY or HTTP_PROXY names, unless NO_PROXY excludes the host"}),
		newField("http2", oneOf("a way to speak HTTP/2", priorKnowledge), func(u *upstream) *string { return &u.http2 }, fieldDoc{"prior-knowledge speaks HTTP/2 to an http:// address without asking first (h2c), for a server that speaks nothing else.", "", "HTTP/1.1 to http://; negotiated with https://"}),
		newField("responses-websocket", oneOf("what happens to a WebSocket", socketModes()...), func(u *upstream) *string { return &u.socket }, fieldDoc{"What happens to a client that opens a WebSocket for the Responses API, as Codex does: `ride` keeps its requests waiting and retries them like POSTs, `426` makes it send POSTs, `tunnel` hands the socket to the upstream and retries nothing.", string(gateway.SocketRide), ""}),
		newField("admission", oneOf("how requests are let go", admissions()...), func(u *upstream) *string { return &u.admission }, fieldDoc{admissionDoc, string(gateway.AdmissionLearned), ""}),
		newField("reserve", share(), func(u *upstream) *float64 { return &u.reserve }, fieldDoc{reserveDoc, "", "none"}),
		newField("status-page", statusPage(), func(u *upstream) *string { return &u.statusPage }, fieldDoc{"The provider's status page, which is read while the upstream fails, every two minutes, and shown beside what was measured: `anthropic`, `openai`, `google-cloud`, or the URL of a `summary.json` of another. No credential is sent.", "", "it is not read"}),
	)
}

// What admission and reserve are, of upstreams and of routes.
const (
	admissionDoc = "`learned` keeps a request waiting that would exceed a limit that the provider states in its answers; `adaptive` also keeps so few in flight, where none is stated, that answers begin soon, as a server of one's own needs it; `off` sends each at once."
	reserveDoc   = "How much of each limit a minute is kept for people: sessions that have paused for 3s, and no agents."
)

// admissions returns the names of the gateway's ways to admit requests.
func admissions() (names []string) {
	for _, a := range gateway.Admissions() {
		names = append(names, string(a))
	}
	return names
}

// priorKnowledge is the value of http2, as HTTP/2 calls it (RFC 9113, 3.3).
const priorKnowledge = "prior-knowledge"

// proxyURL is the codec of a proxy.
func proxyURL() codec[string] {
	return checkedText("a URL such as http://proxy.example:3128 or socks5://127.0.0.1:1080, or none", `^((https?|socks5)://|none$)`, func(s string) bool {
		return s != "" && gateway.Network{Proxy: s}.Check(&url.URL{}) == nil
	})
}

// completeDoc describes complete, of upstreams and of routes.
const completeDoc = "What happens to a streamed answer that breaks off after its first content: with `lossless` it is asked for again while the client has been sent nothing that it keeps, and tool calls are sent when they are whole; with `text` a text is continued by another request besides, where the two join for certain; `prefill` is `text` for servers of one's own that go on with a turn of the model's, as vLLM (`continue_final_message`) and Ollama do if the template supports it; with `off` it ends with an error."

// backgroundDoc describes background, of upstreams and of routes.
const backgroundDoc = "Which answers of OpenAI's Responses API the provider generates in the background, so that one that breaks off is resumed at its next event, wherever that is: with `stored` the streamed ones that it stores, that is those to requests without `store: false`. It keeps such an answer for some ten minutes, and the first token may come later. Not with `complete: off`."

// backgroundModes returns the names of the gateway's modes.
func backgroundModes() (names []string) {
	for _, m := range gateway.BackgroundModes() {
		names = append(names, string(m))
	}
	return names
}

// completeModes returns the names of the gateway's modes.
func completeModes() (names []string) {
	for _, m := range gateway.CompleteModes() {
		names = append(names, string(m))
	}
	return names
}

// socketModes returns the names of the gateway's modes.
func socketModes() (names []string) {
	for _, m := range gateway.SocketModes() {
		names = append(names, string(m))
	}
	return names
}

// namedAfterAPI sets the API of an upstream that is named after it.
func namedAfterAPI(r *reader, n *node, u *upstream) {
	name := r.path[len(r.path)-1]
	switch {
	case slices.Contains(gateway.APIs(), name):
		u.api = name
	case n.field("api") == nil:
		r.fail(n, "%q is not the name of an API; want the field api: %s", name, orList(gateway.APIs()))
	}
}

// timeLimits is the codec of limits. usual adds the defaults, which routes do not have.
func timeLimits(name string, usual bool) codec[limits] {
	unset := func(def string) (string, string) {
		if usual {
			return def, ""
		}
		return "", "the upstream's"
	}
	one := func(name string, kind codec[time.Duration], doc, def string, at func(*limits) *time.Duration) field[limits] {
		def, without := unset(def)
		return newField(name, kind, at, fieldDoc{doc, def, without})
	}
	return object(
		&schema{name: name, about: "The time limits of one try.", expected: "connect, first-byte and idle"}, nil,
		one("connect", limit(), "To establish the connection.", "10s", func(l *limits) *time.Duration { return &l.connect }),
		one("first-byte", learnedLimit(), "From the request to the first byte of the response. `learned` is 10m, or for a streamed answer less, once it is known how long that usually takes.", "learned", func(l *limits) *time.Duration { return &l.firstByte }),
		one("idle", limit(), "Between two parts of the response.", "5m", func(l *limits) *time.Duration { return &l.idle }),
	)
}

// chain is the codec of a list of fallbacks.
func chain() codec[[]fallback] {
	return seq[*[]fallback]("a list of fallbacks", object(
		&schema{name: "fallback", about: "Another upstream or model for a failing call.", expected: "the fields of a fallback", Required: []string{"to"}}, checkTo,
		newField("to", anyName("the name of an upstream"), func(f *fallback) *string { return &f.to }, fieldDoc{"The upstream's name. It must serve the same API, and have its own key or key: none unless it is on the same host. It may be this upstream itself, with another model.", "", "required"}),
		newField("model", anyName("the name of a model"), func(f *fallback) *string { return &f.model }, fieldDoc{"The model that it is asked for.", "", "the model of the request"}),
		newField("after", duration(), func(f *fallback) *time.Duration { return &f.after }, fieldDoc{"How long after its arrival a call moves here if no content of an answer has come. An answer that is not streamed may take 90s in any case. For agents, it counts from the first fault of a turn.", "", "until the previous upstream gives up"}),
		newField("immediately-on", kindsOf(), func(f *fallback) *fault.Set { return &f.immediatelyOn }, fieldDoc{"The kinds of faults that move a call here without waiting. With refused, an answer without content in which the model or a filter refuses does too.", "", "none"}).formerly("at-once"),
	))
}

// checkTo checks that a fallback has the field to.
func checkTo(r *reader, n *node, _ *fallback) {
	if n.field("to") == nil {
		r.fail(n, "a fallback needs the field to with the name of an upstream")
	}
}

// routes is the codec of a route.
func routes(policy codec[choice]) codec[route] {
	return object(
		&schema{name: "route", about: "Overrides for some models.", expected: "the fields of a route"}, nil,
		newField("models", seq[*[]string]("a list of models", pattern()), func(t *route) *[]string { return &t.models }, fieldDoc{"The models that it applies to. * matches any characters except /, ? matches one, [abc] one of these.", "", "every model"}),
		newField("policy", policy, func(t *route) *choice { return &t.policy }, fieldDoc{"The retry policy.", "", "the upstream's"}),
		newField("quota", quotas("own-quota", false), func(t *route) *quota { return &t.quota }, fieldDoc{"What follows when a usage window is spent.", "", "the upstream's"}),
		newField("limits", timeLimits("route-limits", false), func(t *route) *limits { return &t.limits }, fieldDoc{"The time limits of one try.", "", "the upstream's"}),
		newField("fallback", chain(), func(t *route) *[]fallback { return &t.fallback }, fieldDoc{"The upstreams that take over.", "", "the upstream's"}),
		newField("complete", oneOf("a way to complete answers", completeModes()...), func(t *route) *string { return &t.complete }, fieldDoc{completeDoc, "", "the upstream's"}),
		newField("background", oneOf("answers in the background", backgroundModes()...), func(t *route) *string { return &t.background }, fieldDoc{backgroundDoc, "", "the upstream's"}),
		newField("admission", oneOf("how requests are let go", admissions()...), func(t *route) *string { return &t.admission }, fieldDoc{admissionDoc, "", "the upstream's"}),
		newField("reserve", ownShare(), func(t *route) **float64 { return &t.reserve }, fieldDoc{reserveDoc, "", "the upstream's"}),
	)
}

// pattern is the codec of a pattern for models.
func pattern() codec[string] {
	return checkedText("a model's name or a pattern such as claude-opus-*", "", func(s string) bool {
		_, err := path.Match(s, "")
		return err == nil && s != ""
	})
}

// upstreamName is the codec of the name of an upstream.
func upstreamName() codec[string] {
	return checkedText(gateway.CheckName("").Error(), `^[a-z][a-z0-9._-]*$`, func(s string) bool { return gateway.CheckName(s) == nil })
}

// anyName is the codec of any text that is not empty.
//
//go:noinline it would be copied to each place that it is called at
func anyName(words string) codec[string] {
	return checkedText(words, "", func(s string) bool { return s != "" })
}
