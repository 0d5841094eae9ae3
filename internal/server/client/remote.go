// Package remote has conversations on a server: it is the client of what
// package server offers at /-/conversations. What is said there goes on there,
// whatever becomes of us; whoever loses the connection attaches again and
// misses nothing that is kept.
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
)

// Client speaks to one server. It may be used by many goroutines.
type Client struct {
	Base  string       // such as http://127.0.0.1:8484
	Token string       // that the server wants; "": none
	HTTP  *http.Client // nil: http.DefaultClient
}

// Settings are what a conversation is made with, as the server takes them.
type Settings struct {
	Model    string   `json:"model"`
	Fallback []string `json:"fallback,omitzero"`
	Patience int64    `json:"patienceMs,omitzero"`
	System   string   `json:"system,omitzero"`
	Policy   string   `json:"policy,omitzero"`
	Effort   string   `json:"effort,omitzero"`
	Title    string   `json:"title,omitzero"`
}

// Problem is a server's refusal.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"` // stable, such as "not-found"
	Detail string `json:"detail"`
}

// Error gives the server's words.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return fmt.Sprintf("the server answers %d", p.Status)
	}
	return p.Detail
}

// bound is the longest answer that is read, and the longest event, in bytes.
const bound = 64 << 20

// call sends JSON and reads the answer; a nil body says nothing, and into nil is
// for an answer that does not.
func (c Client) call(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, err := c.do(ctx, method, path, "application/json", text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, bound)).Decode(into)
}

// do sends a request below /-/conversations. A refusal is a *Problem.
func (c Client) do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+"/-/conversations"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("X-Ridethrough-Token", c.Token)
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
	p := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, bound)) // what came of it says enough
	if json.Unmarshal(text, p) != nil || p.Detail == "" {
		p = &Problem{Detail: strings.TrimSpace(string(text[:min(len(text), 200)]))}
	}
	p.Status = resp.StatusCode
	return nil, p.named()
}

// named gives a refusal that passes by itself as a fault: a server that ends, or
// what stands before one that is not there.
func (p *Problem) named() error {
	switch p.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if p.Code == "" || p.Code == "busy" {
			return &fault.Error{Kind: fault.Unavailable, Status: p.Status, Message: p.Error(), Err: p}
		}
	}
	return p
}

// reason leaves out of an error what the caller knows.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
