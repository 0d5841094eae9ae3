package breaker_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/breaker"
)

func TestCredential_DependsOnCredentialsOnly(t *testing.T) {
	dependsOnCredentialsOnly(t, breaker.Credential)
}

func TestCommonCredential_IsTheSameInAllProcesses(t *testing.T) {
	dependsOnCredentialsOnly(t, breaker.CommonCredential)
	const want = "2dch09i9y2nrl" // computed by another process
	if got := breaker.CommonCredential(http.Header{"X-Api-Key": {"sk-mine"}}, &url.URL{}); got != want {
		t.Errorf("the credential sk-mine is %s, want %s as everywhere", got, want)
	}
}

// dependsOnCredentialsOnly checks a function that names credentials.
func dependsOnCredentialsOnly(t *testing.T, credential func(http.Header, *url.URL) string) {
	t.Helper()
	name := func(query string, headers ...string) string {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return credential(h, &url.URL{RawQuery: query})
	}
	mine := name("", "X-Api-Key", "sk-mine", "X-Request-Id", "1")
	if mine != name("alt=sse", "X-Api-Key", "sk-mine", "X-Request-Id", "2") {
		t.Error("the same credentials have two names")
	}
	for _, other := range []string{
		name(""), name("", "X-Api-Key", "sk-other"), name("", "Authorization", "sk-mine"),
		name("key=sk-mine"), name("key=sk-other"),
	} {
		if other == mine || strings.Contains(other, "mine") {
			t.Errorf("%q and %q", mine, other)
		}
	}
	signed := func(key, signature string) string {
		return name("", "Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20000101/eu-central-1/bedrock/aws4_request, Signature="+signature)
	}
	if signed("AKID", "1") != signed("AKID", "2") || signed("AKID", "1") == signed("OTHER", "1") {
		t.Error("a signature is told apart by more or less than its key")
	}
	if name("key=sk-mine&alt=sse") != name("key=sk-mine") {
		t.Error("the rest of the query tells credentials apart")
	}
}
