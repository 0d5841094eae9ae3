// Package gemini is [llm.Model] for Google's Gemini over its SDK, with a key of the Gemini API.
//
// The SDK's retries are off and nothing is read from the environment. Package provider detects the failures
// that the SDK does not report.
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const (
	name   = "gemini" // the provider's, in llm.Name, without another
	google = "https://generativelanguage.googleapis.com/"
)

// Config identifies the model, its address and the credentials.
type Config struct {
	Model   string              // as in the API, such as "gemini-3-pro"
	Key     string              // sent as X-Goog-Api-Key; "": none
	BaseURL string              // as in GOOGLE_GEMINI_BASE_URL, without /v1beta; "": Google's own
	Client  *http.Client        // sends the requests; nil: provider.DefaultClient()
	Faults  classify.Classifier // classifies failures; zero: the built-in rules

	// Provider names the server at BaseURL in model names and faults. Reasoning is sent back only to the
	// provider that produced it. "": "gemini".
	Provider string
}

// Model is a model behind the Gemini API. Its methods may run concurrently.
type Model struct {
	config Config
	client *genai.Client // nil: see err
	err    error
}

// New returns a model. An invalid Config is reported by the first request.
func New(c Config) *Model {
	client := provider.Observe(c.Client)
	client.Transport = quietTransport{client.Transport, c.Key == ""}
	m := &Model{config: c}
	m.client, m.err = genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend:     genai.BackendGeminiAPI,
		APIKey:      cmp.Or(c.Key, "none"), // without one the SDK reads the environment, or refuses to send
		HTTPClient:  client,
		HTTPOptions: genai.HTTPOptions{BaseURL: cmp.Or(c.BaseURL, google)},
	})
	return m
}

// Name returns the names of the provider and the model.
func (m *Model) Name() llm.Name {
	return llm.Name{Provider: cmp.Or(m.config.Provider, name), Model: m.config.Model}
}

// Stream sends the request once, as [llm.Model] requires.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return provider.Stream(ctx, m.Name(), m.config.Faults, func(ctx context.Context, c *provider.Call) error {
		if err := cmp.Or(provider.CheckURL(m.config.BaseURL), m.err); err != nil {
			return err
		}
		return m.ask(ctx, c, r)
	})
}

// errPanic means that the SDK panicked over an answer in an unexpected form.
var errPanic = errors.New("the SDK panicked")

// ask reads the answer; an unstreamed one is one chunk. A panic of the SDK becomes an error, a panic of the
// caller's loop does not.
func (m *Model) ask(ctx context.Context, c *provider.Call, r llm.Request) (err error) {
	inside := true // the SDK
	defer func() {
		if !inside {
			return
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	a := responseReader{call: c, unary: r.NoStream}
	for chunk, err := range m.chunks(ctx, r) {
		inside = false
		if err != nil {
			return sdkError(c, err)
		}
		if more, err := a.chunk(chunk); !more || err != nil {
			return err
		}
		inside = true
	}
	inside = false
	return nil
}

// chunks sends the request, streamed or not.
func (m *Model) chunks(ctx context.Context, r llm.Request) iter.Seq2[*genai.GenerateContentResponse, error] {
	if !r.NoStream {
		return m.client.Models.GenerateContentStream(ctx, m.config.Model, contents(m.Name(), r.Messages), m.settings(r))
	}
	return func(yield func(*genai.GenerateContentResponse, error) bool) {
		yield(m.client.Models.GenerateContent(ctx, m.config.Model, contents(m.Name(), r.Messages), m.settings(r)))
	}
}

// sdkError returns the SDK's error; one that came as an event is classified as an event, with its details.
func sdkError(c *provider.Call, err error) error {
	e, ok := errors.AsType[genai.APIError](err)
	if !ok {
		return err
	}
	event, bad := json.Marshal(map[string]genai.APIError{"error": e})
	if bad != nil {
		return err
	}
	return c.ErrorEvent(event, err)
}
