// Package ollama is [llm.Model] over the types of Ollama's SDK.
//
// The SDK's client is left out. It says nothing of a connection that breaks,
// signs requests with a key file where the environment tells it to, and takes
// eight megabytes for each answer; what goes over the wire is one POST and lines
// of JSON.
package ollama

import (
	"context"
	"iter"
	"net/http"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// Config says which model to ask, and where. Nothing is taken from the
// environment.
type Config struct {
	Model   string              // as the server calls it, such as "qwen3:8b"
	Key     string              // for ollama.com; "": none is sent
	BaseURL string              // the server's address in any form that OLLAMA_HOST may have; "": http://127.0.0.1:11434
	Client  *http.Client        // nil: provider.DefaultClient()
	Faults  classify.Classifier // names the faults; zero: the built-in rules

	// Context is the size of the context window, in tokens, that the model is
	// loaded with. A conversation that does not fit is a fault of kind TooLong. 0:
	// as the server is set, which may be as little as 4096.
	Context int
}

// Model is a model of an Ollama server.
type Model struct {
	config Config
	client *http.Client
}

// New gives a model. What is wrong with the configuration comes to light when
// it is asked.
func New(c Config) *Model { return &Model{config: c, client: provider.Observe(c.Client)} }

// Name gives the model's name at "ollama".
func (m *Model) Name() llm.Name { return llm.Name{Provider: "ollama", Model: m.config.Model} }

// Stream asks once and yields the answer as it comes.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return provider.Stream(ctx, m.Name(), m.config.Faults, func(ctx context.Context, c *provider.Call) error {
		question, err := m.chatRequest(r)
		if err != nil {
			return err
		}
		resp, err := m.send(ctx, question)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= http.StatusBadRequest {
			return statusError(resp)
		}
		return read(resp, c)
	})
}

// invalidRequest is the fault of a question that cannot be asked.
func invalidRequest(message string, err error) error {
	return &fault.Error{Kind: fault.Invalid, Message: message, Rule: "ollama/request", Err: err}
}
