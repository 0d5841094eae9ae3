package provider

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
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/llm"
)

// Config identifies a model, its address and the credentials. Nothing is read from the environment.
type Config struct {
	Model   string              // as in the API, such as "claude-opus-4-5" or "qwen3:8b"
	Key     string              // "": none
	BaseURL string              // "": the vendor's own, or that of a server on this machine. The constructors say what it includes
	Client  *http.Client        // sends the requests; nil: DefaultClient()
	Faults  classify.Classifier // classifies failures; zero: the built-in rules

	// Provider names the server at BaseURL in model names and faults. Reasoning is sent back only to the
	// provider that produced it. "": the constructor's own name, such as "anthropic".
	Provider string

	Token string // [Anthropic]: sent as Authorization: Bearer, as ANTHROPIC_AUTH_TOKEN is; "": none
	API   API    // [OpenAI]; "": Responses at OpenAI's own URL, Chat at any other

	// Summaries has [OpenAI] request summaries of the reasoning, which the Responses API gives only to verified
	// organizations and refuses to others. Reasoning sent by a Chat server is always read.
	Summaries bool

	// Context is the size of the context window, in tokens, with which [Ollama] loads the model. A conversation
	// that does not fit is a fault of kind TooLong. 0: the server's default, which may be as little as 4096.
	Context int
}

// API is one of the APIs through which a model of OpenAI can be used.
type API string

// The APIs.
const (
	Chat      API = "chat"      // Chat Completions
	Responses API = "responses" // Responses, without server-side storage
)

// Model is a model behind one of the APIs. Its methods may run concurrently.
type Model struct {
	config              Config // with its defaults
	is                  *dialect
	maxCompletionTokens bool // OpenAI's limit on an answer is called max_completion_tokens, not max_tokens
}

// dialect is how a model asks, and what its answers have of their own.
type dialect struct {
	api    *api.API
	form   api.Form // of its streams
	ask    func(m *Model, r llm.Request) (question, error)
	silent llm.Reason // why an answer has ended that does not say it

	doneEnds bool // a terminator completes an answer that does not say why it has ended, and its calls
	drains   bool // a stream is read past its end, so that the connection can be reused
}

// question is a request to an API.
type question struct {
	base   string // URL
	path   []string
	header http.Header
	body   any
}

// newModel returns a model with the defaults of its provider.
func newModel(c Config, is *dialect, name, base string) *Model {
	c.Provider, c.BaseURL, c.Client = cmp.Or(c.Provider, name), cmp.Or(c.BaseURL, base), Observe(c.Client)
	return &Model{config: c, is: is}
}

// OpenAI returns a model over OpenAI's Responses API, or over the Chat Completions API that many other servers
// implement. The base URL is as in OPENAI_BASE_URL. An invalid Config is reported by the first request.
func OpenAI(c Config) *Model {
	m := newModel(c, &chatDialect, "openai", "https://api.openai.com/v1")
	own := isAt(m.config.BaseURL, ".api.openai.com")
	m.maxCompletionTokens = own || isAt(m.config.BaseURL, ".azure.com")
	switch {
	case c.API == Responses, c.API == "" && own:
		m.is = &responsesDialect
	case c.API != "" && c.API != Chat:
		m.is = &dialect{ask: func(m *Model, _ llm.Request) (question, error) {
			return question{}, invalidRequest("unknown API "+strconv.Quote(string(m.config.API))+`, want "chat" or "responses"`, nil)
		}}
	}
	return m
}

// LMStudio returns a model of an LM Studio server, which implements Chat Completions. The base URL includes /v1. An
// invalid Config is reported by the first request.
//
// A request loads a model that is not loaded, and waits for it. If loading fails or is still in progress, the fault is
// transient: package retry sends the request again.
func LMStudio(c Config) *Model {
	c.API = Chat
	c.Provider, c.BaseURL = cmp.Or(c.Provider, "lmstudio"), cmp.Or(c.BaseURL, "http://127.0.0.1:1234/v1")
	return OpenAI(c)
}

// isAt reports whether a URL is of a domain: ".api.openai.com" includes "us.api.openai.com".
func isAt(base, domain string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.HasSuffix("."+u.Hostname(), domain)
}

// Name returns the names of the provider and the model.
func (m *Model) Name() llm.Name {
	return llm.Name{Provider: m.config.Provider, Model: m.config.Model}
}

// Stream sends the request once, as [llm.Model] requires.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return Stream(ctx, m.Name(), m.config.Faults, func(ctx context.Context, c *Call) error {
		q, err := m.is.ask(m, r)
		if err != nil {
			return err
		}
		resp, err := post(ctx, m.config.Client, q)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		a := answer{call: c, is: m.is, limit: r.MaxTokens, begun: map[int]bool{}, done: map[int]bool{}, taken: callIDs(r.Messages)}
		return a.read(resp.Body)
	})
}

// invalidRequest returns the fault of a request that cannot be sent.
func invalidRequest(message string, err error) error {
	return &fault.Error{Kind: fault.Invalid, Message: message, Rule: "provider/request", Err: err}
}
