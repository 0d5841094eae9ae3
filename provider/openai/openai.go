// Package openai is [llm.Model] over OpenAI's Responses API, and over the Chat Completions API that many
// other servers implement.
//
// Those servers differ in what they omit and add. An answer without [DONE] or without a finish_reason, tool
// calls without ids, and reasoning in fields of their own are therefore accepted.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// Config identifies the model, its address and the credentials. Nothing is read from the environment.
type Config struct {
	Model   string              // as in the API
	Key     string              // "": none is sent
	BaseURL string              // as in OPENAI_BASE_URL; "": OpenAI's own
	API     API                 // "": Responses at OpenAI's own URL, Chat at any other
	Client  *http.Client        // nil: provider.DefaultClient()
	Faults  classify.Classifier // classifies failures; zero: the built-in rules

	// Provider names the server at BaseURL in model names and faults. Reasoning is sent back only to the
	// provider that produced it. "": "openai".
	Provider string

	// Summaries requests summaries of the reasoning, which the Responses API gives only to verified
	// organizations and refuses to others. Reasoning sent by a Chat server is always read.
	Summaries bool
}

// API is one of the APIs through which a model can be used.
type API string

// The APIs.
const (
	Chat      API = "chat"      // Chat Completions
	Responses API = "responses" // Responses, without server-side storage
)

// vendor is OpenAI's own base URL.
const vendor = "https://api.openai.com/v1"

// Model is a model behind one of the APIs. Its methods may run concurrently.
type Model struct {
	name                llm.Name
	base                string
	maxCompletionTokens bool // the limit on an answer is called max_completion_tokens, not max_tokens
	api                 API
	faults              classify.Classifier
	summaries           bool
	key                 string
	client              *http.Client
}

// New returns a model. An invalid Config is reported by the first request.
func New(c Config) *Model {
	m := &Model{
		name:      llm.Name{Provider: cmp.Or(c.Provider, "openai"), Model: c.Model},
		base:      cmp.Or(c.BaseURL, vendor),
		faults:    c.Faults,
		summaries: c.Summaries,
		key:       c.Key,
		client:    provider.Observe(c.Client),
	}
	own := isAt(m.base, ".api.openai.com")
	m.maxCompletionTokens = own || isAt(m.base, ".azure.com")
	m.api = cmp.Or(c.API, Chat)
	if c.API == "" && own {
		m.api = Responses
	}
	return m
}

// isAt reports whether a URL is of a domain: ".api.openai.com" includes "us.api.openai.com".
func isAt(base, domain string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.HasSuffix("."+u.Hostname(), domain)
}

// Name returns the names of the provider and the model.
func (m *Model) Name() llm.Name { return m.name }

// Stream sends the request once, as [llm.Model] requires.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return provider.Stream(ctx, m.name, m.faults, func(ctx context.Context, c *provider.Call) error {
		if err := provider.CheckURL(m.base); err != nil {
			return err
		}
		switch m.api {
		case Chat:
			return m.askChat(ctx, r, c)
		case Responses:
			return m.askResponses(ctx, r, c)
		}
		return invalid("unknown API " + strconv.Quote(string(m.api)) + `, want "chat" or "responses"`)
	})
}

// post sends a request to an endpoint of the API.
func (m *Model) post(ctx context.Context, request any, path ...string) (*http.Response, error) {
	u, err := url.Parse(m.base)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if m.key != "" {
		header.Set("Authorization", "Bearer "+m.key)
	}
	return client.Post(ctx, m.client, u.JoinPath(path...).String(), header, request)
}

// invalid returns the fault of a request that cannot be sent.
func invalid(message string) error {
	return &fault.Error{Kind: fault.Invalid, Message: message, Rule: "openai/request"}
}
