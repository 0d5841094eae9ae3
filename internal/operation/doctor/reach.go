package doctor

import (
	"context"
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

// Address is where somebody is to be reached.
type Address struct {
	Name  string
	URL   *url.URL
	Known bool // it is the usual one, which nobody has asked for
	Used  bool // there is a key for it
}

// patience is how long an answer may take.
const patience = 5 * time.Second

// Reach asks at an address, without credentials. Any answer in HTTP will do:
// who has to sign in elsewhere is there.
func Reach(ctx context.Context, a Address) (Finding, []Told) {
	check, where := "upstream "+a.Name, a.URL.Redacted()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no answer within "+patience.String()))
	defer cancel()
	began := time.Now()
	answer, err := get(ctx, a.URL.JoinPath("/").String())
	switch {
	case err != nil && a.Known && isLoopback(a.URL) && errors.Is(err, syscall.ECONNREFUSED):
		return find(check, OK, "nothing runs at %s, and nobody has asked for it", where), nil
	case err != nil && a.Known && !a.Used:
		return find(check, Warning, "%s cannot be reached, and no key for it is set: %s", where, reason(ctx, err)), nil
	case err != nil:
		return find(check, Problem, "%s cannot be reached: %s", where, reason(ctx, err)), nil
	case answer.StatusCode >= 500:
		return find(check, Warning, "%s answers with HTTP %d", where, answer.StatusCode), nil
	}
	now := time.Now()
	var told []Told
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		told = append(told, Told{a.URL.Hostname(), date.Sub(now)})
	}
	return find(check, OK, "%s answers after %v", where, now.Sub(began).Round(time.Millisecond)), told
}

// get asks once, on a connection of its own, and follows nobody elsewhere.
func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10)
	return answer, answer.Body.Close()
}

// reason says in words what has gone wrong on the way.
func reason(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the rest is the address, as it is
	}
	return fault.Scrub(err.Error())
}

func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(strings.Trim(u.Hostname(), "[]"))
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Ready asks a server of ours whether it takes requests.
func Ready(ctx context.Context, base string) Finding {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no answer within "+patience.String()))
	defer cancel()
	switch answer, err := get(ctx, base+"/-/readyz"); {
	case err != nil:
		return find("server", Warning, "no server answers at %s: %s", base, reason(ctx, err))
	case answer.StatusCode != http.StatusOK:
		return find("server", Warning, "the server at %s takes no requests now (HTTP %d)", base, answer.StatusCode)
	}
	return find("server", OK, "the server at %s takes requests", base)
}
