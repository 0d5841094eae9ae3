// Package lmstudio is [llm.Model] over a server of LM Studio, which speaks Chat
// Completions: package openai asks it. What is its own are the default address
// and its errors, which are sentences that package fault's tables know.
//
// A model that is not loaded is loaded by the question, which waits as long as
// that takes. Where loading fails or is still under way, that is a fault like
// any other: it is for package retry to ask again.
package lmstudio

import (
	"cmp"
	"net/http"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// Config says which model to ask, and where. Nothing is taken from the
// environment.
type Config struct {
	Model   string              // as the server lists it, such as "openai/gpt-oss-20b"
	Key     string              // the server's API token, where it wants one; "": none is sent
	BaseURL string              // base URL; "": http://127.0.0.1:1234/v1
	Client  *http.Client        // nil: provider.DefaultClient()
	Faults  classify.Classifier // names the faults; zero: the built-in rules
}

// New gives a model. What is wrong with the configuration comes to light when
// it is asked.
func New(c Config) *openai.Model {
	return openai.New(openai.Config{
		Model: c.Model, Key: c.Key, BaseURL: cmp.Or(c.BaseURL, "http://127.0.0.1:1234/v1"), API: openai.Chat,
		Client: c.Client, Faults: c.Faults, Provider: "lmstudio",
	})
}
