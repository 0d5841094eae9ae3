// Package gemini is [llm.Model] for Google's Gemini, with a key of the Gemini API.
package gemini

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
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
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
		return m.ask(ctx, c, r)
	})
}

// ask sends the request and reads the answer; an unstreamed one is one chunk.
func (m *Model) ask(ctx context.Context, c *provider.Call, r llm.Request) error {
	to, err := m.url(r.NoStream)
	if err != nil {
		return err
	}
	header := http.Header{}
	if m.config.Key != "" {
		header.Set("X-Goog-Api-Key", m.config.Key)
	}
	resp, err := client.Post(ctx, m.client, to, header, m.request(r))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	a := responseReader{call: c, unary: r.NoStream}
	if r.NoStream {
		var whole chunk
		if err := client.Decode(resp.Body, &whole); err != nil {
			return err
		}
		_, err := a.chunk(&whole)
		return err
	}
	for frame, err := range client.Frames(resp.Body, dialect.Events) {
		if err != nil {
			return err
		}
		if more, err := a.frame(frame); !more || err != nil {
			return err
		}
	}
	return nil
}

// url returns where a request is sent. The model may be a tuned one, with its whole name.
func (m *Model) url(unary bool) (string, error) {
	if err := provider.CheckURL(m.config.BaseURL); err != nil {
		return "", err
	}
	model := m.config.Model
	if model == "" || strings.ContainsAny(model, "?&#%") || strings.Contains(model, "..") {
		return "", &fault.Error{Kind: fault.Invalid, Rule: "gemini/model", Message: strconv.Quote(model) + " is not the name of a model"}
	}
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	u, err := url.Parse(cmp.Or(m.config.BaseURL, google))
	if err != nil {
		return "", err
	}
	if unary {
		return u.JoinPath("v1beta", model+":generateContent").String(), nil
	}
	u = u.JoinPath("v1beta", model+":streamGenerateContent")
	query := u.Query()
	query.Set("alt", "sse")
	u.RawQuery = query.Encode()
	return u.String(), nil
}
