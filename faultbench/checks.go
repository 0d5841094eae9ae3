package main

// check is one demand of the contract.
type check struct {
	name, about string
	client      string // what a user of Claude Code sees where the demand is not met
	played      method // with the provider played here
	real        method // with the gateway's own provider; nil: it cannot be seen there
	costs       bool   // tokens, with a real provider
	alone       bool   // needs no request to reach the provider
}

// reachableCheck is the name of the check without which most others make no sense.
const reachableCheck = "reachable"

// checks are the demands, in the order of their results. A new one has a broken gateway in the test that fails it.
var checks = []check{
	{
		name: reachableCheck, about: "POST /v1/messages?beta=true reaches the provider, and its answer the client",
		client: "Claude Code cannot connect.", played: (*trial).reaches, real: (*trial).answersAtAll, alone: true,
	},
	{
		name: "head", about: "HEAD / is answered within 3 s and without a server's error",
		client: "Claude Code's first request, its test of the connection, fails or delays its start.",
		played: (*trial).head, real: (*trial).head, alone: true,
	},
	{
		name: "models", about: "GET /v1/models?limit=1000 has a list within 3 s and without a redirect",
		client: "/model does not list the gateway's models.", played: (*trial).models, real: (*trial).models, alone: true,
	},
	{
		name: "credentials", about: "Authorization alone and X-Api-Key alone are accepted, and the provider gets a credential",
		client: "Claude Code shows an authentication error, with a login or with a key.", played: (*trial).credentials,
	},
	{
		name: "beta-headers", about: "anthropic-beta and anthropic-version reach the provider unchanged, with values that the gateway does not know",
		client: "A new feature is refused: its field arrives without its beta, which the provider answers with 400.",
		played: (*trial).betaHeaders, real: (*trial).realBetaHeaders,
	},
	{
		name: "anthropic-headers", about: "other anthropic-* headers reach the provider: the list is open",
		client: "What a later version of Claude Code sends is lost without a word.", played: (*trial).anthropicHeaders,
	},
	{
		name: "session-headers", about: "x-claude-code-session-id, -agent-id and -parent-agent-id reach the provider",
		client: "Nothing. A proxy or a log behind the gateway cannot tell sessions and agents apart.", played: (*trial).sessionHeaders,
	},
	{
		name: "body", about: "the body reaches the provider with every field, also unknown ones, and system in its order",
		client: "Features are refused with 400 or silently off, and prompt caches miss.", played: (*trial).body, real: (*trial).realBody,
	},
	{
		name: "large-body", about: "a body of 30 MiB reaches the provider whole",
		client: "Long conversations and images fail with 413, or the connection breaks.", played: (*trial).largeBody,
	},
	{
		name: "answer", about: "an answer that is not streamed arrives byte for byte", client: "An answer is empty or malformed.",
		played: (*trial).wholeAnswer,
	},
	{
		name: "stream", about: "a streamed answer arrives event for event", client: "An answer is empty, malformed or incomplete.",
		played: (*trial).stream, real: (*trial).realStream, costs: true,
	},
	{
		name: "unknown-events", about: "events, content blocks, deltas and fields that the gateway does not know arrive unchanged",
		client: "What a newer model sends is lost, or ends the answer.", played: (*trial).unknownEvents,
	},
	{
		name: "unbuffered", about: "each event arrives when it is sent, not with later ones",
		client: "Nothing is shown until the answer is complete, and after 300 s without a byte it is given up.", played: (*trial).unbuffered,
	},
	{
		name: "pings", about: "the provider's pings inside an answer arrive, or others in their place",
		client: "An answer in which the model thinks for 300 s is given up.", played: (*trial).pings,
	},
	{
		name: "first-byte", about: "the client gets a byte within 20 s of an answer that begins with pings",
		client: "A long prompt is given up after 300 s, though the provider is at work on it.", played: (*trial).firstByte,
	},
	{
		name: "error-event", about: "an error event inside an answer arrives unchanged",
		client: "The answer ends without a reason, or looks complete.", played: (*trial).errorEvent,
	},
	{
		name: "broken-stream", about: "an answer that breaks off has no clean end",
		client: "Half an answer is taken for a whole one.", played: (*trial).brokenStream,
	},
	{
		name: "errors", about: "errors of 400, 401, 403, 404 and 413 arrive with their status and byte for byte",
		client: "Claude Code reads the provider's words to recover, from a rejected feature for instance. It gives up instead.",
		played: (*trial).errors, real: (*trial).realErrors,
	},
	{
		name: "overload", about: "a 529 arrives as it is, or the gateway gets the answer that follows it",
		client: "Claude Code does not try again, or at the wrong time.", played: (*trial).overload,
	},
	{
		name: "response-headers", about: "request-id, anthropic-* and retry-after arrive",
		client: "Limits and what is left of them are not shown, and an error has no id for Anthropic's support.",
		played: (*trial).responseHeaders, real: (*trial).realResponseHeaders,
	},
	{
		name: "compression", about: "an answer is in the coding that its headers name",
		client: "An answer is unreadable.", played: (*trial).compression,
	},
	{
		name: "count-tokens", about: "POST /v1/messages/count_tokens reaches the provider, or is refused with 404",
		client: "Claude Code estimates how full its context is, or shows an error.",
		played: (*trial).countTokens, real: (*trial).realCountTokens,
	},
	{
		name: "cancel", about: "a client that leaves ends the provider's answer within 5 s",
		client: "Nothing. An answer that was stopped is paid for to its end.", played: (*trial).cancel,
	},
}
