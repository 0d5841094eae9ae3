// Package sigv4 signs requests with AWS credentials (Signature Version 4), for upstreams whose clients have
// no credentials, or none that can be passed on: a signature is for one host. The signing itself is the AWS SDK's.
//
// It finds no credentials by itself. The AWS SDK's search for them, in profiles, containers and machines, is
// larger than the gateway.
package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Credentials are asked for before each signature, since temporary ones are replaced.
type Credentials struct {
	AccessKey, SecretKey func() (string, error)
	SessionToken         func() (string, error) // nil: they are not temporary
}

// Signer returns a function that signs a request for a service in a region. It reads the body with GetBody. The
// host and the type of the content are signed, and what the signature itself adds.
func Signer(service, region string, from Credentials) func(*http.Request) error {
	signer := v4.NewSigner()
	return func(r *http.Request) error {
		credentials, err := from.read()
		if err != nil {
			return err
		}
		hash, err := hashBody(r)
		if err != nil {
			return fmt.Errorf("read the body: %w", err)
		}
		signed := r.WithContext(r.Context())
		signed.Header, signed.ContentLength = http.Header{}, 0
		if kind := r.Header["Content-Type"]; kind != nil {
			signed.Header["Content-Type"] = kind
		}
		if err := signer.SignHTTP(r.Context(), credentials, signed, hash, service, region, time.Now()); err != nil {
			return err
		}
		for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"} {
			delete(r.Header, name)
			if v := signed.Header[name]; v != nil {
				r.Header[name] = v
			}
		}
		return nil
	}
}

// read returns the current credentials.
func (c Credentials) read() (aws.Credentials, error) {
	access, err1 := c.AccessKey()
	secret, err2 := c.SecretKey()
	token, err3 := "", error(nil)
	if c.SessionToken != nil {
		token, err3 = c.SessionToken()
	}
	return aws.Credentials{AccessKeyID: access, SecretAccessKey: secret, SessionToken: token}, errors.Join(err1, err2, err3)
}

// errReadOnce is the error of a body that can be read only once.
var errReadOnce = errors.New("it cannot be read again")

// hashBody returns the hash of a request's body in hexadecimal digits.
func hashBody(r *http.Request) (string, error) {
	h := sha256.New()
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return "", errReadOnce
		}
		body, err := r.GetBody()
		if err != nil {
			return "", err
		}
		defer body.Close()
		if _, err := io.Copy(h, body); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
