package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
)

const day = 24 * time.Hour

var (
	errForm  = errors.New("not of that form")
	errZero  = errors.New("it is zero")
	errRange = errors.New("it is too large")
)

// wholeError is a complete message: the value or the expected form would not help, or must not be repeated.
type wholeError struct {
	error
	hides bool // the value must not be shown
}

// scalar is how a value on one line is read, shown and described.
type scalar struct {
	name, about string // of its definition in the schema; "": no definition
	want        string
	kind        string // its JSON type; "": string
	loose       bool   // a number or a boolean is a text as well
	strict      bool   // parse also rejects what the pattern does, with an error of its own
	enum        []string
	words       []string // that are accepted besides, or suggested
	pattern     string
	min, max    float64                   // 0: no bound
	parse       func(string) (any, error) // of what has this form; nil: the text itself
	show        func(any) string          // nil: as Go prints it
}

func (f form) scalar() scalar {
	s := scalarNamed(cmp.Or(f.tag.Get("as"), map[reflect.Type]string{reflect.TypeFor[time.Duration](): "duration", reflect.TypeFor[limit](): "limit"}[f.Type]))
	s.want, s.pattern = cmp.Or(f.get("want"), s.want), cmp.Or(f.tag.Get("pattern"), s.pattern)
	if enum := f.tag.Get("enum"); enum != "" {
		s.enum = strings.Fields(enum)
	}
	if most := f.tag.Get("max"); most != "" {
		s.kind = "integer"
		s.min, _ = strconv.ParseFloat(f.tag.Get("min"), 64)
		s.max, _ = strconv.ParseFloat(most, 64)
		s.parse = s.integer
	}
	return s
}

func (s scalar) expected() string {
	if len(s.enum) > 0 && !strings.Contains(s.want, " or ") {
		return s.want + ": " + text.Or(s.enum)
	}
	return s.want
}

func (s scalar) accepts(n *node) bool {
	switch {
	case n.kind == words && (s.strict || slices.Contains(s.words, n.text)), s.loose && (n.kind == words || n.kind == number || n.kind == boolean):
		return true
	case n.kind != s.written() || len(s.enum) > 0 && !slices.Contains(s.enum, n.text):
		return false
	}
	return s.pattern == "" || regexp.MustCompile(s.pattern).MatchString(n.text)
}

// written returns the kind of a node that has a value.
func (s scalar) written() kind {
	if s.kind != "" {
		return number
	}
	return words
}

func (s scalar) read(n *node) (any, error) {
	switch {
	case s.strict && n.kind != words:
		return s.parse("")
	case s.parse == nil && n.text == "" || !s.accepts(n):
		return nil, errForm
	case s.parse == nil:
		return n.text, nil
	}
	return s.parse(n.text)
}

func (s scalar) integer(text string) (any, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case err != nil || float64(n) < s.min:
		return nil, errForm
	case float64(n) > s.max:
		return nil, errRange
	}
	return n, nil
}

func checked(want, pattern string, check func(string) bool) scalar {
	return scalar{want: want, pattern: pattern, parse: func(s string) (any, error) {
		if !check(s) {
			return nil, errForm
		}
		return s, nil
	}}
}

func oneOf[T ~string](want string, values []T) scalar {
	s := scalar{want: want}
	for _, v := range values {
		s.enum = append(s.enum, string(v))
	}
	return s
}

// scalarNamed returns the scalar that a tag names; "": any text.
func scalarNamed(name string) scalar {
	switch name {
	case "duration":
		return scalar{
			name: name, about: "A time: Go's units and d for days.", want: "a time above zero, such as 30s, 5m or 1d12h", pattern: durationPattern,
			parse: func(s string) (any, error) { return ParseDuration(s) }, show: func(v any) string { return text.Duration(v.(time.Duration)) },
		}
	case "limit":
		return limitOr(name, "A time, or none.", "a time above zero, such as 30s, or none", "none")
	case "first-byte-limit":
		return limitOr(name, "A time, none or learned.", "a time above zero, such as 30s, none or learned", "none", "learned")
	case "size":
		return scalar{name: name, about: "A number of bytes.", want: "a size above zero with its unit, such as 32MiB", pattern: `^[0-9]+(\.[0-9]+)? ?(B|kB|KB|MB|GB|KiB|MiB|GiB)$`, parse: parseSize, show: showSize}
	case "share":
		return scalar{
			name: name, about: "A share.", want: "a share from 0% to 100%, such as 10%", pattern: `^[0-9]+(\.[0-9]+)?%$`,
			parse: func(s string) (any, error) {
				n, _ := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
				if n > 100 {
					return nil, errRange
				}
				return n / 100, nil
			},
			show: func(v any) string { return strconv.FormatFloat(math.Round(v.(float64)*1e6)/1e4, 'f', -1, 64) + "%" },
		}
	case "rate":
		return scalar{want: "a number per time above zero, such as 20/s, 90/min or 500/h", pattern: `^[0-9]+(\.[0-9]+)?/(s|min|h)$`, parse: parseRate}
	case "time-of-day":
		return scalar{
			want: `a time of day such as "06:00"`, pattern: `^([01][0-9]|2[0-3]):[0-5][0-9]$`,
			parse: func(s string) (any, error) { // 0 is none, and midnight the end of the day
				at, err := time.Parse("15:04", s)
				return cmp.Or(time.Duration(at.Hour())*time.Hour+time.Duration(at.Minute())*time.Minute, day), err
			},
			show: func(v any) string { return time.Time{}.Add(v.(time.Duration)).Format("15:04") },
		}
	case "multiplier":
		return scalar{
			want: "a number from 1, such as 2", kind: "number", min: 1,
			parse: func(s string) (any, error) {
				n, err := strconv.ParseFloat(s, 64)
				if err != nil || !(n >= 1) || math.IsInf(n, 0) {
					return nil, errForm
				}
				return n, nil
			},
			show: func(v any) string { return strconv.FormatFloat(v.(float64), 'f', -1, 64) },
		}
	case "retries":
		return scalar{
			want: "a number from 0, or unlimited", kind: "integer", words: []string{"unlimited"},
			parse: func(s string) (any, error) {
				n, err := strconv.ParseUint(s, 10, 31)
				switch {
				case s == "unlimited":
					return policy.Unlimited, nil
				case err != nil:
					return nil, errForm
				}
				return n, nil
			},
			show: func(v any) string {
				if v == policy.Unlimited {
					return "unlimited"
				}
				return fmt.Sprint(v)
			},
		}
	case "status":
		return scalar{want: "a status, or 5xx", loose: true, parse: func(s string) (any, error) {
			status, err := strconv.Atoi(s)
			switch {
			case s == "5xx":
				return -allServer, nil
			case err != nil || status < 400 || status > 599:
				return nil, errForm
			}
			return status, nil
		}}
	case "address":
		return checked("HOST:PORT, such as "+DefaultListen, `:[0-9]+$`, isAddress)
	case "host":
		return checked("a host without scheme and port, such as gateway.internal", `^[A-Za-z0-9._:-]+$`, func(s string) bool { return !strings.Contains(s, ":") || net.ParseIP(s) != nil })
	case "origin":
		return scalar{want: "an origin such as http://localhost:5173 or https://app.example, without a path", pattern: `^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@ ]+$`, parse: parseOrigin}
	case "base-url":
		return scalar{want: "a URL such as https://llm.example/v1", pattern: `^https?://`, strict: true, parse: func(s string) (any, error) {
			_, err := parseBase(s)
			return s, whole(err, false)
		}}
	case "mcp-url":
		return checked("a URL such as https://mcp.example/mcp", `^https?://`, func(s string) bool { _, err := parseBase(s); return err == nil })
	case "proxy":
		return checked("a URL such as http://proxy.example:3128 or socks5://127.0.0.1:1080, or none", `^((https?|socks5)://|none$)`, func(s string) bool {
			return gateway.Network{Proxy: s}.Check(&url.URL{}) == nil
		})
	case "status-page":
		return checked(text.Or(notify.StatusPages())+", or the URL of a summary.json", "", func(s string) bool { return notify.StatusURL(s) != "" })
	case "notice-url": // an error does not repeat it
		return scalar{want: "a URL such as https://ntfy.sh/topic", pattern: `^https?://`, strict: true, parse: func(s string) (any, error) {
			err := notify.CheckURL(s)
			if err != nil {
				err = fmt.Errorf("the URL %w", err)
			}
			return s, whole(err, true)
		}}
	case "template":
		return scalar{want: "a template such as ${title}: ${text}", parse: func(s string) (any, error) {
			_, err := notify.Parse(s)
			return s, err
		}}
	case "variable": // an error does not repeat it, since it may be the secret itself
		const want, pattern = "the name of an environment variable, such as ANTHROPIC_API_KEY", `^[A-Za-z_][A-Za-z0-9_]*$`
		return scalar{want: want, pattern: pattern, strict: true, parse: func(s string) (any, error) {
			if !regexp.MustCompile(pattern).MatchString(s) {
				return nil, whole(errors.New("want "+want+"; the secret itself must not be in the configuration file"), false)
			}
			return s, nil
		}}
	case "value":
		return scalar{want: "a text", loose: true, parse: func(s string) (any, error) {
			if fault.Scrub(s) != s {
				return nil, whole(errors.New("this looks like a secret, which must not be in the configuration file; env and headers take {env: NAME} or {file: PATH}"), true)
			}
			return s, nil
		}}
	case "sentence": // terminals and charts show it unchanged
		return scalar{want: "a sentence", parse: func(s string) (any, error) {
			switch {
			case s == "":
				return nil, errForm
			case printable.Text(s) != s:
				return nil, errors.New("it contains an invisible character")
			}
			return s, nil
		}}
	case "code":
		return scalar{loose: true}
	case "words":
		return checked("some words of the message, with * in place of what differs", "", func(s string) bool { return len(strings.Trim(s, "* ")) >= 3 })
	case "pattern":
		return checked("", "", func(s string) bool { _, err := path.Match(s, ""); return err == nil && s != "" })
	case "no-key":
		return scalar{want: "none", enum: []string{"none"}}
	case "policy":
		return scalar{want: "the name of a policy, or its fields", words: append(policy.Presets(), noRetries)}
	case "policy-name":
		return checked("a name that begins with a letter and is no preset's", `^[A-Za-z][A-Za-z0-9._-]*$`, func(s string) bool { _, preset := policy.Preset(s); return !preset && s != noRetries })
	case "upstream-name", "target-name":
		s := checked(gateway.CheckName("").Error(), `^[a-z][a-z0-9._-]*$`, func(s string) bool { return gateway.CheckName(s) == nil })
		if name == "target-name" {
			s.want = "a name of lower-case letters, digits, '-', '.' and '_'"
		}
		return s
	case "short-name": // which names of tools contain
		return scalar{want: "a name of at most 32 letters, digits, - and _ that begins with a letter", pattern: `^[A-Za-z][A-Za-z0-9_-]{0,31}$`}
	case "header-name":
		return scalar{want: "the name of a header, such as Authorization", pattern: `^[A-Za-z0-9-]+$`}
	case "preset":
		return oneOf("a preset", policy.Presets())
	case "kind":
		return oneOf("a kind of fault", kindNames())
	case "fault-kind":
		s := oneOf("a kind of fault", FaultKinds())
		s.parse = func(s string) (any, error) { return fault.KindOf(s), nil }
		return s
	case "api":
		return oneOf("an API", gateway.APIs())
	case "complete":
		s := oneOf("a way to complete answers", gateway.CompleteModes())
		s.about = "What happens to a streamed answer that breaks off after its first content. `lossless` requests it again as long as the client has received nothing that it keeps, and sends tool calls only when all of them are complete; a long answer of Gemini's is resumed at its latest checkpoint. `text` also continues a text by another request, where the two join for certain. `prefill` is `text` for llama-server and Ollama: the request ends with the partial answer, which they continue, so that nothing is repeated. `off` ends it with an error."
		return s
	case "socket":
		return scalar{want: "what happens to a WebSocket", enum: []string{"ride", "426"}}
	case "admission":
		s := oneOf("how requests are admitted", gateway.Admissions())
		s.about = "`learned` delays a request that would exceed a limit stated in the provider's answers; `off` sends each at once."
		return s
	case "notice-kind":
		return oneOf("a kind of target", notify.Kinds())
	case "notice-event":
		return oneOf("an event", notify.Events())
	case "outage":
		return oneOf("a kind of outage", OutageKinds())
	}
	return scalar{}
}

// whole returns an error that is the complete message, or nil for nil.
func whole(err error, hides bool) error {
	if err == nil {
		return nil
	}
	return wholeError{err, hides}
}
