package access_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/access"
)

var (
	now  = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	here = netip.MustParseAddr("10.1.2.3")
)

func TestToken_LineParsesToSame(t *testing.T) {
	alice, secret, err := access.New("alice@team", access.Use|access.See, now.Add(90*24*time.Hour))
	if err != nil || len(secret) != 46 || !strings.HasPrefix(secret, "rt_") {
		t.Fatalf("New: %q, %v", secret, err)
	}
	ci, other, _ := access.New("ci", access.Admin, time.Time{})
	ci.Limits = access.Limits{Requests: 60, Tokens: 200_000, Holds: 20}
	if got, want := ci.String(), " rpm=60 tpm=200000 holds=20"; !strings.HasSuffix(got, want) {
		t.Errorf("line %q, want it to end with %q", got, want)
	}
	if secret == other || strings.Contains(alice.String(), secret[3:]) {
		t.Errorf("secrets %q and %q, line %q", secret, other, alice)
	}
	if got, want := alice.String()[:41], "alice@team use,see 2027-02-20T12:00:00Z s"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	all, err := access.Parse([]byte("# the team\n\n  " + alice.String() + "\r\n" + ci.String()))
	if diff := cmp.Diff([]access.Token{alice, ci}, all); diff != "" || err != nil {
		t.Errorf("Parse: %v (-want +got):\n%s", err, diff)
	}
	for given, want := range map[string]string{secret: "alice@team", other: "ci", secret + "x": "", "": "", alice.String(): ""} {
		if got, ok := access.Find(all, given); got.Name != want || ok != (want != "") {
			t.Errorf("Find(%q): %q, %t; want %q", given, got.Name, ok, want)
		}
	}
}

func TestParse_RefusesOtherLines(t *testing.T) {
	hash := "sha256:" + strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		"alice use never":                                       "line 1: want NAME SCOPES EXPIRES sha256:HASH",
		"\nalice use never " + hash + " more":                   `line 2: unknown limit "more"; want rpm=N, tpm=N or holds=N`,
		"alice use never " + hash + " rpm=0":                    "line 1: rpm=0: want one number above 0",
		"alice use never " + hash + " tpm=1 tpm=2":              "line 1: tpm=2: want one number above 0",
		"a/b use never " + hash:                                 "line 1: want NAME",
		strings.Repeat("a", 65) + " use never " + hash:          "line 1: want NAME",
		"alice use,sea never " + hash:                           `line 1: unknown scope "sea"; want use, see, act or admin`,
		"alice use, never " + hash:                              `line 1: unknown scope ""`,
		"alice use soon " + hash:                                `line 1: invalid time "soon"`,
		"alice use never rt_the-secret-itself":                  "line 1: the fourth field is no hash",
		"alice use never sha256:abcd":                           "line 1: the fourth field is no hash",
		"alice use never " + hash + "\nalice see never " + hash: "line 2: a second token named alice",
	} {
		if _, err := access.Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		}
	}
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, "t%d use never %s\n", i, hash)
	}
	if _, err := access.Parse([]byte(many.String())); err == nil || err.Error() != "line 1001: more than 1000 tokens" {
		t.Errorf("Parse of 1001 tokens: %v", err)
	}
}

func TestToken_Expires(t *testing.T) {
	all, err := access.Parse([]byte("a use 2026-11-22 sha256:" + strings.Repeat("00", 32) + "\nb use never sha256:" + strings.Repeat("01", 32)))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		token int
		at    time.Time
		want  bool
	}{{0, midnight.Add(-time.Second), false}, {0, midnight, true}, {1, midnight.AddDate(100, 0, 0), false}} {
		if got := all[tt.token].HasExpired(tt.at); got != tt.want {
			t.Errorf("%s at %v: expired %t, want %t", all[tt.token].Name, tt.at, got, tt.want)
		}
	}
}

func TestScope_AdminHasAll(t *testing.T) {
	for _, tt := range []struct {
		names string
		need  access.Scope
		want  bool
	}{
		{"use", access.Use, true},
		{"use", access.See, false},
		{"see", access.Act, false},
		{"use,see,act", access.Admin, false},
		{"see,act", access.See | access.Act, true},
		{"see", access.See | access.Act, false},
		{"admin", access.Use | access.Act | access.Admin, true},
	} {
		s, err := access.ParseScope(tt.names)
		if err != nil || s.Has(tt.need) != tt.want || s.String() != tt.names {
			t.Errorf("%s has %v: %t, want %t; String %q, %v", tt.names, tt.need, s.Has(tt.need), tt.want, s, err)
		}
	}
}

func TestGuesses_TenInARowThenOneInSixSeconds(t *testing.T) {
	var g access.Guesses
	wait := func(at time.Time) time.Duration { return g.Wait(here, at) }
	for i := range 10 {
		if got := wait(now); got != 0 {
			t.Fatalf("Wait before guess %d: %v, want 0", i+1, got)
		}
		g.Fail(here, now)
	}
	for after, want := range map[time.Duration]time.Duration{0: 6 * time.Second, 5 * time.Second: time.Second, 6 * time.Second: 0} {
		if got := wait(now.Add(after)); got != want {
			t.Errorf("Wait after 10 guesses and %v: %v, want %v", after, got, want)
		}
	}
	if got := g.Wait(netip.MustParseAddr("10.1.2.4"), now); got != 0 {
		t.Errorf("Wait at another address: %v, want 0", got)
	}
}

func TestGuesses_NetworksAndBounds(t *testing.T) {
	var g access.Guesses
	for i := range 11 {
		g.Fail(netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)), now)
	}
	if got := g.Wait(netip.MustParseAddr("2001:db8::ffff"), now); got == 0 {
		t.Errorf("Wait in the same /64: %v, want more", got)
	}
	if got := g.Wait(netip.MustParseAddr("2001:db8:0:1::1"), now); got != 0 {
		t.Errorf("Wait in another /64: %v, want 0", got)
	}
	for i := range 11 {
		g.Fail(netip.MustParseAddr([]string{"::ffff:10.9.9.9", "10.9.9.9"}[i%2]), now)
	}
	if got := g.Wait(netip.MustParseAddr("10.9.9.9"), now); got == 0 {
		t.Errorf("Wait for an address in both forms: %v, want more", got)
	}
	g = access.Guesses{}      // of the addresses that are forgotten for others, one may have guessed for longer
	g.Fail(netip.Addr{}, now) // a socket without an address
	for i := range 20_000 {
		g.Fail(netip.AddrFrom4([4]byte{11, 0, byte(i >> 8), byte(i)}), now)
	}
	if got := g.Len(); got != 4096 {
		t.Errorf("%d addresses are kept, want 4096", got)
	}
	g.Fail(here, now.Add(time.Minute))
	if got := g.Len(); got != 1 {
		t.Errorf("%d addresses are kept when the others' guesses are forgotten, want 1", got)
	}
}
