package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// The patterns of values with units, for the schema.
const (
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`
	sizePattern     = `^[0-9]+(\.[0-9]+)? ?(B|kB|KB|MB|GB|KiB|MiB|GiB)$`
	percentPattern  = `^[0-9]+(\.[0-9]+)?%$`
)

var (
	errForm  = errors.New("not of that form")
	errZero  = errors.New("it is zero")
	errRange = errors.New("it is too large")
)

// ParseDuration parses a duration above zero in Go's units and d for days: 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	sum := time.Duration(0)
	for rest := s; rest != "" || s == ""; {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		unit := rest[n:]
		if i := strings.IndexAny(unit, "0123456789."); i >= 0 {
			unit = unit[:i]
		}
		if !decimal(rest[:n]) || unit == "" {
			return 0, errForm
		}
		factor, plain := time.Duration(1), rest[:n]+unit
		if unit == "d" {
			factor, plain = day/time.Hour, rest[:n]+"h"
		}
		d, err := time.ParseDuration(plain)
		switch {
		case err != nil && strings.Contains(" ns us µs ms s m h d ", " "+unit+" "):
			return 0, errRange
		case err != nil:
			return 0, errForm
		case d > (math.MaxInt64-2-sum)/factor: // the largest values are noLimit and learned
			return 0, errRange
		}
		sum += d * factor
		rest = rest[n+len(unit):]
	}
	if sum == 0 {
		return 0, errZero
	}
	return sum, nil
}

// decimal reports whether s is digits, optionally with a point between them.
func decimal(s string) bool {
	integral, fraction, point := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(integral) && (!point || digits(fraction))
}

// sizes are the units of sizes, the larger ones first.
var sizes = []struct {
	unit  string
	bytes int64
}{
	{"GiB", 1 << 30},
	{"GB", 1e9},
	{"MiB", 1 << 20},
	{"MB", 1e6},
	{"KiB", 1 << 10},
	{"KB", 1e3},
	{"kB", 1e3},
	{"B", 1},
}

// parseSize parses a number of bytes above zero: 32MiB.
func parseSize(s string) (int64, error) {
	for _, u := range sizes {
		count, ok := strings.CutSuffix(s, u.unit)
		if !ok {
			continue
		}
		count = strings.TrimSuffix(count, " ")
		if !decimal(count) {
			return 0, errForm
		}
		n, _ := strconv.ParseFloat(count, 64)
		switch n *= float64(u.bytes); {
		case n < 1:
			return 0, errZero
		case n >= math.MaxInt64:
			return 0, errRange
		}
		return int64(n), nil
	}
	return 0, errForm
}

// showSize returns a size in the largest unit that divides it.
func showSize(n int64) string {
	for _, u := range sizes {
		if strings.Contains(u.unit, "i") && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.unit
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// parsePercent parses a percentage from 0% to 100%.
func parsePercent(s string) (float64, error) {
	count, ok := strings.CutSuffix(s, "%")
	if !ok || !decimal(count) {
		return 0, errForm
	}
	n, _ := strconv.ParseFloat(count, 64)
	if n > 100 {
		return 0, errRange
	}
	return n / 100, nil
}

func showPercent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e6)/1e4, 'f', -1, 64) + "%"
}
