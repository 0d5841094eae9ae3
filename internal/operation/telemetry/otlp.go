package telemetry

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporterFor returns the exporter that the environment configures; nil: none. See
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. The exporter reads its
// own settings, such as headers and timeouts, from there too.
func exporterFor(ctx context.Context, env func(string) string) (sdktrace.SpanExporter, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if v := env(name); v != "" {
				return v
			}
		}
		return ""
	}
	which := env("OTEL_TRACES_EXPORTER")
	to := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case strings.EqualFold(env("OTEL_SDK_DISABLED"), "true"), which == "none", which == "" && to == "":
		return nil, nil
	case which != "" && which != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: no exporter %q; use otlp", which)
	}
	protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; use http/protobuf", protocol)
	}
	return otlptracehttp.New(ctx)
}
