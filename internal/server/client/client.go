// Package client is a client of the HTTP API of conversations. The server runs the turns: they continue
// without the client. A client that loses the connection reconnects and misses no event that is kept.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/views"
)

// Client talks to one server. Its methods may be called concurrently.
type Client struct {
	Base  string       // such as http://127.0.0.1:8484
	Token string       // of the server; "": none
	HTTP  *http.Client // nil: http.DefaultClient
}

// bound is the largest answer and the largest event, in bytes.
const bound = 64 << 20

// call sends JSON and decodes the answer. A nil body is not sent, and a nil into ignores the answer.
func (c Client) call(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(len(text)>>20)*perMiB)
	defer cancel()
	resp, err := c.do(ctx, method, conversations+path, jsonType, text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, bound)).Decode(into)
}

// perMiB is how much longer a call may take for each MiB that it sends.
const perMiB = 10 * time.Second

// conversations is the address of all conversations.
const conversations = "/-/conversations"

// The media types of bodies and answers.
const (
	jsonType  = "application/json"
	linesType = "application/x-ndjson"
)

// do sends a request with JSON, or without a body. A refusal is a [*api.Problem].
func (c Client) do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	header := http.Header{"Accept": {accept}}
	if len(body) > 0 {
		header.Set("Content-Type", jsonType)
	}
	return c.send(ctx, method, path, header, body)
}

// send sends a request. A refusal is a [*api.Problem].
func (c Client) send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	if c.Token != "" {
		req.Header.Set(access.Header, c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server at %s cannot be reached: %w", c.Base, reason(err))
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	p := &api.Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, bound)) // a part is enough
	if json.Unmarshal(text, p) != nil || p.Detail == "" {
		p = &api.Problem{Detail: strings.TrimSpace(string(text[:min(len(text), 200)]))}
	}
	p.Status = resp.StatusCode
	return nil, transient(p)
}

// transient returns a refusal that passes by itself as a fault: that of a server that shuts down, or of a
// proxy before one that is down.
func transient(p *api.Problem) error {
	switch p.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if p.Code == "" || p.Code == "busy" {
			return &fault.Error{Kind: fault.Unavailable, Status: p.Status, Message: p.Error(), Err: views.Refusal(p)}
		}
	}
	return views.Refusal(p)
}

// reason returns an error without the address, which the caller knows.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
