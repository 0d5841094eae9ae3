// Package anthropic is [llm.Model] for Claude and others behind the Messages API, over Anthropic's SDK.
//
// The SDK's retries are off; it reads nothing from the environment and reports to no tracer. Package
// provider detects the failures that the SDK does not report.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// name is the provider's, in llm.Name, without another.
const name = "anthropic"

// Config identifies the model, its address and the credentials.
type Config struct {
	Model   string              // as in the API, such as "claude-opus-4-5"
	Key     string              // sent as X-Api-Key; "": none
	Token   string              // sent as Authorization: Bearer, as ANTHROPIC_AUTH_TOKEN is; "": none
	BaseURL string              // as in ANTHROPIC_BASE_URL, without /v1; "": Anthropic's own
	Client  *http.Client        // sends the requests; nil: provider.DefaultClient()
	Faults  classify.Classifier // classifies failures; zero: the built-in rules

	// Provider names the server at BaseURL in model names and faults. Reasoning is sent back only to the
	// provider that produced it. "": "anthropic".
	Provider string
}

// Model is a model behind the Messages API. Its methods may run concurrently.
type Model struct {
	config   Config
	messages sdk.MessageService
}

// New returns a model. An invalid Config is reported by the first request. The SDK's services are used
// without its client, which would read the environment and link all of the vendor's services.
func New(c Config) *Model {
	options := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0), option.WithHTTPClient(provider.Observe(c.Client)),
	}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	if c.Token != "" {
		options = append(options, option.WithAuthToken(c.Token))
	}
	return &Model{c, sdk.NewMessageService(options...)}
}

// Name returns the names of the provider and the model.
func (m *Model) Name() llm.Name {
	return llm.Name{Provider: cmp.Or(m.config.Provider, name), Model: m.config.Model}
}

// Stream sends the request once, as [llm.Model] requires.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return provider.Stream(ctx, m.Name(), m.config.Faults, func(ctx context.Context, c *provider.Call) error {
		if err := provider.CheckURL(m.config.BaseURL); err != nil {
			return err
		}
		if r.NoStream {
			return m.unary(ctx, c, m.params(r))
		}
		return m.stream(ctx, c, m.params(r))
	})
}

// unaryTimeout replaces the SDK's limit on an unstreamed answer, which would reject requests for long
// answers. The client's limit on silence applies instead.
const unaryTimeout = 24 * time.Hour

// unary asks for the answer in one response.
func (m *Model) unary(ctx context.Context, c *provider.Call, params sdk.MessageNewParams) error {
	message, err := m.messages.New(ctx, params, option.WithRequestTimeout(unaryTimeout), option.WithHeaderDel("X-Stainless-Timeout"))
	if err != nil {
		return err
	}
	if message.StopReason == "" && len(message.Content) == 0 {
		return nil // an error, or another body that is not a message
	}
	for i := range message.Content {
		if !c.Yield(part(&message.Content[i])) {
			return nil
		}
	}
	var spent tokenCounts
	spent.start(&message.Usage)
	c.Usage(spent.usage())
	c.End(reason(message.StopReason), message.Model)
	return nil
}

// stream asks for a streamed answer, and reads past its end so that the connection can be reused.
func (m *Model) stream(ctx context.Context, c *provider.Call, params sdk.MessageNewParams) error {
	events := m.messages.NewStreaming(ctx, params)
	defer events.Close()
	a := streamReader{call: c}
	for events.Next() {
		event := events.Current() // large: avoid another copy
		if !a.event(&event) {
			return nil
		}
	}
	err := events.Err()
	if a.stopped {
		return nil
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.StatusCode == http.StatusOK {
		return c.ErrorEvent([]byte(e.RawJSON()), err)
	}
	return err
}
