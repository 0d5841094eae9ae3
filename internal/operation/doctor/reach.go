package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Address is the address of an upstream.
type Address struct {
	Name     string
	Variable string // of the environment, which has it; "": none
	URL      *url.URL
	Default  bool // the built-in address, not configured
	HasKey   bool // an API key is set

	Transport *http.Transport // has the upstream's proxy and authorities; nil: the system's
}

// Timeout bounds the time of an answer.
const Timeout = 5 * time.Second

// Reach sends a request without credentials. Any HTTP answer below 500, such as
// 401, means that the upstream is reachable.
func Reach(ctx context.Context, a Address) (Finding, []Skew) {
	check, where := "upstream "+a.Name, a.URL.Redacted()
	if a.Variable != "" {
		check += " (" + a.Variable + ")"
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	began := time.Now()
	answer, err := get(ctx, a.URL.JoinPath("/").String(), a.Transport)
	switch {
	case err != nil && a.Default && isLoopback(a.URL) && errors.Is(err, syscall.ECONNREFUSED):
		return Find(check, OK, "not running at its default address %s, and not configured", where), nil
	case err != nil && a.Default && !a.HasKey:
		return Find(check, Warning, "%s cannot be reached, and no API key is set: %s", where, reason(ctx, err)), nil
	case err != nil:
		return Find(check, Problem, "%s cannot be reached: %s", where, reason(ctx, err)), nil
	case answer.StatusCode >= 500:
		return Find(check, Warning, "%s answers with HTTP %d", where, answer.StatusCode), nil
	}
	now := time.Now()
	var skews []Skew
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		skews = append(skews, Skew{a.URL.Hostname(), date.Sub(now)})
	}
	return Find(check, OK, "%s answers after %v", where, now.Sub(began).Round(time.Millisecond)), skews
}

func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, Timeout, errors.New("no answer within "+Timeout.String()))
}

// get sends one request on a new connection of a transport; nil: the usual one. It does not follow redirects. The
// body holds 4 KiB at most.
func get(ctx context.Context, url string, via *http.Transport) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	once := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if via != nil {
		once = via.Clone()
	}
	once.DisableKeepAlives = true
	client := &http.Client{
		Transport:     once,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // what the status says does not depend on it
	err = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}

// reason returns the text of a network error.
func reason(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL
	}
	return fault.Scrub(err.Error())
}

func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(strings.Trim(u.Hostname(), "[]"))
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// storeOf returns what readyz says about the store.
func storeOf(answer *http.Response) string {
	var ready struct {
		Store string `json:"store"`
	}
	_ = json.NewDecoder(answer.Body).Decode(&ready) // an older server says nothing
	return ready.Store
}

// Ready checks whether a ridethrough server accepts requests.
func Ready(ctx context.Context, base string) Finding {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	// The address is this machine's and the certificate is for another name. Nothing secret is sent.
	switch answer, err := get(ctx, base+"/-/readyz", &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}); {
	case err != nil:
		return Find("server", Warning, "no server answers at %s: %s", base, reason(ctx, err))
	case answer.StatusCode != http.StatusOK:
		return Find("server", Warning, "the server at %s accepts no requests now (HTTP %d)", base, answer.StatusCode)
	case storeOf(answer) == "unavailable":
		return Find("server", Problem, "the server at %s accepts requests, but its store of conversations is not open; its log and its page say why", base)
	}
	return Find("server", OK, "the server at %s accepts requests", base)
}
