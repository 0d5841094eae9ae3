package gemini

import "net/url"

// RequestURL returns where a request for an answer of a model is sent, below a base URL without a version. The model has
// its whole name, such as models/M.
func RequestURL(base *url.URL, model string, stream bool) *url.URL {
	if !stream {
		return base.JoinPath("v1beta", model+":"+generate)
	}
	u := base.JoinPath("v1beta", model+":"+streamGenerate)
	query := u.Query()
	query.Set("alt", "sse")
	u.RawQuery = query.Encode()
	return u
}
