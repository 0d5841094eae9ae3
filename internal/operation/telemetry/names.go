package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/ridethrough/ridethrough/gateway"
)

// The names of the semantic conventions. Those for generative AI are still in development; this is the only file
// that follows them. See https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and
// https://opentelemetry.io/docs/specs/semconv/http/http-spans/.
const (
	operationName    = attribute.Key("gen_ai.operation.name")
	providerName     = attribute.Key("gen_ai.provider.name")
	requestModel     = attribute.Key("gen_ai.request.model")
	requestStream    = attribute.Key("gen_ai.request.stream")
	conversationID   = attribute.Key("gen_ai.conversation.id")
	timeToFirstChunk = attribute.Key("gen_ai.response.time_to_first_chunk") // seconds
	errorType        = attribute.Key("error.type")
	requestMethod    = attribute.Key("http.request.method")
	resendCount      = attribute.Key("http.request.resend_count")
	statusCode       = attribute.Key("http.response.status_code")
	serviceName      = attribute.Key("service.name")
	serviceVersion   = attribute.Key("service.version")

	// Our own names, where the conventions define no name.
	requestNumber = attribute.Key("ridethrough.request")
	face          = attribute.Key("ridethrough.face")
	turnID        = attribute.Key("ridethrough.turn")
	sealedAs      = attribute.Key("ridethrough.status")
	upstreamName  = attribute.Key("ridethrough.upstream")
	switchedFrom  = attribute.Key("ridethrough.switched_from")
	retryCount    = attribute.Key("ridethrough.retries")
	retryDelay    = attribute.Key("ridethrough.retry.delay") // seconds
	waitedTime    = attribute.Key("ridethrough.waited")      // seconds
)

// operation returns the conventions' operation name of a call.
func operation(c *gateway.Call) string {
	if isTurn(c) {
		return "invoke_agent"
	}
	if c.API == "gemini" {
		return "generate_content"
	}
	return "chat"
}

// vendor returns the conventions' name of an API's vendor.
func vendor(c *gateway.Call) string {
	family, _, _ := strings.Cut(c.API, "-")
	if family == "gemini" {
		return "gcp.gemini"
	}
	return family
}

func described(c *gateway.Call) []attribute.KeyValue {
	all := []attribute.KeyValue{
		operationName.String(operation(c)), providerName.String(vendor(c)),
		requestStream.Bool(c.Stream),
	}
	if isTurn(c) {
		all = append(all, face.String(c.Face), turnID.String(c.Turn))
	} else {
		all = append(all, requestNumber.Int64(c.ID))
	}
	all = append(all, destination(c)...)
	if c.Session != "" {
		all = append(all, conversationID.String(c.Session))
	}
	return all
}

// destination returns the span attributes of a call's upstream, which a failover changes.
func destination(c *gateway.Call) []attribute.KeyValue {
	all := []attribute.KeyValue{upstreamName.String(c.Upstream)}
	if c.Model != "" {
		all = append(all, requestModel.String(c.Model))
	}
	return all
}
