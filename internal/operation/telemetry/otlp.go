package telemetry

import (
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/otlp"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
)

// exporterFor returns the exporter that the environment configures; nil: none. See
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
func exporterFor(env func(string) string, version string) (tracing.Exporter, error) {
	which := env("OTEL_TRACES_EXPORTER")
	to := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + env("OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case strings.EqualFold(env("OTEL_SDK_DISABLED"), "true"), which == "none", which == "" && to == "":
		return nil, nil
	case which != "" && which != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: no exporter %q; use otlp", which)
	}
	e, err := otlp.New(env, "ridethrough/"+version)
	if err != nil {
		return nil, err // not a nil *otlp.Exporter in an interface
	}
	return e, nil
}
