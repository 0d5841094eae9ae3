package config

import (
	"cmp"
	"math"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`

// ParseDuration parses a positive duration in Go's units and d for days: 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	if !regexp.MustCompile(durationPattern).MatchString(s) {
		return 0, errForm
	}
	sum := time.Duration(0)
	for _, part := range regexp.MustCompile(`[0-9.]+[^0-9.]+`).FindAllString(s, -1) {
		factor := time.Duration(1)
		if days, ok := strings.CutSuffix(part, "d"); ok {
			factor, part = day/time.Hour, days+"h"
		}
		d, err := time.ParseDuration(part)
		if err != nil || d > (math.MaxInt64-sum)/factor {
			return 0, errRange
		}
		sum += d * factor
	}
	if sum == 0 {
		return 0, errZero
	}
	return sum, nil
}

// limitOr returns the scalar of a time or one of some words.
func limitOr(name, about, want string, words ...string) scalar {
	return scalar{
		name: name, about: about, want: want, pattern: durationPattern, words: words,
		parse: func(s string) (any, error) {
			d, err := ParseDuration(s)
			if err == errForm {
				return limit{word: s}, nil
			}
			return limit{time: d}, err
		},
		show: func(v any) string { return cmp.Or(v.(limit).word, text.Duration(v.(limit).time)) },
	}
}

var sizes = []struct {
	unit  string
	bytes int64
}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1}}

// parseSize parses a positive number of bytes: 32MiB.
func parseSize(s string) (any, error) {
	for _, u := range sizes {
		count, ok := strings.CutSuffix(s, u.unit)
		if !ok {
			continue
		}
		n, _ := strconv.ParseFloat(strings.TrimSuffix(count, " "), 64)
		switch n *= float64(u.bytes); {
		case n < 1:
			return nil, errZero
		case n >= math.MaxInt64:
			return nil, errRange
		}
		return int64(n), nil
	}
	return nil, errForm
}

func showSize(v any) string {
	n := v.(int64)
	for _, u := range sizes {
		if strings.Contains(u.unit, "i") && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.unit
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// parseRate parses a positive rate, such as 20/s. Its value is per second.
func parseRate(s string) (any, error) {
	count, unit, _ := strings.Cut(s, "/")
	n, err := strconv.ParseFloat(count, 64)
	switch {
	case err != nil:
		return nil, errForm
	case n == 0:
		return nil, errZero
	}
	return n / map[string]float64{"s": 1, "min": 60, "h": 3600}[unit], nil
}

// allServer is the lowest of the statuses that 5xx stands for.
const allServer = 500

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	_, perr := strconv.ParseUint(port, 10, 16)
	return err == nil && perr == nil
}

// parseOrigin parses a web page's origin in the form in which browsers send it.
func parseOrigin(s string) (any, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || len(s) != len(u.Scheme+"://"+u.Host) {
		return nil, errForm
	}
	if usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; usual != "" {
		u.Host = strings.TrimSuffix(u.Host, usual)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}
