// Package access knows who may do what on a server: the tokens of its clients with their scopes, and how often an
// address may present a wrong one.
package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MinLength is the minimum length of a token in bytes. A shorter one can be guessed.
const MinLength = 16

// Scope is what a token permits: one or more of the constants below.
type Scope uint8

// The scopes. Admin includes the others.
const (
	Use   Scope = 1 << iota // requests to the APIs, and councils
	See                     // what is below /-/: waits, events, metrics, conversations
	Act                     // actions on waits and upstreams, and the input of conversations
	Admin                   // everything, also to delete conversations
)

var scopeNames = []string{"use", "see", "act", "admin"}

// Has reports whether the scopes include all of others.
func (s Scope) Has(others Scope) bool { return s&Admin != 0 || s&others == others }

// String returns the names, separated by commas.
func (s Scope) String() string {
	var names []string
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseScope parses names that are separated by commas.
func ParseScope(names string) (s Scope, err error) {
	for name := range strings.SplitSeq(names, ",") {
		i := 0
		for i < len(scopeNames) && scopeNames[i] != name {
			i++
		}
		if i == len(scopeNames) {
			return 0, fmt.Errorf("unknown scope %q; want use, see, act or admin, separated by commas", name)
		}
		s |= 1 << i
	}
	return s, nil
}

// Header is the header in which clients send their token.
const Header = "X-Ridethrough-Token"

// Token is a token without its secret.
type Token struct {
	Name    string
	Scope   Scope
	Expires time.Time // zero: never
	Hash    [sha256.Size]byte
	Limits  Limits
}

// Hash returns the hash of a token's secret. SHA-256 without salt and rounds is enough for secrets that are random
// and not chosen: 2^256 of them cannot be tried.
func Hash(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// New returns a new token and its secret, which is stored nowhere.
func New(name string, scope Scope, expires time.Time) (t Token, secret string, err error) {
	if !isName(name) {
		return t, "", fmt.Errorf("invalid name %q; want letters, digits, '-', '.', '_' and '@'", name)
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	secret = "rt_" + base64.RawURLEncoding.EncodeToString(random[:])
	return Token{Name: name, Scope: scope, Expires: expires, Hash: Hash(secret)}, secret, nil
}

// HasExpired reports whether the token is no longer valid.
func (t Token) HasExpired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// String returns the line of the token in a file.
func (t Token) String() string {
	expires := never
	if !t.Expires.IsZero() {
		expires = t.Expires.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %v %s %s%s%v", t.Name, t.Scope, expires, algorithm, hex.EncodeToString(t.Hash[:]), t.Limits)
}

const (
	never     = "never"
	algorithm = "sha256:"
)

// maxTokens bounds the tokens in a file. Each request is compared with all of them.
const maxTokens = 1000

// Parse parses a file of tokens: a line per token, empty lines, and comments that begin with #.
func Parse(text []byte) (all []Token, err error) {
	names := map[string]bool{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		t, err := parseLine(fields)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case names[t.Name]:
			return nil, fmt.Errorf("line %d: a second token named %s", n, t.Name)
		case len(all) == maxTokens:
			return nil, fmt.Errorf("line %d: more than %d tokens", n, maxTokens)
		}
		names[t.Name] = true
		all = append(all, t)
	}
	return all, nil
}

// parseLine parses the fields of a line. Its errors do not repeat the hash, which may be a secret by mistake.
func parseLine(fields []string) (t Token, err error) {
	if len(fields) < 4 || !isName(fields[0]) {
		return t, errors.New("want NAME SCOPES EXPIRES sha256:HASH [LIMITS], as ridethrough token new prints it")
	}
	t.Name = fields[0]
	if t.Scope, err = ParseScope(fields[1]); err != nil {
		return t, err
	}
	if fields[2] != never {
		if t.Expires, err = time.Parse(time.RFC3339, fields[2]); err != nil {
			if t.Expires, err = time.Parse(time.DateOnly, fields[2]); err != nil {
				return t, fmt.Errorf("invalid time %q; want never, or a time such as 2027-03-31 or 2027-03-31T12:00:00Z", fields[2])
			}
		}
	}
	digits, ok := strings.CutPrefix(fields[3], algorithm)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size {
		return t, errors.New("the fourth field is no hash of a token; want sha256: and 64 hexadecimal digits")
	}
	t.Hash = [sha256.Size]byte(sum)
	t.Limits, err = parseLimits(fields[4:])
	return t, err
}

func isName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._@") == ""
}

// Find returns the token with a secret. Its running time does not depend on the secret.
func Find(all []Token, secret string) (found Token, ok bool) {
	sum := Hash(secret)
	for i := range all {
		if subtle.ConstantTimeCompare(sum[:], all[i].Hash[:]) == 1 {
			found, ok = all[i], true
		}
	}
	return found, ok
}

type scopeKey struct{}

// WithScope returns the context of a request whose sender has a scope.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns the scope of a request's sender, or 0.
func ScopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}

// Limits are what a token may use of the APIs. 0 sets no limit.
type Limits struct {
	Requests int // a minute
	Tokens   int // of models, a minute, as far as the providers state them
	Holds    int // requests that wait for their provider at a time
}

// The names of the limits in a file, in order.
const (
	requestsField = "rpm"
	tokensField   = "tpm"
	holdsField    = "holds"
)

// maxLimit is the largest limit: sums of it stay exact.
const maxLimit = 1 << 40

// String returns the limits as a file has them, each after a space, or "".
func (l Limits) String() string {
	var b strings.Builder
	for _, f := range [...]struct {
		name  string
		limit int
	}{{requestsField, l.Requests}, {tokensField, l.Tokens}, {holdsField, l.Holds}} {
		if f.limit > 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.limit)
		}
	}
	return b.String()
}

func parseLimits(fields []string) (l Limits, err error) {
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		limit := &l.Requests
		switch name {
		case requestsField:
		case tokensField:
			limit = &l.Tokens
		case holdsField:
			limit = &l.Holds
		default:
			return l, fmt.Errorf("unknown limit %q; want rpm=N, tpm=N or holds=N after the hash", name)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxLimit || *limit > 0 {
			return l, fmt.Errorf("%s=%s: want one number above 0", name, value)
		}
		*limit = n
	}
	return l, nil
}
