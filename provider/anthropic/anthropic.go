// Package anthropic is [llm.Model] for Claude and others behind the Messages API.
package anthropic

import (
	"cmp"
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

const (
	name    = "anthropic" // the provider's, in llm.Name, without another
	vendor  = "https://api.anthropic.com/"
	version = "2023-06-01" // of the API
)

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
	config Config
	client *http.Client
}

// New returns a model. An invalid Config is reported by the first request.
func New(c Config) *Model { return &Model{config: c, client: provider.Observe(c.Client)} }

// Name returns the names of the provider and the model.
func (m *Model) Name() llm.Name {
	return llm.Name{Provider: cmp.Or(m.config.Provider, name), Model: m.config.Model}
}

// Stream sends the request once, as [llm.Model] requires.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return provider.Stream(ctx, m.Name(), m.config.Faults, func(ctx context.Context, c *provider.Call) error {
		resp, err := m.send(ctx, r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if r.NoStream {
			return readWhole(resp.Body, c)
		}
		return readStream(resp.Body, c)
	})
}

// send sends a request.
func (m *Model) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	if err := provider.CheckURL(m.config.BaseURL); err != nil {
		return nil, err
	}
	u, err := url.Parse(cmp.Or(m.config.BaseURL, vendor))
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {version}}
	if m.config.Key != "" {
		header.Set("X-Api-Key", m.config.Key)
	}
	if m.config.Token != "" {
		header.Set("Authorization", "Bearer "+m.config.Token)
	}
	return client.Post(ctx, m.client, u.JoinPath("v1", "messages").String(), header, m.request(r))
}

// readWhole reads an answer in one body.
func readWhole(body io.Reader, c *provider.Call) error {
	var a answer
	if err := client.Decode(body, &a); err != nil {
		return err
	}
	if a.StopReason == "" && len(a.Content) == 0 {
		return nil // an error, or another body that is not a message
	}
	for i := range a.Content {
		if !c.Yield(part(&a.Content[i])) {
			return nil
		}
	}
	c.Usage(a.Usage.usage())
	c.End(reason(a.StopReason), a.Model)
	return nil
}

// readStream reads a streamed answer, and past its end so that the connection can be reused.
func readStream(body io.Reader, c *provider.Call) error {
	a := streamReader{call: c}
	for frame, err := range client.Frames(body, dialect.Events) {
		switch {
		case a.stopped && err != nil:
			return nil
		case a.stopped:
			continue
		case err != nil:
			return err
		case dialect.Anthropic().FrameKind(dialect.Events, frame) == dialect.Failure:
			return c.ErrorEvent(frame, nil)
		}
		if more, err := a.frame(frame); !more || err != nil {
			return err
		}
	}
	return nil
}
