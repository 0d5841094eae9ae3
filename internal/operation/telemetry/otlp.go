package telemetry

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
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// batcherFor returns what exports spans in batches as the environment says, or nil. See
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
func batcherFor(ctx context.Context, c Config) (sdktrace.SpanProcessor, error) {
	which := c.Env("OTEL_TRACES_EXPORTER")
	to := c.Env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + c.Env("OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case strings.EqualFold(c.Env("OTEL_SDK_DISABLED"), "true"), which == "none", which == "" && to == "":
		return nil, nil
	case which != "" && which != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: no exporter %q; use otlp", which)
	}
	client, err := newCollector(c.Env, "ridethrough/"+c.Version)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewBatchSpanProcessor(&reporting{SpanExporter: exporter, log: c.Log}, batches(c)...), nil
}

// batches returns the settings of batches. The SDK reads these variables too, but panics on a negative queue size.
func batches(c Config) []sdktrace.BatchSpanProcessorOption {
	number := func(name string, otherwise int) int {
		text := c.Env(name)
		n, err := strconv.Atoi(text)
		if err == nil && n > 0 {
			return n
		}
		if text != "" && c.Log != nil {
			c.Log.Warn("a variable for spans is not a number above 0, its default applies", "variable", name, "value", text)
		}
		return otherwise
	}
	milliseconds := func(name string, otherwise int) time.Duration {
		return time.Duration(number(name, otherwise)) * time.Millisecond
	}
	queue := number("OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize)
	return []sdktrace.BatchSpanProcessorOption{
		sdktrace.WithMaxQueueSize(queue),
		sdktrace.WithMaxExportBatchSize(min(queue, number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize))),
		sdktrace.WithBatchTimeout(milliseconds("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay)),
		sdktrace.WithExportTimeout(milliseconds("OTEL_BSP_EXPORT_TIMEOUT", sdktrace.DefaultExportTimeout)),
	}
}

// reporting logs the failures of an exporter, at most one a minute: an unreachable collector fails each batch.
type reporting struct {
	sdktrace.SpanExporter
	log  *slog.Logger // nil: none
	last time.Time
}

// ExportSpans is never called concurrently.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if now := time.Now(); err != nil && r.log != nil && (r.last.IsZero() || now.Sub(r.last) >= time.Minute) {
		r.last = now
		r.log.Warn("spans not exported", "error", fault.Scrub(err.Error()))
	}
	return nil
}

// collector sends spans in the OpenTelemetry protocol over HTTP (OTLP, http/protobuf). OpenTelemetry's own client
// does the same and brings gRPC with it. Its methods may be called concurrently.
type collector struct {
	to      string
	header  http.Header
	timeout time.Duration // of an export with its retries
	gzip    bool
	client  http.Client
}

// newCollector returns the collector that the OTEL_EXPORTER_OTLP_ variables of env describe. Its agent is the
// User-Agent. See https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
func newCollector(env func(string) string, agent string) (*collector, error) {
	set := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	if p := set("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; use http/protobuf", p)
	}
	c := &collector{timeout: 10 * time.Second}
	var errs [5]error
	c.to, errs[0] = endpoint(env)
	c.header, errs[1] = headers(set("HEADERS"))
	c.header.Set("Content-Type", "application/x-protobuf")
	c.header.Set("User-Agent", agent)
	if v := set("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms <= 0 {
			errs[2] = fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q is not a number of milliseconds", v)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	switch how := set("COMPRESSION"); how {
	case "gzip":
		c.gzip = true
		c.header.Set("Content-Encoding", "gzip")
	case "", "none":
	default:
		errs[3] = fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION: %q is not supported; use gzip or none", how)
	}
	c.client.Transport, errs[4] = network(set)
	// What a redirect leads to would get the headers, which may have a key.
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, errors.Join(errs[:]...)
}

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

// headers parses a list such as "authorization=Bearer%20k,x-team=a".
func headers(list string) (http.Header, error) {
	h := make(http.Header)
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" {
			return h, errors.New("OTEL_EXPORTER_OTLP_HEADERS: want name=value pairs with commas between them, values percent-encoded")
		}
		h.Add(name, value)
	}
	return h, nil
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

func (c *collector) Start(context.Context) error { return nil }

func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. It retries a busy collector until the timeout.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData is the message that is exported under another name: that one's package needs gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(body)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = b.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	_, err = retry.Do(ctx, retry.Retrier{Policy: policy.Simple()}, func(ctx context.Context, _ int) (struct{}, error) {
		return struct{}{}, c.send(ctx, body)
	})
	return err
}

const maxAnswer = 64 << 10

func (c *collector) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to, bytes.NewReader(body))
	if err != nil {
		return retry.Permanent(err)
	}
	r.Header = c.header.Clone()
	answer, err := c.client.Do(r)
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
	// ExportTraceServiceResponse says in these fields why only a part of the spans was taken. They are not sent again.
	if why := field(field(got, 1), 2); len(why) > 0 {
		return retry.Permanent(fmt.Errorf("the collector did not take all spans: %s", why))
	}
	return nil
}

// field returns the bytes of a field of a message, or nil.
func field(m []byte, number protowire.Number) []byte {
	for len(m) > 0 {
		n, kind, size := protowire.ConsumeTag(m)
		if size < 0 {
			return nil
		}
		m = m[size:]
		if n == number && kind == protowire.BytesType {
			b, _ := protowire.ConsumeBytes(m)
			return b
		}
		if size = protowire.ConsumeFieldValue(n, kind, m); size < 0 {
			return nil
		}
		m = m[size:]
	}
	return nil
}
