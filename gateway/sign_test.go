package gateway_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/sigv4"
	"github.com/ridethrough/ridethrough/policy"
)

const theirSignature = "AWS4-HMAC-SHA256 Credential=AKIDCLIENT/20000101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00"

// verifier is an upstream that checks signatures as AWS does: by signing what it has received. Its first answer is
// an error, and its answers repeat the session token.
type verifier struct {
	wrong []string
	dates []string
	token string
}

func (v *verifier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return nil, err
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), nil)
	if err != nil {
		return nil, err
	}
	again.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	hash := sha256.Sum256(body)
	own := aws.Credentials{AccessKeyID: "AKIDGATEWAY", SecretAccessKey: "secret", SessionToken: v.token}
	if err := v4.NewSigner().SignHTTP(r.Context(), own, again, hex.EncodeToString(hash[:]), "bedrock", "eu-central-1", at); err != nil {
		return nil, err
	}
	got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization")
	if got != want || time.Since(at) > time.Minute || r.Header.Get("X-Amz-Security-Token") != v.token {
		v.wrong = append(v.wrong, got+" at "+at.String()+", want "+want)
	}
	if v.dates = append(v.dates, at.String()); len(v.dates) == 1 {
		return answer(r, http.StatusServiceUnavailable, `{"message":"busy"}`), nil
	}
	return answer(r, http.StatusOK, `{"output":{"message":{"content":[{"text":"`+v.token+`"}]}},"stopReason":"end_turn"}`), nil
}

// answer returns a response with JSON.
func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// text returns a function that returns a text.
func text(s string) func() (string, error) { return func() (string, error) { return s, nil } }

// signing returns a gateway with an upstream that signs.
func signing(t *testing.T, token string, base http.RoundTripper) *harness {
	from := sigv4.Credentials{AccessKey: text("AKIDGATEWAY"), SecretKey: text("secret")}
	if token != "" {
		from.SessionToken = text(token)
	}
	return newHarnessWith(t, gateway.Config{Base: base, Policy: policy.Patient(), Upstreams: []gateway.Upstream{{
		Name: "bedrock", API: "bedrock", Base: address("provider.test"), Sign: sigv4.Signer("bedrock", "eu-central-1", from), Limits: &gateway.Limits{},
	}}})
}

// Each try has a signature of its own time, whatever the client has sent; and the session token is for no client.
func TestUpstream_SignsEachTry(t *testing.T) {
	for _, token := range []string{"", "session-token-of-the-gateway"} {
		for _, path := range []string{"/model/a%3A0/converse", "/model/a:0/converse", "/bedrock/model/a:0/converse"} {
			synctest.Test(t, func(t *testing.T) {
				v := &verifier{token: token}
				w := signing(t, token, v)
				resp, body, err := w.get(path, converse, "Authorization", theirSignature, "X-Amz-Security-Token", "theirs", "X-Amz-Date", "19990101T000000Z")
				if err != nil || resp.StatusCode != 200 || len(v.wrong) > 0 || len(v.dates) != 2 || v.dates[0] == v.dates[1] {
					t.Errorf("%s: %d %s, %v after tries at %v; wrong are %q", path, resp.StatusCode, body, err, v.dates, v.wrong)
				}
				if token != "" && (strings.Contains(body, token) || !strings.Contains(body, "***")) {
					t.Errorf("%s: the client sees the session token: %s", path, body)
				}
			})
		}
	}
}

func TestUpstream_SignsWhatPassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &verifier{dates: []string{"before"}}
		w := signing(t, "", v)
		resp, body, err := w.get("/model/a:0/count-tokens", converse)
		if err != nil || resp.StatusCode != 200 || len(v.wrong) > 0 || len(v.dates) != 2 {
			t.Errorf("%d %s, %v; wrong are %q", resp.StatusCode, body, err, v.wrong)
		}
	})
}

func TestUpstream_CannotSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessWith(t, gateway.Config{Base: &verifier{}, Policy: policy.Patient(), Upstreams: []gateway.Upstream{{
			Name: "bedrock", API: "bedrock", Base: address("provider.test"), Limits: &gateway.Limits{},
			Sign: func(*http.Request) error { return errors.New("the file is gone") },
		}}})
		resp, body, _ := w.get("/model/a:0/converse", converse)
		if resp.StatusCode != 503 || !strings.Contains(body, "cannot be signed for the upstream bedrock") || strings.Contains(body, "the file is gone") {
			t.Errorf("%d %s, want the sentence at once and not its cause", resp.StatusCode, body)
		}
	})
}

// A client's signature is for the gateway's address: no upstream would accept it.
func TestUpstream_RefusesSignedRequests(t *testing.T) {
	for _, path := range []string{"/model/a:0/converse", streamPath, "/model/a:0/count-tokens"} {
		synctest.Test(t, func(t *testing.T) {
			v := &verifier{}
			w := newHarnessOf(t, policy.Patient(), v)
			resp, body, _ := w.get(path, converse, "Authorization", theirSignature)
			var said struct{ Message string }
			if err := json.Unmarshal([]byte(body), &said); err != nil || resp.StatusCode != 403 || len(v.dates) > 0 {
				t.Errorf("%s: %d %s, %v after %d requests, want 403 and none", path, resp.StatusCode, body, err, len(v.dates))
			}
			if !strings.Contains(said.Message, "AWS_BEARER_TOKEN_BEDROCK") || resp.Header.Get("X-Amzn-Errortype") != "UnrecognizedClientException" {
				t.Errorf("%s: %q %s", path, resp.Header.Get("X-Amzn-Errortype"), body)
			}
		})
	}
}
