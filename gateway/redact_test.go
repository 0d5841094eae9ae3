package gateway_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// ownKey is the key of an upstream, which no client may see.
const ownKey = "sk-own-0123456789-abcdef/xyz"

// keyed returns a gateway whose upstreams have ownKey, in front of a provider.
func keyed(t *testing.T, provider roundTrip) *harness {
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Key = func() (string, error) { return ownKey, nil }
	}
	return newHarnessWith(t, gateway.Config{Policy: policy.Policy{Retries: 1}, Upstreams: upstreams, Base: provider.reading()})
}

// reading is a provider that reads the request before it answers.
func (f roundTrip) reading() roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			_, _ = io.Copy(io.Discard, req.Body)
			_ = req.Body.Close()
		}
		return f(req)
	}
}

// bubble runs a part of a test in a bubble.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// escapedJSON writes each character of a key that is no letter or digit as \u00XX.
func escapedJSON(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		if c >= '0' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// forms are texts in which a reader finds ownKey.
var forms = map[string]string{
	"plain":          ownKey,
	"JSON-escaped":   escapedJSON(ownKey),
	"JSON in JSON":   strings.ReplaceAll(escapedJSON(ownKey), `\`, `\\`),
	"with \\/":       strings.ReplaceAll(ownKey, "/", `\/`),
	"percent":        url.QueryEscape(strings.ReplaceAll(ownKey, "-", "\x00")),
	"base64":         base64.StdEncoding.EncodeToString([]byte("Bearer " + ownKey)),
	"base64 for URL": base64.RawURLEncoding.EncodeToString([]byte(":" + ownKey)),
}

// holds reports whether a text shows ownKey in one of the forms.
func holds(text string) bool {
	for _, form := range forms {
		if strings.Contains(text, form) {
			return true
		}
	}
	return strings.Contains(text, ownKey[:len(ownKey)-3]) || strings.Contains(text, forms["base64"][12:30])
}

func TestOwnKey_NeverReachesAClient(t *testing.T) {
	forms["percent"] = strings.NewReplacer("-", "%2D", "/", "%2f").Replace(ownKey)
	const jsonType = "application/json"
	for name, form := range forms {
		errorEvent := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"key " + form + "\"}}\n\n"
		for what, provider := range map[string]roundTrip{
			"a header":             says(200, "{}", "Content-Type", jsonType, "X-Debug", "key "+form),
			"a header of an error": says(400, "{}", "Content-Type", jsonType, "X-Request-Id", form),
			"a whole answer":       says(200, `{"content":"key `+form+`"}`, "Content-Type", jsonType),
			"a stream":             says(200, messageStart+messageHi+errorEvent),
			"an error in a 200":    says(200, messageStart+errorEvent),
			"an error":             says(401, `{"error":{"message":"key `+form+`"}}`, "Content-Type", jsonType),
			"a large error":        says(500, `{"error":{"message":"`+strings.Repeat("no ", 1<<19)+form+`"}}`, "Content-Type", jsonType),
			"an error of connection": func(*http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("malformed HTTP response %q", form)
			},
			"a redirection": says(307, "", "Location", "https://elsewhere.test/?key="+form),
		} {
			for _, path := range []string{"/v1/messages", "/v1/files"} {
				bubble(t, name+", "+what+", "+path, func(t *testing.T) {
					w := keyed(t, func(req *http.Request) (*http.Response, error) {
						resp, err := provider(req)
						if resp != nil && what != "a large error" {
							resp.Body = io.NopCloser(iotest.OneByteReader(resp.Body))
						}
						return resp, err
					})
					w.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
					resp, text, _ := w.get(path, claude)
					if all := fmt.Sprintln(resp.Header) + text; holds(all) {
						t.Errorf("%s, %s, %s: the client sees %q", name, what, path, all[max(0, len(all)-400):])
					}
					synctest.Wait() // its end is an event behind its last byte
					if all := fmt.Sprintf("%+v", w.all); holds(all) {
						t.Errorf("%s, %s, %s: the events have %q", name, what, path, all[:min(len(all), 1000)])
					}
					if what == "a large error" && !strings.HasSuffix(text, `"}}`) {
						t.Errorf("%s, %s, %s: the answer is cut: %d bytes", name, what, path, len(text))
					}
				})
			}
		}
	}
}

func TestOwnKey_OfOneLetterLeavesErrorsReadable(t *testing.T) {
	const refusal = `{"error":{"message":"max context exceeded for key sk-1234","type":"invalid_request_error","code":"context_length_exceeded"}}`
	for key, want := range map[string]string{
		"x":       refusal,
		"e":       refusal,
		"sk-1234": strings.ReplaceAll(refusal, "sk-1234", "*******"),
	} {
		bubble(t, key, func(t *testing.T) {
			h := newHarnessWith(t, gateway.Config{
				Upstreams: []gateway.Upstream{{Name: "local", API: "openai", Base: address("provider.test"), Key: func() (string, error) { return key, nil }}},
				Base:      says(400, refusal, "Content-Type", "application/json").reading(),
			})
			if _, got, _ := h.get("/v1/chat/completions", `{"model":"m","messages":[]}`); got != want {
				t.Errorf("key %q: the client gets %s, want %s", key, got, want)
			}
		})
	}
}

func TestOwnKey_NotInTrailersInterimOrCompressedAnswers(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"key":"`+ownKey+`"}`)
	_ = z.Close()
	for what, provider := range map[string]roundTrip{
		"gzip": says(200, packed.String(), "Content-Type", "application/json", "Content-Encoding", "gzip"),
		"a trailer": func(req *http.Request) (*http.Response, error) {
			resp, _ := says(200, "{}")(req)
			resp.Trailer = http.Header{"X-Debug": {ownKey}}
			return resp, nil
		},
		"an interim answer": func(req *http.Request) (*http.Response, error) {
			if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.Got1xxResponse != nil {
				_ = trace.Got1xxResponse(103, textproto.MIMEHeader{"Link": {ownKey}})
			}
			return says(200, "{}")(req)
		},
	} {
		for _, path := range []string{"/v1/messages", "/v1/files"} {
			bubble(t, what+", "+path, func(t *testing.T) {
				w := keyed(t, provider)
				var interim []textproto.MIMEHeader
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
					interim = append(interim, h)
					return nil
				}})
				resp, err := w.ask(ctx, path, claude)
				if err != nil {
					t.Fatalf("%s, %s: %v", what, path, err)
				}
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body)
				if resp.Header.Get("Content-Encoding") == "gzip" {
					plain, _ := gzip.NewReader(bytes.NewReader(text))
					text, _ = io.ReadAll(plain)
				}
				if all := fmt.Sprint(resp.Header, resp.Trailer, interim, string(text)); holds(all) {
					t.Errorf("%s, %s: the client sees %s", what, path, all)
				}
			})
		}
	}
}

// upgraded is an upgraded connection to an upstream that repeats what it reads.
type upgraded struct{ *io.PipeReader }

func (u upgraded) Write(p []byte) (int, error) { return len(p), nil }

func TestOwnKey_MaskedInAnUpgradedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := keyed(t, func(req *http.Request) (*http.Response, error) {
			r, upstream := io.Pipe()
			go func() {
				_, _ = io.WriteString(upstream, "key "+req.Header.Get("Authorization")+"\n")
				_ = upstream.Close()
			}()
			return &http.Response{StatusCode: 101, Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}}, Body: upgraded{r}}, nil
		})
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://gateway.test/v1/realtime", nil)
		req.Header = http.Header{"Connection": {"Authorization, Upgrade"}, "Upgrade": {"echo"}, "Authorization": {"Bearer of-the-client"}}
		resp, err := w.Do(req)
		if err != nil || resp.StatusCode != 101 {
			t.Fatalf("response %v, error %v; want status 101", resp, err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if want := "key Bearer " + strings.Repeat("*", len(ownKey)) + "\n"; string(text) != want {
			t.Errorf("the client reads %q, want %q", text, want)
		}
	})
}

func TestOwnKey_RefusesAnswersThatCannotBeRead(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		bubble(t, path, func(t *testing.T) {
			w := keyed(t, says(200, "\x1b\x02", "Content-Type", "application/json", "Content-Encoding", "compress"))
			resp, text, _ := w.get(path, claude)
			if resp.StatusCode < 500 || !strings.Contains(text, "content coding compress, in which its key could pass unseen") {
				t.Errorf("%s: status %d, %s; want an error that names the coding", path, resp.StatusCode, text)
			}
		})
	}
}

func TestGateway_RefusesMethodsThatEcho(t *testing.T) {
	for _, method := range []string{"TRACE", "OPTIONS", "PROPFIND", "FOO"} {
		for _, path := range []string{"/v1/messages", "/v1/files", "/anthropic/v1/models"} {
			bubble(t, method+" "+path, func(t *testing.T) {
				w := keyed(t, func(*http.Request) (*http.Response, error) { return nil, errors.New("the upstream was asked") })
				req, _ := http.NewRequestWithContext(t.Context(), method, "http://gateway.test"+path, nil)
				resp, err := w.Do(req)
				if err != nil {
					t.Fatalf("%s %s: %v", method, path, err)
				}
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != 405 || resp.Header.Get("Allow") == "" {
					t.Errorf("%s %s: status %d, Allow %q, body %s; want 405 with Allow", method, path, resp.StatusCode, resp.Header.Get("Allow"), text)
				}
			})
		}
	}
}

func TestOutgoing_ConnectionHeaderStripsNoCredentialOrMark(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		for _, own := range []bool{true, false} {
			bubble(t, fmt.Sprintf("%s, own key %v", path, own), func(t *testing.T) {
				var seen http.Header
				provider := roundTrip(func(req *http.Request) (*http.Response, error) {
					seen = req.Header
					return says(200, "{}")(req)
				})
				w := newHarnessOf(t, policy.Policy{}, provider.reading())
				if own {
					w = keyed(t, provider)
				}
				_, _, _ = w.get(path, claude, "X-Api-Key", "key-of-the-client", "Authorization", "Bearer client", "X-Hop", "1", "X-Ridethrough-Via", "another",
					"Connection", "X-Hop, authorization, x-api-key, X-Ridethrough-Via, Anthropic-Version, keep-alive", "Anthropic-Version", "2023-06-01")
				if len(seen["X-Ridethrough-Via"]) != 2 || seen.Get("X-Api-Key") == "" || seen.Get("X-Hop") != "" {
					t.Errorf("%s, own key %v: sent %v, want X-Api-Key, two marks and no X-Hop", path, own, seen)
				}
			})
		}
	}
}
