package sigv4_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/internal/sigv4"
)

// text returns a function that returns a text.
func text(s string) func() (string, error) { return func() (string, error) { return s, nil } }

// request returns a request as a gateway would send it, with what a client has signed.
func request(t *testing.T, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/a%3A0/invoke", strings.NewReader(body))
	if err != nil {
		t.Fatalf("new request: %v", err)
	}
	for name, value := range map[string]string{
		"Authorization": "AWS4-HMAC-SHA256 Credential=other", "X-Amz-Security-Token": "theirs", "X-Amz-Content-Sha256": "0",
		"Content-Type": "application/json", "User-Agent": "client/1", "X-Ridethrough-Via": "a",
	} {
		r.Header.Set(name, value)
	}
	return r
}

// The signature of AWS's signer at a fixed time, whose bubble starts at the year 2000. Headers that a proxy may
// change are not in it.
func TestSigner_ReplacesTheClientsSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sign := sigv4.Signer("bedrock", "us-east-1", sigv4.Credentials{AccessKey: text("AKIDEXAMPLE"), SecretKey: text("secret")})
		r := request(t, `{"a":1}`)
		if err := sign(r); err != nil {
			t.Fatalf("sign: %v", err)
		}
		got := r.Header.Get("Authorization")
		const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20000101/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="
		if !strings.HasPrefix(got, want) || r.Header.Get("X-Amz-Date") != "20000101T000000Z" {
			t.Errorf("signed as %q at %s, want %q", got, r.Header.Get("X-Amz-Date"), want)
		}
		if r.Header.Get("X-Amz-Security-Token") != "" || r.Header.Get("X-Amz-Content-Sha256") != "" || r.Header.Get("User-Agent") != "client/1" {
			t.Errorf("the headers are %v", r.Header)
		}
		if body, err := io.ReadAll(r.Body); string(body) != `{"a":1}` || err != nil {
			t.Errorf("the body is %q, %v after the signature", body, err)
		}
		other := request(t, `{"a":2}`)
		if err := sign(other); err != nil || other.Header.Get("Authorization") == got {
			t.Errorf("another body has the signature %q, %v", other.Header.Get("Authorization"), err)
		}
	})
}

func TestSigner_TemporaryCredentials(t *testing.T) {
	sign := sigv4.Signer("bedrock", "us-east-1", sigv4.Credentials{AccessKey: text("AK"), SecretKey: text("secret"), SessionToken: text("session")})
	r := request(t, "{}")
	if err := sign(r); err != nil || r.Header.Get("X-Amz-Security-Token") != "session" || !strings.Contains(r.Header.Get("Authorization"), "x-amz-security-token") {
		t.Errorf("signed as %v, %v", r.Header, err)
	}
}

func TestSigner_Errors(t *testing.T) {
	gone := errors.New("gone")
	sign := sigv4.Signer("bedrock", "us-east-1", sigv4.Credentials{AccessKey: text("AK"), SecretKey: func() (string, error) { return "", gone }})
	if err := sign(request(t, "{}")); !errors.Is(err, gone) {
		t.Errorf("credentials that cannot be read: %v", err)
	}
	r := request(t, "{}")
	r.GetBody = nil
	sign = sigv4.Signer("bedrock", "us-east-1", sigv4.Credentials{AccessKey: text("AK"), SecretKey: text("secret")})
	if err := sign(r); err == nil {
		t.Errorf("a body that can be read once was signed: %v", r.Header)
	}
}
