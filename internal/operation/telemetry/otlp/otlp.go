// Package otlp exports spans in the OpenTelemetry protocol over HTTP (OTLP, http/protobuf), as the environment
// says. OpenTelemetry's own exporter does the same and brings gRPC with it.
package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Exporter sends spans to a collector. Its methods may be called concurrently.
type Exporter struct {
	to      string
	header  http.Header
	timeout time.Duration // of an export with its retries
	gzip    bool
	client  http.Client
}

// New returns the exporter that the OTEL_EXPORTER_OTLP_ variables of env describe. Its agent is the User-Agent. See
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
func New(env func(string) string, agent string) (*Exporter, error) {
	set := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	if p := set("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; use http/protobuf", p)
	}
	e := &Exporter{timeout: 10 * time.Second}
	var errs [5]error
	e.to, errs[0] = endpoint(env)
	e.header, errs[1] = headers(set("HEADERS"))
	e.header.Set("Content-Type", "application/x-protobuf")
	e.header.Set("User-Agent", agent)
	if v := set("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms <= 0 {
			errs[2] = fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q is not a number of milliseconds", v)
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	switch c := set("COMPRESSION"); c {
	case "gzip":
		e.gzip = true
		e.header.Set("Content-Encoding", "gzip")
	case "", "none":
	default:
		errs[3] = fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION: %q is not supported; use gzip or none", c)
	}
	e.client.Transport, errs[4] = network(set)
	// What a redirect leads to would get the headers, which may have a key.
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return e, errors.Join(errs[:]...)
}

// endpoint returns the URL that spans are sent to.
func endpoint(env func(string) string) (string, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	to := env(name)
	if to == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		to = strings.TrimSuffix(cmp.Or(env(name), "http://localhost:4318"), "/") + "/v1/traces"
	}
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s: not an http:// or https:// URL", name) // its text may have a password
	}
	return to, nil
}

// headers reads a list such as "authorization=Bearer%20k,x-team=a".
func headers(list string) (http.Header, error) {
	h := make(http.Header)
	pairs, err := tracing.Pairs(list)
	for _, p := range pairs {
		h.Add(string(p.Key), p.Value.(string))
	}
	if err != nil {
		err = fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	return h, err
}

// network returns the transport with the certificates that the environment names.
func network(set func(string) string) (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if path := set("CERTIFICATE"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return t, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return t, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: no certificate in %s", path)
		}
	}
	if path := set("CLIENT_CERTIFICATE"); path != "" {
		pair, err := tls.LoadX509KeyPair(path, set("CLIENT_KEY"))
		if err != nil {
			return t, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// Export sends spans. A collector that is busy is asked again until the timeout.
func (e *Exporter) Export(ctx context.Context, b tracing.Batch) error {
	body, err := e.packed(export(b))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	_, err = retry.Do(ctx, retry.Retrier{Policy: policy.Simple()}, func(ctx context.Context, _ int) (struct{}, error) {
		return struct{}{}, e.send(ctx, body)
	})
	return err
}

// packed returns the body as it is sent.
func (e *Exporter) packed(body []byte) ([]byte, error) {
	if !e.gzip {
		return body, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

func (e *Exporter) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.to, bytes.NewReader(body))
	if err != nil {
		return retry.Permanent(err)
	}
	r.Header = e.header.Clone()
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case answer.StatusCode/100 != 2:
		return classify.FromResponse(answer.StatusCode, answer.Header, got, time.Now())
	case err != nil:
		return err
	}
	return refused(got)
}

// refused returns why the collector took only a part of the spans; nil: it took them all. They are not sent again.
func refused(answer []byte) error {
	why := field(field(answer, 1), 2)
	if len(why) == 0 {
		return nil
	}
	return retry.Permanent(fmt.Errorf("the collector did not take all spans: %s", why))
}

// Shutdown ends idle connections.
func (e *Exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
