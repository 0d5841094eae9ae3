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

// bound is the size of the largest answer and of the largest event, in bytes.
const bound = 64 << 20

func (c Client) call(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	limit := time.Minute + time.Duration(len(text)>>20)*perMiB
	return c.ask(ctx, limit, method, conversations+path, jsonType, text, into)
}

// ask sends a body of a media type and decodes the answer within a time limit. A nil into ignores the answer.
func (c Client) ask(ctx context.Context, limit time.Duration, method, path, kind string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := c.do(ctx, method, path, jsonType, kind, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, bound)).Decode(into)
}

const perMiB = 10 * time.Second

const conversations = "/-/conversations"

const (
	jsonType  = "application/json"
	linesType = "application/x-ndjson"
)

// do sends a request, with a body of a media type unless it is nil. A refusal is a [*api.Problem].
func (c Client) do(ctx context.Context, method, path, accept, kind string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if len(body) > 0 {
		req.Header.Set("Content-Type", kind)
	}
	if c.Token != "" {
		req.Header.Set(access.Header, c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // it names the address again
			err = u.Err
		}
		return nil, fmt.Errorf("the server at %s cannot be reached: %w", c.Base, err)
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

// transient returns a temporary refusal as a fault: that of a server that shuts down, or of a proxy whose server is
// down.
func transient(p *api.Problem) error {
	switch p.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if p.Code == "" || p.Code == "busy" {
			return &fault.Error{Kind: fault.Unavailable, Status: p.Status, Message: p.Error(), Err: views.Refusal(p)}
		}
	}
	return views.Refusal(p)
}
