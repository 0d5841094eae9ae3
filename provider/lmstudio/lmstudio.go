// Package lmstudio is [llm.Model] for an LM Studio server, which implements Chat Completions, over package
// openai. It adds the default URL; its error texts are in package classify's tables.
//
// A request loads a model that is not loaded, and waits for it. If loading fails or is still in progress,
// the fault is transient: package retry sends the request again.
package lmstudio

import (
	"cmp"
	"net/http"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// Config identifies the model, its address and the credentials. Nothing is read from the environment.
type Config struct {
	Model   string              // as the server lists it, such as "openai/gpt-oss-20b"
	Key     string              // the server's API token, if it requires one; "": none
	BaseURL string              // "": http://127.0.0.1:1234/v1
	Client  *http.Client        // nil: provider.DefaultClient()
	Faults  classify.Classifier // classifies failures; zero: the built-in rules

	// Provider names the server at BaseURL in model names and faults. "": "lmstudio".
	Provider string
}

// New returns a model. An invalid Config is reported by the first request.
func New(c Config) *openai.Model {
	return openai.New(openai.Config{
		Model: c.Model, Key: c.Key, BaseURL: cmp.Or(c.BaseURL, "http://127.0.0.1:1234/v1"), API: openai.Chat,
		Client: c.Client, Faults: c.Faults, Provider: cmp.Or(c.Provider, "lmstudio"),
	})
}
