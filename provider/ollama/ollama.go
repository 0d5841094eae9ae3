// Package ollama is [llm.Model] for an Ollama server.
package ollama

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// Config identifies the model, its address and the credentials. Nothing is read from the environment.
type Config struct {
	Model   string              // as on the server, such as "qwen3:8b"
	Key     string              // for ollama.com; "": none
	BaseURL string              // the server's address in any form of OLLAMA_HOST; "": http://127.0.0.1:11434
	Client  *http.Client        // nil: provider.DefaultClient()
	Faults  classify.Classifier // classifies failures; zero: the built-in rules

	// Context is the size of the context window, in tokens, with which the model is loaded. A conversation
	// that does not fit is a fault of kind TooLong. 0: the server's default, which may be as little as 4096.
	Context int

	// Provider names the server at BaseURL in model names and faults. Reasoning is sent back only to the
	// provider that produced it. "": "ollama".
	Provider string
}

// Model is a model of an Ollama server. Its methods may run concurrently.
type Model struct {
	config Config
	client *http.Client
}

// New returns a model. An invalid Config is reported by the first request.
func New(c Config) *Model { return &Model{config: c, client: provider.Observe(c.Client)} }

// Name returns the names of the provider and the model.
func (m *Model) Name() llm.Name {
	return llm.Name{Provider: cmp.Or(m.config.Provider, "ollama"), Model: m.config.Model}
}

// Stream sends the request once, as [llm.Model] requires.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return provider.Stream(ctx, m.Name(), m.config.Faults, func(ctx context.Context, c *provider.Call) error {
		resp, err := m.send(ctx, r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return read(resp.Body, c)
	})
}

// invalidRequest returns the fault of a request that cannot be sent.
func invalidRequest(message string, err error) error {
	return &fault.Error{Kind: fault.Invalid, Message: message, Rule: "ollama/request", Err: err}
}
