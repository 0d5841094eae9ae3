package simulator

import (
	"net/http"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
	"github.com/ridethrough/ridethrough/internal/api/cohere"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// speakers has them all. The first that a request is meant for counts.
var speakers = sync.OnceValue(func() []speaker {
	all := []speaker{
		{has("/publishers/anthropic/"), vertex()},
		{has("/endpoints/openapi/"), vertexOpenAI()},
		{has("/locations/"), geminiAPI()},
		{has("/publishers/"), geminiAPI()},
		{below("/openai/"), azure()},
		{below("/v2/"), of("cohere", readCohere, cohere.API())},
		{below("/model/"), of("bedrock", readBedrock, bedrock.Converse(), bedrock.Invoke())}, // all models are Anthropic's
		{speaksAnthropic, anthropicMessages()},
		{has("/interactions"), of("interactions", readInteractions, gemini.Interactions())}, // which keeps nothing
		{speaksGemini, geminiAPI()},
		{below(lmStudioOldPath), lmStudioOld()},
		{below("/api/v1/"), of("lmstudio", readLMStudio, lmstudio.API())},
		{below("/api/"), of("ollama", readOllama, ollama.API())},
		{speaksLMStudioLikeOpenAI, lmStudioOld()},
		{has(""), openAI()},
	}
	for i := range all {
		all[i].dialect = all[i].ready()
	}
	return all
})

// of returns the dialect of a vendor's APIs.
func of(vendor string, read func(ask, *call) *problem, apis ...*api.API) dialect {
	return dialect{vendor: []string{vendor}, apis: apis, read: read}
}

// anthropicMessages is the Messages API.
func anthropicMessages() dialect {
	return of("anthropic", readAnthropic, anthropic.Messages())
}

// speaksAnthropic reports whether a request is meant for this API. Its clients
// have to send anthropic-version.
func speaksAnthropic(r *http.Request) bool {
	return r.Header.Get("anthropic-version") != "" ||
		r.URL.Path == "/v1/messages" || strings.HasPrefix(r.URL.Path, "/v1/messages/")
}

// vertex is the Messages API on Vertex AI. What the model's maker has not refused is Google's error.
func vertex() dialect {
	own, google := anthropicMessages().ready().forms, geminiAPI().ready().forms
	return dialect{
		vendor: []string{"anthropic", "vertex"}, apis: []*api.API{anthropic.Vertex()}, read: readVertex,
		fails: func(status int) api.Forms {
			switch status {
			case http.StatusBadRequest, http.StatusRequestEntityTooLarge, 529:
				return own
			}
			return google
		},
	}
}

// openAI is the API of OpenAI and of the many servers compatible with it.
func openAI() dialect {
	return of("openai", readOpenAI, openai.Chat(), openai.Completions(), openai.Responses())
}

// azure is OpenAI's API on Azure, with the deployment in the path or without.
func azure() dialect {
	d := openAI()
	d.vendor = append(d.vendor, "azure")
	return d
}

// vertexOpenAI is the API for OpenAI's clients on Vertex AI. Its errors are Google's.
func vertexOpenAI() dialect {
	d, google := openAI(), geminiAPI().ready().forms
	d.vendor = append(d.vendor, "vertex")
	d.fails = func(int) api.Forms { return google }
	return d
}

// geminiAPI is Google's API, in both of its versions and on Vertex AI.
func geminiAPI() dialect {
	return of("gemini", readGemini, gemini.API())
}

// speaksGemini reports whether a request is meant for this API, which has its verb
// after a colon in the path and its own header for the key.
func speaksGemini(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v1beta/") || r.Header.Get("x-goog-api-key") != "" ||
		strings.HasPrefix(r.URL.Path, "/v1/models/") && strings.Contains(r.URL.Path, ":")
}

// lmStudioOld is version 0 and its API for OpenAI's clients. Errors below 500 are OpenAI's.
func lmStudioOld() dialect {
	d, compatible := openAI(), openAI().ready().forms
	d.vendor = append(d.vendor, "lmstudio", "lmstudio-old")
	own := d.ready().forms
	d.fails = func(status int) api.Forms {
		if status < http.StatusInternalServerError {
			return compatible
		}
		return own
	}
	return d
}

// lmStudioOldPath is that of version 0.
const lmStudioOldPath = "/api/v0/"

// speaksLMStudioLikeOpenAI reports whether a request is meant for that. Only LM
// Studio's default port distinguishes it from OpenAI's.
func speaksLMStudioLikeOpenAI(r *http.Request) bool { return strings.HasSuffix(r.Host, ":1234") }
