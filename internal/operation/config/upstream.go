package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/sigv4"
	"github.com/ridethrough/ridethrough/internal/text"
)

type upstream struct {
	_ struct{} `name:"upstream" about:"One provider, or one account with it." want:"the fields of an upstream"`

	name       string         `yaml:",name"`
	api        string         `yaml:"api" as:"api" doc:"The API that it serves." without:"its name, which must then be the name of an API"`
	url        string         `yaml:"url" as:"base-url" doc:"The base URL in the form that clients of the API use: with /v1 for openai, without it for the others; the address of the resource for azure." without:"the API's public URL; for ollama and lmstudio their local default; azure has none; vertex has one for each location, taken from the path"`
	key        key            `yaml:"key" doc:"The credential that replaces the client's. none removes the client's and sends no credential." without:"the client's own"`
	region     string         `yaml:"region" want:"an AWS region such as eu-central-1" pattern:"^[a-z]{2,}(-[a-z0-9]+)+$" doc:"The AWS region of an upstream of Bedrock. It decides the default url and is in the signatures." without:"that of url, or AWS_REGION in the environment, or us-east-1"`
	aws        awsCredentials `yaml:"aws" doc:"The AWS credentials with which the gateway signs each request to Bedrock, in place of the client's. A Bedrock API key is a key." without:"the client's own API key; a client's signature is refused"`
	policy     choice         `yaml:"policy" doc:"The retry policy." without:"the policy of the file"`
	quota      quota          `inherit:"that of the file" yaml:"quota" doc:"How to react to a spent usage window." without:"that of the file"`
	limits     limits         `yaml:"limits" doc:"The time limits of one try." without:"the defaults"`
	body       int64          `yaml:"body" as:"size" doc:"The largest request body. A larger one is rejected with status 413." default:"32MiB"`
	fallback   []fallback     `yaml:"fallback" list:"a list of fallbacks" doc:"The upstreams or models that take over a failing call, in order. For agents, --fallback replaces them." without:"none"`
	complete   string         `yaml:"complete" as:"complete" default:"lossless"`
	routes     []route        `yaml:"routes" list:"a list of routes" doc:"Overrides for some models. The first matching route applies." without:"none"`
	ca         string         `yaml:"ca" want:"a path" doc:"A file with certificates of authorities, in PEM, that are trusted besides the system's, relative to the configuration file. It is read with the configuration." without:"only the system's, or those of the file in SSL_CERT_FILE"`
	proxy      string         `yaml:"proxy" as:"proxy" doc:"The proxy to this upstream. none connects directly." without:"the proxy that HTTPS_PROXY or HTTP_PROXY names, unless NO_PROXY excludes the host"`
	http2      string         `yaml:"http2" want:"a way to speak HTTP/2" enum:"prior-knowledge" doc:"prior-knowledge speaks HTTP/2 to an http:// address without negotiation (h2c), for a server that speaks nothing else." without:"HTTP/1.1 to http://; negotiated with https://"`
	socket     string         `yaml:"responses-websocket" as:"socket" doc:"What happens to a client that opens a WebSocket for the Responses API, as Codex does: ‘ride’ keeps its requests waiting and retries them like POSTs, ‘426’ makes it send POSTs." default:"ride"`
	admission  string         `yaml:"admission" as:"admission" default:"learned"`
	reserve    float64        `yaml:"reserve" as:"share" doc:"How much of each limit a minute is kept for people: sessions that have paused for 3s, and no agents." without:"none"`
	statusPage string         `yaml:"status-page" as:"status-page" doc:"The provider's status page, which is read while the upstream fails, every two minutes, and shown beside what was measured: ‘anthropic’, ‘openai’, ‘google-cloud’, or the URL of a ‘summary.json’ of another. No credential is sent." without:"it is not read"`
}

// limits bound each try; zero: the gateway's.
type limits struct {
	_ struct{} `name:"limits" about:"The time limits of one try." want:"connect, first-byte, content and idle"`

	connect   limit `yaml:"connect" doc:"To establish the connection." default:"10s"`
	firstByte limit `yaml:"first-byte" as:"first-byte-limit" doc:"From the request to the first byte of the response. ‘learned’ is 10m, or for a streamed answer less, once it is known how long that usually takes." default:"learned"`
	content   limit `yaml:"content" doc:"From the request to the first content of the answer, and between two parts of it: pings, comments and empty events do not count." without:"10m, or first-byte if that is longer or none; less where it is learned"`
	idle      limit `yaml:"idle" doc:"Between two parts of the response." default:"5m"`
}

// fallback is an upstream or a model that takes over a failing call.
type fallback struct {
	_ struct{} `name:"fallback" about:"Another upstream or model for a failing call." want:"the fields of a fallback" missing:"a fallback needs the field FIELD with the name of an upstream"`

	to            string        `yaml:"to" want:"the name of an upstream" doc:"The upstream's name. It must serve the same API, and have its own key or key: none unless it is on the same host. It may be this upstream itself, with another model." required:"true"`
	model         string        `yaml:"model" want:"the name of a model" doc:"The model to ask for." without:"the model of the request"`
	after         time.Duration `yaml:"after" doc:"How long after its arrival a call moves here if no content of an answer has come. An answer that is not streamed may take 90s in any case. For agents, it counts from the first fault of a turn." without:"until the previous upstream gives up"`
	immediatelyOn fault.Set     `yaml:"immediately-on" old:"at-once" doc:"The kinds of faults that move a call here without waiting. With refused, an answer without content in which the model or a filter refuses does too." without:"none"`
}

type route struct {
	_ struct{} `name:"route" about:"Overrides for some models." want:"the fields of a route"`

	models    []string   `yaml:"models" list:"a list of models" as:"pattern" want:"a model's name or a pattern such as claude-opus-*" doc:"The models that it applies to. * matches any characters except /, ? matches one, [abc] one of these." without:"every model"`
	policy    choice     `yaml:"policy" doc:"The retry policy." without:"the upstream's"`
	quota     quota      `inherit:"the upstream's" yaml:"quota" doc:"How to react to a spent usage window." without:"the upstream's"`
	limits    limits     `inherit:"the upstream's" yaml:"limits" doc:"The time limits of one try." without:"the upstream's"`
	fallback  []fallback `yaml:"fallback" list:"a list of fallbacks" doc:"The upstreams that take over." without:"the upstream's"`
	complete  string     `yaml:"complete" as:"complete" without:"the upstream's"`
	admission string     `yaml:"admission" as:"admission" without:"the upstream's"`
	reserve   *float64   `yaml:"reserve" as:"share" doc:"How much of each limit a minute is kept for people: sessions that have paused for 3s, and no agents." without:"the upstream's"`
}

// priorKnowledge is the value of http2, as HTTP/2 calls it (RFC 9113, 3.3).
const priorKnowledge = "prior-knowledge"

// start sets the API of an upstream that is named like its API.
func (u *upstream) start(r *reader, n *node) {
	switch {
	case slices.Contains(gateway.APIs(), u.name):
		u.api = u.name
	case n.field("api") == nil:
		r.fail(n, "%q is not the name of an API; want the field api: %s", u.name, text.Or(gateway.APIs()))
	}
}

// bedrock is the API whose upstreams have a region.
const bedrock = "bedrock"

type awsCredentials struct {
	_ struct{} `name:"aws" about:"The AWS credentials with which each request is signed." want:"access-key, secret-key and session-token" missing:"AWS credentials need the field FIELD"`

	accessKey    secret `yaml:"access-key" doc:"The id of the access key." required:"true"`
	secretKey    secret `yaml:"secret-key" doc:"The secret access key." required:"true"`
	sessionToken secret `yaml:"session-token" doc:"The session token of temporary credentials." without:"they are not temporary"`
}

// regionOf returns the region of an upstream: the configured one, that of its address or of the environment, or
// else that of the API's default address.
func (m *mapper) regionOf(u upstream) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(u.url, "https://bedrock-runtime."), ".")
	if !strings.HasPrefix(u.url, "https://bedrock-runtime.") {
		host = ""
	}
	return cmp.Or(u.region, host, m.env("AWS_REGION"), m.env("AWS_DEFAULT_REGION"), "us-east-1")
}

// aws sets the address of an upstream at Amazon, and how its requests are signed.
func (m *mapper) aws(made *gateway.Upstream, u upstream) {
	at := "upstreams." + made.Name
	signs := u.aws != (awsCredentials{})
	switch {
	case u.api != bedrock && (signs || u.region != ""):
		m.report(at, "region and aws are for the API bedrock, and this is %s", u.api)
		return
	case u.api != bedrock:
		return
	case signs && u.key != (key{}):
		m.report(at+".aws", "key and aws exclude each other: a request has a Bedrock API key, or is signed")
		return
	}
	if made.Base == nil {
		made.Base = bedrockURL(m.regionOf(u))
	}
	if !signs {
		return
	}
	from := sigv4.Credentials{AccessKey: m.secret(at+".aws.access-key", "access-key", u.aws.accessKey), SecretKey: m.secret(at+".aws.secret-key", "secret-key", u.aws.secretKey)}
	if u.aws.sessionToken != (secret{}) {
		from.SessionToken = m.secret(at+".aws.session-token", "session-token", u.aws.sessionToken)
	}
	made.Sign = sigv4.Signer(bedrock, m.regionOf(u), from)
}

func bedrockURL(region string) *url.URL {
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return &url.URL{Scheme: "https", Host: "bedrock-runtime." + region + domain}
}
