package tracing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// settings reads variables. See https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
type settings struct {
	env  func(string) string
	errs []error
}

func (s *settings) fail(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// number returns a variable that is a number above 0.
func (s *settings) number(name string, otherwise int) int {
	text := s.env(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		s.fail("%s: %q is not a number above 0", name, text)
		return otherwise
	}
	return n
}

func (s *settings) milliseconds(name string, otherwise time.Duration) time.Duration {
	return time.Duration(s.number(name, int(otherwise.Milliseconds()))) * time.Millisecond
}

// resource returns what the collector knows of this process.
func (s *settings) resource(version string) []Attribute {
	all := []Attribute{
		{"service.name", "ridethrough"},
		{"service.version", version},
		{"telemetry.sdk.language", "go"},
		{"telemetry.sdk.name", "ridethrough"},
		{"telemetry.sdk.version", version},
	}
	pairs, err := Pairs(s.env("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		s.fail("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	for _, p := range pairs {
		all = set(all, p)
	}
	if name := s.env("OTEL_SERVICE_NAME"); name != "" {
		all = set(all, Key("service.name").Text(name))
	}
	return all
}

// Pairs reads a list such as "team=a,region=eu%20west", as several variables are. With an error it returns none.
func Pairs(list string) (all []Attribute, err error) {
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" {
			return nil, errors.New("want name=value pairs with commas between them, values percent-encoded")
		}
		all = append(all, Key(name).Text(value))
	}
	return all, nil
}

// sampler decides which traces are exported.
type sampler struct {
	followsParent bool   // a span with a parent is sampled as that is
	below         uint64 // the ids of the traces that are, of 1<<63
}

func (s sampler) samples(parent Context, id TraceID) bool {
	if s.followsParent && parent.IsValid() {
		return parent.Sampled
	}
	return binary.BigEndian.Uint64(id[8:])>>1 < s.below
}

// sampler returns the sampler that the variables name.
func (s *settings) sampler() sampler {
	const all = 1 << 63
	name := s.env("OTEL_TRACES_SAMPLER")
	root, follows := strings.CutPrefix(name, "parentbased_")
	switch root {
	case "always_on":
		return sampler{follows, all}
	case "always_off":
		return sampler{follows, 0}
	case "traceidratio":
		return sampler{follows, uint64(s.ratio() * all)}
	case "":
	default:
		s.fail("OTEL_TRACES_SAMPLER: no sampler %q", name)
	}
	return sampler{true, all}
}

// ratio returns the share of traces that are sampled.
func (s *settings) ratio() float64 {
	text := s.env("OTEL_TRACES_SAMPLER_ARG")
	if text == "" {
		return 1
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		s.fail("OTEL_TRACES_SAMPLER_ARG: %q is not a number from 0 to 1", text)
		return 1
	}
	return share
}
