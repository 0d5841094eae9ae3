package gateway_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

const (
	invoke   = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}`
	converse = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`

	profile    = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	said       = "The provider is well again, and this is all that it has to say."
	awsEvents  = "application/vnd.amazon.eventstream"
	streamPath = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"
)

// bedrocks are the four ways to ask Amazon Bedrock.
var bedrocks = []struct{ path, body, last string }{
	{"/model/anthropic.claude-3-haiku-20240307-v1:0/invoke", invoke, ""},
	{streamPath, invoke, "message_stop"},
	{"/model/" + url.PathEscape(profile) + "/converse", converse, ""},
	{"/model/" + url.PathEscape(profile) + "/converse-stream", converse, "metadata"},
}

// awsAnswer is an answer of Bedrock's as a client of it sees it.
type awsAnswer struct {
	names      []string // of the events, and of the exception at the end
	text       string
	keepalives int
	broken     string // what AWS's decoder says of the end; "": it is between two messages
}

// has reports whether an exception ends the answer.
func (a awsAnswer) exception() string {
	if n := len(a.names); n > 0 && strings.HasSuffix(a.names[n-1], "Exception") {
		return a.names[n-1]
	}
	return ""
}

// readBedrock reads an answer, streamed or not.
func readBedrock(t *testing.T, body string) (a awsAnswer) {
	t.Helper()
	if strings.HasPrefix(strings.TrimLeft(body, " "), "{") {
		a.add(t, "", []byte(body))
		return a
	}
	for r := strings.NewReader(body); r.Len() > 0; {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			a.broken = err.Error()
			return a
		}
		name := m.Headers.Get(":event-type")
		if m.Headers.Get(":message-type").String() == "exception" {
			name = m.Headers.Get(":exception-type")
		}
		a.add(t, name.String(), m.Payload)
	}
	return a
}

// add adds an event, or a whole answer.
func (a *awsAnswer) add(t *testing.T, name string, payload []byte) {
	t.Helper()
	var event struct {
		Bytes   []byte
		Type    string
		Message json.RawMessage
		Delta   struct{ Text string }
		Content []struct{ Text string }
		Output  struct {
			Message struct{ Content []struct{ Text string } }
		}
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		t.Fatalf("the payload of %q is %q: %v", name, payload, err)
	}
	switch {
	case name == "keepalive":
		a.keepalives++
		return
	case name == "chunk":
		a.add(t, "", event.Bytes)
		return
	case name == "":
		name = event.Type
	}
	a.names = append(a.names, name)
	a.text += event.Delta.Text
	for _, c := range append(event.Content, event.Output.Message.Content...) {
		a.text += c.Text
	}
}

func TestBedrock_RetriesFaultsBeforeContent(t *testing.T) {
	faults := []string{
		"429;retry-after=7", "408", "424", "503", "500", "refused", "reset", "error-first", "role-error",
		"cut:0", "cut:0:clean", "empty", "html", "error-200",
	}
	for _, api := range bedrocks {
		for _, fault := range faults {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, fault)})
				resp, body, err := w.get(api.path, api.body, "Authorization", "Bearer bedrock-api-key")
				got := readBedrock(t, body)
				if err != nil || resp.StatusCode != 200 || got.text != said || got.broken != "" || got.exception() != "" {
					t.Errorf("%s after %s: %d %+v, %v; want the text %q", api.path, fault, resp.StatusCode, got, err, said)
				}
				if api.last != "" && (got.names[len(got.names)-1] != api.last || resp.Header.Get("Content-Type") != awsEvents) {
					t.Errorf("%s after %s: %s ends with %v", api.path, fault, resp.Header.Get("Content-Type"), got.names)
				}
				all := w.provider.Requests()
				if len(all) != 2 || len(w.events) != 2 {
					t.Errorf("%s after %s: %d requests (%s), %d events", api.path, fault, len(all), w.outcomes(), len(w.events))
				}
				if last := all[len(all)-1]; last.Header.Get("Authorization") != "Bearer bedrock-api-key" {
					t.Errorf("%s: the provider was sent the credential %q", api.path, last.Header.Get("Authorization"))
				}
			})
		}
	}
}

// From the second failure on the client gets messages that its SDK skips, and all of them are whole.
func TestBedrock_HoldsThroughAnOutage(t *testing.T) {
	for _, api := range bedrocks {
		synctest.Test(t, func(t *testing.T) {
			outage := []simulator.Outage{{To: 15 * time.Minute, Reply: simulator.Status{Code: 503}}}
			w := newHarness(t, policy.Patient(), simulator.Script{Outages: outage})
			resp, body, err := w.get(api.path, api.body)
			got := readBedrock(t, body)
			if err != nil || resp.StatusCode != 200 || got.text != said || got.broken != "" {
				t.Errorf("%s: %d %+v, %v; want the text %q", api.path, resp.StatusCode, got, err, said)
			}
			if api.last != "" && got.keepalives < 90 {
				t.Errorf("%s: %d keepalives in %v; want one every 10 s", api.path, got.keepalives, time.Since(w.begun))
			}
		})
	}
}

func TestBedrock_CutAfterContentEndsInAnException(t *testing.T) {
	for _, api := range bedrocks {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			if api.last == "" {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, cut)})
				_, body, err := w.get(api.path, api.body)
				got := readBedrock(t, body)
				if err != nil || got.exception() != "modelStreamErrorException" || got.text != "The provider is " || got.broken != "" {
					t.Errorf("%s, %s: %+v, %v; want three words and modelStreamErrorException", api.path, cut, got, err)
				}
				if n := len(w.provider.Requests()); n != 1 || w.failure().Stop != policy.Committed {
					t.Errorf("%s, %s: %d requests, events %+v", api.path, cut, n, w.events)
				}
			})
		}
	}
}

func TestBedrock_ExceptionAfterContentPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "cut:3:error")})
		_, body, err := w.get(streamPath, invoke)
		if got := readBedrock(t, body); err != nil || got.exception() != "serviceUnavailableException" || strings.Count(body, "xception-type") != 1 {
			t.Errorf("%+v, %v; want the provider's one exception", got, err)
		}
	})
}

// script answers each request with the next body, which then ends or breaks off.
type script struct {
	bodies [][]byte
	cut    bool
	asked  int
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	body := io.Reader(bytes.NewReader(s.bodies[min(s.asked, len(s.bodies)-1)]))
	if s.asked++; s.cut && s.asked == 1 {
		body = io.MultiReader(body, errReader{})
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {awsEvents}}, Body: io.NopCloser(body), Request: req, ContentLength: -1,
	}, nil
}

// errReader is a connection that breaks off.
type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A cut or damaged message is not content: before the first content it causes another try, after that the end.
func TestBedrock_DamagedMessages(t *testing.T) {
	provider := simulator.New(simulator.Script{})
	t.Cleanup(func() { _ = provider.Close() })
	resp, err := provider.Client().Post("http://provider.test"+streamPath, "application/json", strings.NewReader(invoke))
	if err != nil {
		t.Fatalf("ask the provider: %v", err)
	}
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read its answer: %v", err)
	}
	first := int(binary.BigEndian.Uint32(whole))                   // message_start
	second := first + int(binary.BigEndian.Uint32(whole[first:]))  // content_block_start
	third := second + int(binary.BigEndian.Uint32(whole[second:])) // the first word
	fourth := third + int(binary.BigEndian.Uint32(whole[third:]))
	damaged := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 0x20
		return b
	}
	tests := []struct {
		name  string
		body  []byte
		cut   bool
		words string // that reach the client before the exception; "": the request is sent again
	}{
		{"cut inside the first message", whole[:first-9], true, ""},
		{"ended inside the first message", whole[:first-9], false, ""},
		{"cut inside a prelude", whole[:second+5], true, ""},
		{"a wrong checksum before content", damaged(second + 40), false, ""},
		{"a wrong length before content", damaged(second), false, ""},
		{"cut inside the second word", whole[:fourth-9], true, "The "},
		{"ended inside the second word", whole[:fourth-9], false, "The "},
		{"a wrong checksum behind content", damaged(fourth - 9), false, "The "},
		{"a wrong length behind content", damaged(third), false, "The "},
		{"a page behind content", append(bytes.Clone(whole[:third]), "<html>Bad gateway</html>"...), false, "The "},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			upstream := &script{bodies: [][]byte{tt.body, whole}, cut: tt.cut}
			w := newHarnessOf(t, policy.Patient(), upstream)
			_, body, err := w.get(streamPath, invoke)
			got := readBedrock(t, body)
			want, asked, exception := said, 2, ""
			if tt.words != "" {
				want, asked, exception = tt.words, 1, "modelStreamErrorException"
			}
			if err != nil || got.text != want || got.broken != "" || got.exception() != exception || upstream.asked != asked {
				t.Errorf("%s: %d requests, %+v, %v; want %d, the text %q and the exception %q", tt.name, upstream.asked, got, err, asked, want, exception)
			}
		})
	}
}

func TestBedrock_GivesUpInItsOwnForm(t *testing.T) {
	tests := []struct {
		fault, agent string
		status       int
		kind         string
	}{
		{"503", "aws-sdk-js/3.1", 503, "ServiceUnavailableException"},
		{"429", "Boto3/1.40", 429, "ThrottlingException"},
		{"403", "Boto3/1.40", 403, "AccessDeniedException"},
		{"reset", "aws-sdk-go-v2/1.47", 503, "ServiceUnavailableException"},
		{"503", "claude-cli/2.1.330 (external, cli)", 400, "ValidationException"},
	}
	for _, tt := range tests {
		for _, api := range bedrocks {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Policy{Retries: 1}, simulator.Script{Then: replies(t, tt.fault)[0]})
				resp, body, _ := w.get(api.path, api.body, "User-Agent", tt.agent)
				kind := resp.Header.Get("X-Amzn-Errortype")
				var said struct{ Message string }
				if resp.StatusCode != tt.status || kind != tt.kind || json.Unmarshal([]byte(body), &said) != nil || said.Message == "" {
					t.Errorf("%s, %s for %s: %d %q %s; want %d %s", api.path, tt.fault, tt.agent, resp.StatusCode, kind, body, tt.status, tt.kind)
				}
			})
		}
	}
}

// Behind the status 200 of a hold the error is an exception, and the stream ends cleanly.
func TestBedrock_GivesUpInsideTheStream(t *testing.T) {
	for _, api := range bedrocks {
		if api.last == "" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			steps := policy.Policy{Retries: 3, MaxWait: time.Hour, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}
			w := newHarness(t, steps, simulator.Script{Then: simulator.Status{Code: 503}})
			resp, body, err := w.get(api.path, api.body)
			got := readBedrock(t, body)
			if err != nil || resp.StatusCode != 200 || got.broken != "" || got.exception() != "serviceUnavailableException" || got.keepalives == 0 {
				t.Errorf("%s: %d %+v, %v; want keepalives, then serviceUnavailableException", api.path, resp.StatusCode, got, err)
			}
		})
	}
}

// A fallback with another model has it in the path.
func TestBedrock_FallbackAsksForItsOwnModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(simulator.Script{Replies: replies(t, "503*2")})
		t.Cleanup(func() { _ = provider.Close() })
		w := newHarnessWith(t, gateway.Config{Base: provider.Transport(), Policy: policy.Policy{Retries: 1}, Upstreams: []gateway.Upstream{{
			Name: "bedrock", API: "bedrock", Base: address("provider.test"), Limits: &gateway.Limits{},
			Fallback: []gateway.Fallback{{To: "bedrock", Model: profile}},
		}}})
		_, body, err := w.get("/model/anthropic.claude-opus/converse", converse)
		all := provider.Requests()
		if got := readBedrock(t, body); err != nil || got.text != said || len(all) != 3 || all[2].Path != "/model/"+profile+"/converse" {
			t.Errorf("%+v, %v after %+v; want an answer of %s", got, err, all, profile)
		}
	})
}

// The AWS SDKs number their tries, and sign each: one that follows a give-up is refused without asking the provider,
// and one that comes back in a wait joins it.
func TestBedrock_RepetitionsOfAWSSDKsAreKnown(t *testing.T) {
	signed := func(signature string) string {
		return "AWS4-HMAC-SHA256 Credential=AKID/20000101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=" + signature
	}
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(simulator.Script{Then: simulator.Status{Code: 503}})
		t.Cleanup(func() { _ = provider.Close() })
		w := signing(t, "", provider.Transport())
		first := make(chan int)
		go func() {
			resp, err := w.ask(t.Context(), "/model/a/converse", converse, "Authorization", signed("1"), "Amz-Sdk-Request", "attempt=1; max=3")
			if err != nil {
				first <- 0
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
			first <- resp.StatusCode
		}()
		time.Sleep(20 * time.Second)
		second := make(chan struct{})
		go func() {
			defer close(second)
			_, _, _ = w.get("/model/a/converse", converse, "Authorization", signed("2"), "Amz-Sdk-Request", "attempt=2; max=3")
		}()
		time.Sleep(time.Second)
		if waits := w.gateway.Waits(); len(waits) != 2 || len(provider.Requests()) != 3 {
			t.Errorf("%d calls wait after %d requests to the provider, want 2 after 3: the second has joined", len(waits), len(provider.Requests()))
		}
		for _, wait := range w.gateway.Waits() {
			w.gateway.Act(wait.Call.ID, gateway.GiveUp)
		}
		<-first
		<-second
		asked := len(provider.Requests())
		resp, body, _ := w.get("/model/a/converse", converse, "Authorization", signed("3"), "Amz-Sdk-Request", "attempt=3; max=3")
		if resp.StatusCode != 503 || !strings.Contains(body, "has just been given up") || len(provider.Requests()) != asked {
			t.Errorf("after the give-up: %d %s, %d more requests to the provider", resp.StatusCode, body, len(provider.Requests())-asked)
		}
	})
}
