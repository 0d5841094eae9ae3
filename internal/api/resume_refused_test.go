package api_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
)

// storyParts have words enough to be continued by a question.
var storyParts = textParts("The old lighthouse keeper ", "climbed the spiral stairs ", "each evening, lit ", "the great lamp of the tower in the harbor, ", "and watched ", "the ships go by.")

// followed returns a Completion of an answer of which some chunks were shown.
func (d longDecode) followed(t *testing.T, chunks int, lossless bool) *api.Completion {
	t.Helper()
	a := api.NewCompletion(gemini.API(), d.form)
	a.Lossless = lossless
	a.Shown(bytes.Join(d.ask(t, longRequest)[:chunks], nil))
	return a
}

// TestCompletion_TakesAnotherWayThanTheCheckpoint has a server that does not resume the answer.
func TestCompletion_TakesAnotherWayThanTheCheckpoint(t *testing.T) {
	d := longDecode{form: api.Events, parts: storyParts}
	for name, refuse := range map[string]func(a *api.Completion) (refused bool){
		"other words than those behind the checkpoint": func(a *api.Completion) bool {
			_, err := a.Add([]byte(strings.ReplaceAll(string(d.ask(t, `{"continuationToken":"3"}`)[0]), "great", "Great")))
			a.Refuse()
			return errors.Is(err, api.ErrNoSeam)
		},
		"an end before what was shown": func(a *api.Completion) bool {
			_, err := a.Add([]byte(`data: {"candidates":[{"content":{"parts":[{"text":"the great"}]},"finishReason":"STOP"}]}` + "\n\n"))
			a.Refuse()
			return errors.Is(err, api.ErrNoSeam)
		},
		"400": func(a *api.Completion) bool { return a.Refused(400) },
		"404": func(a *api.Completion) bool { return a.Refused(404) },
	} {
		for _, lossless := range []bool{true, false} {
			a := d.followed(t, 4, lossless)
			if _, err := a.Continue([]byte(longRequest)); err != nil || !a.Resumes() {
				t.Fatalf("%s: error %v, resumes %v; want it resumed", name, err, a.Resumes())
			}
			if !refuse(a) || a.Resumes() || a.Resumable() {
				t.Errorf("%s: resumes %v, resumable %v; want it refused", name, a.Resumes(), a.Resumable())
			}
			body, err := a.Continue([]byte(longRequest))
			if _, refused := errors.AsType[api.Obstacle](err); lossless != refused || !lossless && !strings.Contains(string(body), "was interrupted") {
				t.Errorf("%s, lossless %v: the next request is %s, error %v; want one that asks for the rest, or an Obstacle", name, lossless, body, err)
			}
			if strings.Contains(string(body), "continuationToken") {
				t.Errorf("%s: the next request is %s, want it without a token", name, body)
			}
		}
	}
	for _, status := range []int{200, 401, 429, 500, 503} {
		a := d.followed(t, 4, true)
		if _, err := a.Continue([]byte(longRequest)); err != nil || a.Refused(status) || !a.Resumes() {
			t.Errorf("%d: error %v, resumes %v; want a status that says nothing about the token", status, err, a.Resumes())
		}
	}
}

// TestCompletion_HasNoCheckpoint is about answers that are not resumed.
func TestCompletion_HasNoCheckpoint(t *testing.T) {
	const before = `data: {"candidates":[{"content":{"parts":[{"text":"One two"}]}}]}` + "\n\n"
	for name, row := range map[string]struct{ request, stream string }{
		"none was stated":              {longRequest, before},
		"its token is empty":           {longRequest, before + `data: {"candidates":[{"continuationToken":""}]}` + "\n\n"},
		"it is the answer's end":       {longRequest, before + `data: {"candidates":[{"finishReason":"CONTINUATION","continuationToken":"t"}]}` + "\n\n"},
		"the end was shown behind it":  {longRequest, before + `data: {"candidates":[{"continuationToken":"t"}]}` + "\n\n" + `data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n"},
		"a text of the model names it": {longRequest, `data: {"candidates":[{"content":{"parts":[{"text":"\"continuationToken\":\"t\""}]}}]}` + "\n\n"},
		"there are several answers":    {longRequest, `data: {"candidates":[{"continuationToken":"t"},{"content":{"parts":[{"text":"a"}]}}]}` + "\n\n"},
		"several answers are wanted":   {`{"contents":[{}],"generation_config":{"candidate_count":2}}`, before + `data: {"candidates":[{"continuationToken":"t"}]}` + "\n\n"},
		"a source was shown behind it": {longRequest, before + `data: {"candidates":[{"continuationToken":"t"}]}` + "\n\n" + `data: {"candidates":[{"groundingMetadata":{"x":1}}]}` + "\n\n"},
	} {
		a := api.NewCompletion(gemini.API(), api.Events)
		a.Lossless = true
		a.Shown([]byte(row.stream))
		if body, err := a.Continue([]byte(row.request)); err == nil {
			t.Errorf("%s: it is resumed by %s, want an Obstacle", name, body)
		}
	}
}

// TestCompletion_RequestThatResumes has an answer to a request with a token. It is resumed at its own checkpoint, and its
// beginning, which is in the answer before, is not asked for.
func TestCompletion_RequestThatResumes(t *testing.T) {
	d := longDecode{form: api.Events, parts: append(textParts("", "", ""), storyParts...)}
	for _, member := range []string{"continuationToken", "continuation_token"} {
		request := strings.Replace(longRequest, "{", `{"`+member+`":"3",`, 1)
		first := d.ask(t, strings.Replace(request, member, "continuationToken", 1))
		a := api.NewCompletion(gemini.API(), api.Events)
		a.Shown(bytes.Join(first[:2], nil))
		if _, err := a.Continue([]byte(request)); !errors.Is(err, api.WantsRest) {
			t.Errorf("%s: before a checkpoint: error %v, want %v", member, err, api.WantsRest)
		}
		a = api.NewCompletion(gemini.API(), api.Events)
		a.Shown(bytes.Join(first[:3], nil))
		want := strings.Replace(request, `"3"`, `"6"`, 1)
		if body, err := a.Continue([]byte(request)); err != nil || string(body) != want {
			t.Errorf("%s: got %s, error %v, want %s", member, body, err, want)
		}
	}
}

// TestCompletion_AskedRestHasNoCheckpoints has a rest that was asked for, in whose request the client's token would stand
// with other contents.
func TestCompletion_AskedRestHasNoCheckpoints(t *testing.T) {
	d := longDecode{form: api.Events, parts: storyParts}
	a := d.followed(t, 2, false)
	body, err := a.Continue([]byte(longRequest))
	if err != nil || !strings.Contains(string(body), "was interrupted") {
		t.Fatalf("before a checkpoint: got %s, error %v, want a question", body, err)
	}
	send, err := a.Add(bytes.Join(d.ask(t, longRequest)[:5], nil))
	if err != nil || !strings.Contains(string(send), "and watched") || strings.Contains(string(send), "continuationToken") {
		t.Errorf("shown of the rest: %s, error %v; want the words of its fifth chunk, and no token", send, err)
	}
	if body, _ = a.Continue([]byte(longRequest)); strings.Contains(string(body), "continuationToken") {
		t.Errorf("the next request is %s, want it without a token", body)
	}
}

// TestRequestDigest_TokenCounts has a client's request that resumes an answer be another one than the first, and than that
// with the next token.
func TestRequestDigest_TokenCounts(t *testing.T) {
	seen := map[api.Digest]string{}
	for _, request := range []string{
		longRequest, strings.Replace(longRequest, "{", `{"continuationToken":"dG9rZW4x",`, 1), strings.Replace(longRequest, "{", `{"continuationToken":"dG9rZW4y",`, 1),
	} {
		d := gemini.API().NewRequestDigest(api.DigestSeed{})
		d.Scan([]byte(request))
		sum, ok := d.Sum()
		if before := seen[sum]; !ok || before != "" {
			t.Errorf("the digest of %s is that of %q, ok %v; want another one", request, before, ok)
		}
		seen[sum] = request
	}
}

// TestCompletion_ResumedTokensBilledTwice counts the prompt that was read again, and what was repeated.
func TestCompletion_ResumedTokensBilledTwice(t *testing.T) {
	d := longDecode{form: api.Events, parts: storyParts}
	a := d.followed(t, 4, true)
	body, err := a.Continue([]byte(longRequest))
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range d.ask(t, string(body)) {
		if _, err := a.Add(frame); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := a.BilledTwice(), 13+api.Tokens("the great lamp of the tower in the harbor, "); got != want {
		t.Errorf("billed twice: got %d tokens, want %d: the prompt of the second request and the words behind the checkpoint", got, want)
	}
}
