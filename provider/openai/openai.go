// Package openai is [llm.Model] over OpenAI's SDK: its Responses API, and the
// Chat Completions API that everybody else's servers have as well.
//
// Those servers differ in what they leave out and add, so what is read here is
// read with patience: an answer without [DONE] or without a finish_reason, tool
// calls without ids, reasoning in a field that the SDK does not know. What
// fails is package provider's to name.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// Config says which model to ask, and where. Nothing is taken from the
// environment.
type Config struct {
	Model   string              // as the API calls it
	Key     string              // "": none is sent
	BaseURL string              // base URL, as OPENAI_BASE_URL has it; "": OpenAI's own
	API     API                 // "": Responses at OpenAI's own address, Chat at any other
	Client  *http.Client        // nil: provider.DefaultClient()
	Faults  classify.Classifier // names the faults; zero: the built-in rules

	// Provider is who answers at Base, for names and faults. Reasoning is given
	// back to the same one only. "": "openai".
	Provider string

	// Summaries asks for summaries of the reasoning, which the Responses API gives
	// to verified organisations only and refuses to others. What a Chat server
	// tells of its reasoning is heard in any case.
	Summaries bool
}

// API is one of the two in which a model can be asked.
type API string

// The APIs.
const (
	Chat      API = "chat"      // Chat Completions
	Responses API = "responses" // Responses, without anything being stored there
)

// vendor is OpenAI's own address.
const vendor = "https://api.openai.com/v1"

// Model is a model behind one of the APIs.
type Model struct {
	name                llm.Name
	base                string
	maxCompletionTokens bool // the bound of an answer has the name that OpenAI gave it later
	api                 API
	faults              classify.Classifier
	summaries           bool
	chat                openai.ChatCompletionService
	responses           responses.ResponseService
}

// New gives a model. What is wrong with the configuration comes to light when
// it is asked.
func New(c Config) *Model {
	m := &Model{
		name:      llm.Name{Provider: cmp.Or(c.Provider, "openai"), Model: c.Model},
		base:      cmp.Or(c.BaseURL, vendor),
		faults:    c.Faults,
		summaries: c.Summaries,
	}
	own := isAt(m.base, ".api.openai.com")
	m.maxCompletionTokens = own || isAt(m.base, ".azure.com")
	m.api = cmp.Or(c.API, Chat)
	if c.API == "" && own {
		m.api = Responses
	}
	// The services, unlike the SDK's client, read nothing from the environment.
	options := []option.RequestOption{
		option.WithBaseURL(m.base),
		option.WithHTTPClient(provider.Observe(c.Client)),
		option.WithMaxRetries(0),
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	m.chat = openai.NewChatCompletionService(options...)
	m.responses = responses.NewResponseService(options...)
	return m
}

// isAt tells whether an address is of a domain: ".api.openai.com" has
// "us.api.openai.com" as well.
func isAt(base, domain string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.HasSuffix("."+u.Hostname(), domain)
}

// Name gives the provider's name and the model's.
func (m *Model) Name() llm.Name { return m.name }

// Stream asks once and yields the answer as it comes.
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

// invalid is the fault of a question that cannot be asked.
func invalid(message string) error {
	return &fault.Error{Kind: fault.Invalid, Message: message, Rule: "openai/request"}
}
