package provider

import (
	"context"
	"net/http"
)

// Frames and ReadAll are what reads responses.
var (
	Frames  = frames
	ReadAll = readAll
)

// Post posts a body to a base URL.
func Post(ctx context.Context, c *http.Client, base string, header http.Header, body any) (*http.Response, error) {
	return post(ctx, c, question{base: base, header: header, body: body})
}
