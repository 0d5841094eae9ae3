package config

import (
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/brief"
)

// duration is the codec of a duration above zero.
//
//go:noinline it would be copied to each place that it is called at
func duration() codec[time.Duration] {
	return scalar(&schema{name: "duration", about: "A time: Go's units and d for days.", Pattern: durationPattern, expected: "a time above zero, such as 30s, 5m or 1d12h"},
		ParseDuration, brief.Duration)
}

// noLimit is the value of a limit of none.
const noLimit time.Duration = math.MaxInt64

// limit is the codec of a duration or none.
func limit() codec[time.Duration] {
	return scalar(&schema{name: "limit", about: "A time, or none.", Pattern: durationPattern + "|^none$", expected: "a time above zero, such as 30s, or none"},
		func(s string) (time.Duration, error) {
			if s == "none" {
				return noLimit, nil
			}
			return ParseDuration(s)
		},
		func(d time.Duration) string {
			if d == noLimit {
				return "none"
			}
			return brief.Duration(d)
		})
}

// learned is the value of a limit that is learned.
const learned = noLimit - 1

// learnedLimit is the codec of a duration, none or learned.
func learnedLimit() codec[time.Duration] {
	plain := limit()
	return scalar(&schema{name: "first-byte-limit", about: "A time, none or learned.", Pattern: durationPattern + "|^none$|^learned$", expected: "a time above zero, such as 30s, none or learned"},
		func(s string) (time.Duration, error) {
			switch s {
			case "none":
				return noLimit, nil
			case "learned":
				return learned, nil
			}
			return ParseDuration(s)
		},
		func(d time.Duration) string {
			if d == learned {
				return "learned"
			}
			return plain.show(&d).text
		})
}

// size is the codec of a number of bytes.
func size() codec[int64] {
	return scalar(&schema{name: "size", about: "A number of bytes.", Pattern: sizePattern, expected: "a size above zero with its unit, such as 32MiB"}, parseSize, showSize)
}

// replicas is the codec of a number of replicas.
func replicas() codec[int] {
	least, most := 1.0, 5.0
	return scalar(&schema{Type: "integer", Minimum: &least, Maximum: &most, expected: "a number from 1 to 5"}, func(s string) (int, error) {
		n, err := strconv.ParseUint(s, 10, 8)
		if err != nil || n < uint64(least) || n > uint64(most) {
			return 0, errForm
		}
		return int(n), nil
	}, strconv.Itoa)
}

// share is the codec of a percentage.
func share() codec[float64] {
	return scalar(&schema{name: "share", about: "A share.", Pattern: percentPattern, expected: "a share from 0% to 100%, such as 10%"}, parsePercent, showPercent)
}

// ownShare is the codec of a percentage that takes the place of another one, also if it is 0.
func ownShare() codec[*float64] {
	of := share()
	return codec[*float64]{
		schema: of.schema,
		read: func(r *reader, n *node, to **float64) bool {
			*to = new(float64)
			return of.read(r, n, *to)
		},
		show: func(v **float64) *node {
			if *v == nil {
				return &node{}
			}
			return of.show(*v)
		},
	}
}

// checkedText is the codec of a text that check accepts.
func checkedText(words, pattern string, check func(string) bool) codec[string] {
	return scalar(&schema{expected: words, Pattern: pattern}, func(s string) (string, error) {
		if !check(s) {
			return "", errForm
		}
		return s, nil
	}, itself)
}

// fleets is the codec of a fleet's name.
func fleets() codec[string] {
	return checkedText("1 to 40 letters, digits, - and _", `^[A-Za-z0-9_-]{1,40}$`, func(s string) bool {
		return s != "" && len(s) <= 40 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	})
}

// address is the codec of an address to listen on.
func address() codec[string] {
	return checkedText("HOST:PORT, such as "+DefaultListen, `:[0-9]+$`, func(s string) bool {
		_, port, err := net.SplitHostPort(s)
		_, perr := strconv.ParseUint(port, 10, 16)
		return err == nil && perr == nil
	})
}

// host is the codec of a host's name or address without a port.
func host() codec[string] {
	return checkedText("a host without scheme and port, such as gateway.internal", `^[A-Za-z0-9._:-]+$`, func(s string) bool {
		ok := strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._:-") == "" && s != ""
		return ok && (!strings.Contains(s, ":") || net.ParseIP(s) != nil)
	})
}

// origin is the codec of a web page's origin, in the form in which browsers send it.
func origin() codec[string] {
	known := &schema{expected: "an origin such as http://localhost:5173 or https://app.example, without a path", Pattern: `^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@ ]+$`}
	return scalar(known, func(s string) (string, error) {
		u, err := url.Parse(s)
		if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || len(s) != len(u.Scheme+"://"+u.Host) {
			return "", errForm
		}
		if usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; usual != "" {
			u.Host = strings.TrimSuffix(u.Host, usual)
		}
		return u.Scheme + "://" + strings.ToLower(u.Host), nil
	}, itself)
}

// baseURL is the codec of an upstream's base URL.
func baseURL() codec[string] {
	f := checkedText("a URL such as https://llm.example/v1", `^https?://`, nil)
	f.read = func(r *reader, n *node, to *string) bool {
		if _, err := parseBase(n.text); n.kind != text || err != nil {
			r.fail(n, "%v", err)
			return false
		}
		*to = n.text
		return true
	}
	return f
}

// kindsOf is the codec of a list of fault kinds, of which transient is a group.
func kindsOf() codec[fault.Set] {
	names := kindNames()
	each := seq[*[]string]("a list of kinds of faults: "+andList(names), oneOf("a kind of fault", names...))
	return codec[fault.Set]{
		schema: each.schema,
		read: func(r *reader, n *node, to *fault.Set) bool {
			var list []string
			ok := each.read(r, n, &list)
			for _, name := range list {
				*to |= kindSet(name)
			}
			return ok
		},
		show: func(from *fault.Set) *node {
			set, list := *from, []string(nil)
			for _, name := range names {
				if s := kindSet(name); set&s == s {
					list = append(list, name)
					set &^= s
				}
			}
			return each.show(&list)
		},
	}
}

// kindSet returns the kinds with a name; zero: the name is unknown.
func kindSet(name string) fault.Set {
	if name == "transient" {
		return fault.Transient
	}
	for k := fault.Unknown; k < fault.Canceled; k++ {
		if k.String() == name {
			return fault.Set(0).With(k)
		}
	}
	return 0
}

// kindNames returns the names that kindSet knows.
func kindNames() []string {
	names := []string{"transient"}
	for k := fault.Unknown; k < fault.Canceled; k++ {
		names = append(names, k.String())
	}
	return names
}
