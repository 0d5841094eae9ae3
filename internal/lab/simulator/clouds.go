package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The source of what follows: cloud.google.com, "Claude on Vertex AI" and "API errors"; learn.microsoft.com,
// "Azure OpenAI REST API reference" and "Content filtering".

// publisher begins the part of a path of Vertex AI that names a model.
const publisher = "/publishers/anthropic/models/"

// speaksVertex reports whether a request is meant for Vertex AI.
func speaksVertex(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/locations/") || strings.Contains(r.URL.Path, "/publishers/")
}

// vertex is Vertex AI: the APIs of Google, Anthropic and OpenAI below the path of a project.
func vertex() dialect {
	google, maker, compatible := gemini(), anthropic(), openai()
	return dialect{
		overload: google.overload,
		path:     vertexPath,
		endpoints: append(append([]endpoint{
			{method: "POST", path: publisher + "count-tokens:rawPredict", read: readAnthropic, whole: anthropicCount},
			{method: "POST", path: publisher + "*:rawPredict", generates: true, read: readVertex, whole: anthropicWhole},
			{method: "POST", path: publisher + "*:streamRawPredict", generates: true, read: readVertex, whole: anthropicWhole, stream: anthropicStream},
		}, google.endpoints...), compatible.endpoints...),
		failure: vertexFailure,
		denial:  maker.denial,
	}
}

// vertexPath returns the part of a path behind the project, in the form of the API that it belongs to.
func vertexPath(path string) string {
	for _, row := range []struct{ from, to string }{
		{publisher, publisher}, {"/publishers/google/models/", "/v1/models/"}, {"/endpoints/openapi/", "/v1/"}, {"/endpoints/", "/v1/models/"},
	} {
		if _, rest, ok := strings.Cut(path, row.from); ok {
			return row.to + rest
		}
	}
	return path
}

// readVertex reads a request whose model is in the path.
func readVertex(r ask, c *call) *problem {
	var body struct {
		Version string `json:"anthropic_version"`
	}
	if json.Unmarshal(r.body, &body); body.Version == "" {
		return bad("anthropic_version: Field required")
	}
	return named(readAnthropic)(r, c)
}

// named has a request read as if the model in its path were in its body.
func named(read func(ask, *call) *problem) func(ask, *call) *problem {
	return func(r ask, c *call) *problem {
		var body map[string]json.RawMessage
		if json.Unmarshal(r.body, &body) == nil && body != nil && r.model != "" {
			body["model"] = json.RawMessage(quote(r.model))
			r.body, _ = json.Marshal(body)
		}
		return read(r, c)
	}
}

// vertexFailure returns the model's maker's error for what that has refused, and else Google's.
func vertexFailure(p *problem) string {
	switch p.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, 529:
		return anthropicFailure(p)
	}
	return geminiFailure(p)
}

// speaksAzure reports whether a request is meant for Azure.
func speaksAzure(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/openai/") }

// azure is OpenAI's API on Azure, with the deployment in the path or without.
func azure() dialect {
	d := openai()
	d.idHeader, d.failure = "apim-request-id", azureFailure
	d.path = func(path string) string {
		if rest, ok := strings.CutPrefix(path, "/openai/v1/"); ok {
			return "/v1/" + rest
		}
		return path
	}
	for _, e := range openai().endpoints {
		if e.method == http.MethodPost {
			e.path, e.read = "/openai/deployments/*"+strings.TrimPrefix(e.path, "/v1"), named(e.read)
			d.endpoints = append(d.endpoints, e)
		}
	}
	return d
}

// azureFailure returns an error whose code is the status, except for what OpenAI names.
func azureFailure(p *problem) string {
	switch {
	case p.code == "invalid_prompt":
		return `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. ` +
			`Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,` +
			`"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"medium"}}}}}`
	case p.code == "" && p.status == http.StatusTooManyRequests:
		return fmt.Sprintf(`{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API have `+
			`exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after %d seconds."}}`, int(p.wait.Seconds()))
	}
	return openaiFailure(p)
}
