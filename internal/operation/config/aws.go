package config

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/sigv4"
)

// bedrock is the API whose upstreams have a region.
const bedrock = "bedrock"

// awsCredentials sign the requests to an upstream.
type awsCredentials struct{ accessKey, secretKey, sessionToken secret }

// credentials is the codec of awsCredentials.
func credentials() codec[awsCredentials] {
	return object(
		&schema{
			name: "aws", about: "The AWS credentials with which each request is signed.",
			expected: "access-key, secret-key and session-token", Required: []string{"access-key", "secret-key"},
		}, checkPair,
		newField("access-key", secrets(), func(a *awsCredentials) *secret { return &a.accessKey }, fieldDoc{"The id of the access key.", "", "required"}),
		newField("secret-key", secrets(), func(a *awsCredentials) *secret { return &a.secretKey }, fieldDoc{"The secret access key.", "", "required"}),
		newField("session-token", secrets(), func(a *awsCredentials) *secret { return &a.sessionToken }, fieldDoc{"The session token of temporary credentials.", "", "they are not temporary"}),
	)
}

// checkPair checks that both keys of AWS credentials are there.
func checkPair(r *reader, n *node, _ *awsCredentials) {
	if n.field("access-key") == nil || n.field("secret-key") == nil {
		r.fail(n, "AWS credentials need the fields access-key and secret-key")
	}
}

// region is the codec of an AWS region.
func region() codec[string] {
	return checkedText("an AWS region such as eu-central-1", `^[a-z]{2,}(-[a-z0-9]+)+$`, func(s string) bool {
		parts := strings.Split(s, "-")
		return len(parts) > 1 && len(parts[0]) > 1 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
			strings.Trim(parts[0], "abcdefghijklmnopqrstuvwxyz") == "" && !strings.Contains(s+"-", "--")
	})
}

// regionOf returns the region of an upstream: the configured one, that of its address or of the environment, or
// else the one of the API's default address.
func (m *mapper) regionOf(u upstream) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(u.url, "https://bedrock-runtime."), ".")
	if !strings.HasPrefix(u.url, "https://bedrock-runtime.") {
		host = ""
	}
	return cmp.Or(u.region, host, m.env("AWS_REGION"), m.env("AWS_DEFAULT_REGION"), "us-east-1")
}

// aws sets the address and the signatures of an upstream of Amazon's.
func (m *mapper) aws(made *gateway.Upstream, u upstream) {
	at := "upstreams." + made.Name
	signs := u.aws != (awsCredentials{})
	switch {
	case u.api != bedrock && (signs || u.region != ""):
		m.report(at, "region and aws are for the API bedrock, and this is %s", u.api)
		return
	case u.api != bedrock:
		return
	case signs && u.key != (secret{}):
		m.report(at+".aws", "key and aws exclude each other: a request has a Bedrock API key, or is signed")
		return
	}
	if made.Base == nil {
		made.Base = bedrockURL(m.regionOf(u))
	}
	if !signs {
		return
	}
	from := sigv4.Credentials{AccessKey: m.secret(at+".aws.access-key", "access-key", u.aws.accessKey), SecretKey: m.secret(at+".aws.secret-key", "secret-key", u.aws.secretKey)}
	if u.aws.sessionToken != (secret{}) {
		from.SessionToken = m.secret(at+".aws.session-token", "session-token", u.aws.sessionToken)
	}
	made.Sign = sigv4.Signer(bedrock, m.regionOf(u), from)
}

// bedrockURL returns the address of Bedrock's runtime in a region.
func bedrockURL(region string) *url.URL {
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return &url.URL{Scheme: "https", Host: "bedrock-runtime." + region + domain}
}
