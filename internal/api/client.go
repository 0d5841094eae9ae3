package api

import (
	"bytes"
	"strings"
)

// Program is a client with a loop of its own around its requests. Each has its own reasons to send a failed
// request again, measured in docs/holding.md; X-Should-Retry is read by none of them but Claude Code.
type Program uint8

// The programs.
const (
	OtherClient Program = iota
	ClaudeCode
	Codex
	GeminiCLI
	QwenCode
	Opencode    // and Kilo, which is made of it
	VercelSDK   // of cline and many others
	Pi          // goes by the words of an error, as opencode does
	ContinueCLI // by words, some types and some statuses
	Cline       // a vercelSDK that asks again after a stream without its last part
)

// Client identifies the client; its keepalive and its last error depend on it.
type Client struct {
	Agent      string // the User-Agent header
	Originator string // the Originator header, with which Codex identifies itself
	Library    string // the X-Goog-Api-Client header, with which Google's libraries do
	Model      string // the model that the request asks for

	Told Program // that the request's body tells; otherClient: none
}

// Program returns the program that a client is.
func (c Client) Program() Program {
	switch {
	case isCodex(c.Agent) || isCodex(c.Originator):
		return Codex
	case c.Agent == "pi": // as some of its settings say it
		return Pi
	}
	for _, known := range [...]struct {
		prefix string
		is     Program
	}{
		{"claude-cli/", ClaudeCode},
		{"GeminiCLI", GeminiCLI},
		{"QwenCode/", QwenCode},
		{"opencode/", Opencode},
		{"Kilo-Code/", Opencode},
		{"ai-sdk/", VercelSDK},
		{"ai-sdk-", VercelSDK}, // from version 7 on: ai-sdk-openai/4.0.118
		{"ai/", VercelSDK},     // of its answers that are not streamed: ai/7.0.173 ai-sdk-provider-utils/5.0.81
		{"pi (", Pi},
		{"pi/", Pi}, // from version 1 on
	} {
		if strings.HasPrefix(c.Agent, known.prefix) {
			return known.is
		}
	}
	return c.Told
}

// signs are how a body begins its instructions. Quoted in a text, their first quote would have a backslash.
var signs = [...]struct {
	text string
	is   Program
}{
	{`:"You are an agent in the Continue CLI`, ContinueCLI},
	{`:"You are an expert coding assistant operating inside pi,`, Pi},
	{`:"You are a coding assistant running inside pi,`, Pi},
	{`:"You are Cline, an AI coding agent`, Cline},
}

// WithBody returns the client with the agent that the body of its request tells, for those whose User-Agent is
// that of an SDK. each calls its argument with the parts of the body until it returns false.
func (c Client) WithBody(each func(func(part []byte) (more bool)) bool) Client {
	if a := c.Program(); a != OtherClient && a != VercelSDK {
		return c
	}
	finds(each, func(part []byte) bool {
		for _, sign := range signs {
			if bytes.Contains(part, []byte(sign.text)) {
				c.Told = sign.is
			}
		}
		return c.Told != OtherClient
	})
	return c
}

func isCodex(name string) bool {
	const codex = "codex"
	return len(name) >= len(codex) && strings.EqualFold(name[:len(codex)], codex)
}
