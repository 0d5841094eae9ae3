package telemetry

import (
	"strings"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
)

// The names of the semantic conventions. Those for generative AI are still in development; this is the only
// file that follows them. See https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and
// https://opentelemetry.io/docs/specs/semconv/http/http-spans/.
const (
	operationName    = tracing.Key("gen_ai.operation.name")
	providerName     = tracing.Key("gen_ai.provider.name")
	requestModel     = tracing.Key("gen_ai.request.model")
	requestStream    = tracing.Key("gen_ai.request.stream")
	conversationID   = tracing.Key("gen_ai.conversation.id")
	timeToFirstChunk = tracing.Key("gen_ai.response.time_to_first_chunk") // seconds
	errorType        = tracing.Key("error.type")
	requestMethod    = tracing.Key("http.request.method")
	resendCount      = tracing.Key("http.request.resend_count")
	statusCode       = tracing.Key("http.response.status_code")

	// Names of our own, where the conventions have none.
	requestNumber = tracing.Key("ridethrough.request")
	face          = tracing.Key("ridethrough.face")
	turnID        = tracing.Key("ridethrough.turn")
	sealedAs      = tracing.Key("ridethrough.status")
	upstreamName  = tracing.Key("ridethrough.upstream")
	switchedFrom  = tracing.Key("ridethrough.switched_from")
	retryCount    = tracing.Key("ridethrough.retries")
	retryDelay    = tracing.Key("ridethrough.retry.delay") // seconds
	waitedTime    = tracing.Key("ridethrough.waited")      // seconds
)

// operation returns the operation name of a call.
func operation(c *gateway.Call) string {
	if isTurn(c) {
		return "invoke_agent"
	}
	if c.API == "gemini" {
		return "generate_content"
	}
	return "chat"
}

// vendor returns the conventions' name of who makes an API.
func vendor(c *gateway.Call) string {
	family, _, _ := strings.Cut(c.API, "-")
	if family == "gemini" {
		return "gcp.gemini"
	}
	return family
}

// described returns the span attributes of a call.
func described(c *gateway.Call) []tracing.Attribute {
	all := []tracing.Attribute{
		operationName.Text(operation(c)), providerName.Text(vendor(c)),
		requestStream.Bool(c.Stream),
	}
	if isTurn(c) {
		all = append(all, face.Text(c.Face), turnID.Text(c.Turn))
	} else {
		all = append(all, requestNumber.Int64(c.ID))
	}
	all = append(all, destination(c)...)
	if c.Session != "" {
		all = append(all, conversationID.Text(c.Session))
	}
	return all
}

// destination returns the attributes of where a call is, which a failover changes.
func destination(c *gateway.Call) []tracing.Attribute {
	all := []tracing.Attribute{upstreamName.Text(c.Upstream)}
	if c.Model != "" {
		all = append(all, requestModel.Text(c.Model))
	}
	return all
}
