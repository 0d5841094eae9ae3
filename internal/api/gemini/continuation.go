package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// continuation is an answer of Google's API.
type continuation struct {
	ids    api.Object // the members that identify the first answer
	prompt []byte     // the tokens of the first request, as it said
}

func (m *continuation) Check(request api.Object, shown string) api.Obstacle {
	request, _ = unwrapped(request, "request")
	config := camel(camel(request).Child("generationConfig"))
	kind := api.TextOf(config.Get("responseMimeType"))
	switch {
	case request.Get("contents") == nil:
		return "its request has no contents"
	case camel(request).Has(tokenMember):
		return api.WantsRest
	case api.TextOf(api.At(api.LastOf(request.Get("contents")), "role")) == "model":
		return api.EndsInAnswer
	case api.TextOf(camel(camel(camel(request).Child("toolConfig")).Child("functionCallingConfig")).Get("mode")) == "ANY":
		return api.WantsTool
	case kind != "" && kind != "text/plain", config.HasAny("responseSchema", "responseJsonSchema"):
		return api.WantsJSON
	case config.HasAny("responseLogprobs", "logprobs"):
		return api.WantsProbs
	case api.Number(config.Get("candidateCount")) > 1:
		return api.WantsSeveral
	case searches(request.Get("tools")):
		return api.WantsSources
	case slices.ContainsFunc(api.ElementsOf(config.Get("responseModalities")), func(v []byte) bool { return api.TextOf(v) != "TEXT" }):
		return api.WantsMedia
	case api.StopFits(api.ElementsOf(config.Get("stopSequences")), shown):
		return api.StopsThere
	}
	return ""
}

// tokenMember has the token of a checkpoint: in a candidate, of the place after the chunk; in a request, which still
// has its contents, of the place at which the answer is resumed
// (https://ai.google.dev/gemini-api/docs/generate-content/long-decode).
const tokenMember = "continuationToken"

func (*continuation) Checkpoint(data []byte) (token []byte) { return checkpoint(data) }

// checkpoint returns the token of a chunk, or nil. The token in the last chunk of an answer is for the client, whose
// next request has it.
func checkpoint(data []byte) (token []byte) {
	if !bytes.Contains(data, []byte(`"`+tokenMember+`"`)) {
		return nil
	}
	if inner := api.Member(data, "response"); inner != nil {
		data = inner
	}
	candidates := api.ElementsOf(api.Member(data, "candidates"))
	if len(candidates) != 1 || !api.IsEmpty(api.Member(candidates[0], "finishReason")) {
		return nil
	}
	if token = api.Member(candidates[0], tokenMember); api.IsEmpty(token) {
		return nil
	}
	return token
}

// Resume returns the request with a token. Its limit of tokens is that of all requests for one answer.
func (*continuation) Resume(request api.Object, token []byte) (api.Object, error) {
	inner, around := unwrapped(request, "request")
	switch all := camel(inner); {
	case inner.Get("contents") == nil:
		return nil, api.Obstacle("its request has no contents")
	case api.Number(camel(all.Child("generationConfig")).Get("candidateCount")) > 1:
		return nil, api.WantsSeveral
	}
	member := tokenMember
	if inner.Get("continuation_token") != nil {
		member = "continuation_token"
	}
	if inner = inner.Set(member, token); around == nil {
		return inner, nil
	}
	return around.Set("request", inner.JSON()), nil
}

// searches reports whether an answer may quote what it found.
func searches(tools []byte) bool {
	for _, raw := range api.ElementsOf(tools) {
		t, _ := api.ParseObject(raw)
		t = camel(t)
		if t.Get("googleSearch") != nil || t.Get("googleSearchRetrieval") != nil || t.Get("urlContext") != nil {
			return true
		}
	}
	return false
}

// camel returns an object with the names of its members as the API documents them; it also accepts names with
// underscores.
func camel(o api.Object) api.Object {
	all := slices.Clone(o)
	for i := range all {
		words := strings.Split(all[i].Key, "_")
		for j, w := range words[1:] {
			if w != "" {
				words[j+1] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		all[i].Key = strings.Join(words, "")
	}
	return all
}

// unwrapped returns what is in a member of a request or a chunk of Code Assist's, which Gemini CLI uses: one of
// Google's API. Others are returned as they are. around is what it was in; nil: nothing.
func unwrapped(o api.Object, key string) (inner, around api.Object) {
	if inner = o.Child(key); inner != nil && o.Get("contents") == nil && o.Get("candidates") == nil {
		return inner, o
	}
	return o, nil
}

func (m *continuation) Extend(request api.Object, t api.Turns) (api.Object, error) {
	inner, around := unwrapped(request, "request")
	inner, err := m.extendInner(inner, t)
	if err != nil || around == nil {
		return inner, err
	}
	return around.Set("request", inner.JSON()), nil
}

func (m *continuation) extendInner(request api.Object, t api.Turns) (api.Object, error) {
	for _, key := range []string{"generationConfig", "generation_config"} {
		config := request.Child(key)
		if config == nil {
			continue
		}
		for _, limit := range []string{"maxOutputTokens", "max_output_tokens"} {
			var err error
			if config, err = api.Deduct(config, limit, t); err != nil {
				return nil, err
			}
		}
		request = request.Set(key, config.JSON())
	}
	return api.AddTurns(request, "contents", "model", "parts", t, api.PlainBlock), nil
}

func (m *continuation) Note(_ *api.Completion, data []byte) {
	if inner := api.Member(data, "response"); inner != nil {
		data = inner
	}
	if m.ids == nil {
		m.ids = api.Pick(data, "responseId", "modelVersion")
	}
	if usage := api.Member(data, "usageMetadata"); usage != nil {
		m.prompt = append(m.prompt[:0], api.Member(usage, "promptTokenCount")...)
	}
}

func (m *continuation) Join(c *api.Second, f api.Frame) error {
	o, _ := api.ParseObject(f.Data)
	inner, around := unwrapped(o, "response")
	inner, err := m.joinChunk(c, inner.ReplaceAll(m.ids))
	if err != nil || inner == nil {
		return err
	}
	if around != nil {
		inner = around.Set("response", inner.JSON())
	}
	c.Emit(f, inner)
	return nil
}

// joinChunk returns a chunk of the second answer as one of the first; nil: it is not shown.
func (m *continuation) joinChunk(c *api.Second, o api.Object) (api.Object, error) {
	o = o.Replace("usageMetadata", c.Total(o.Child("usageMetadata"), "promptTokenCount", "candidatesTokenCount", "totalTokenCount", m.prompt))
	candidates := api.ElementsOf(o.Get("candidates"))
	switch {
	case len(candidates) > 0:
	case c.Found():
		return o, nil
	case o.Has("promptFeedback"):
		return nil, api.ErrNoSeam // the prompt was blocked
	default:
		return nil, nil
	}
	candidate, _ := api.ParseObject(candidates[0])
	content := candidate.Child("content")
	parts, err := joinParts(c, api.ElementsOf(content.Get("parts")))
	if err != nil {
		return nil, err
	}
	ends := candidate.Has("finishReason")
	if ends {
		behind, err := c.EndText(false)
		if err != nil {
			return nil, err
		}
		if behind != "" {
			parts = append(parts, api.PlainBlock(behind))
		}
	}
	switch states := candidate.Has(tokenMember); {
	case states && !ends && !c.Completion.Resumes(): // the client's request is another one
		candidate = slices.DeleteFunc(slices.Clone(candidate), func(f api.Field) bool { return f.Key == tokenMember })
	case states && c.Found():
		ends = true // it is shown without a text too
	}
	if len(parts) == 0 && !ends {
		return nil, nil
	}
	candidate = candidate.Replace("content", content.Set("parts", api.List(parts...)).JSON())
	return o.Set("candidates", api.List(candidate.JSON())), nil
}

// joinParts returns what is left of the parts of a chunk. Thoughts before the seam are not shown.
func joinParts(c *api.Second, parts [][]byte) (left [][]byte, err error) {
	for _, raw := range parts {
		part, _ := api.ParseObject(raw)
		said, isText := api.TextOf(part.Get("text")), part.Get("text") != nil
		switch {
		case isText && said == "":
			if c.Found() {
				left = append(left, raw)
			}
		case isText && string(part.Get("thought")) == "true":
			switch shown := c.AddThought(said); shown {
			case "":
			case said:
				left = append(left, raw)
			default:
				left = append(left, part.Set("text", api.Quote(shown)).JSON())
			}
		case isText:
			shown, err := c.Add(said)
			if err != nil {
				return nil, err
			}
			if shown != "" {
				left = append(left, part.Set("text", api.Quote(shown)).JSON())
			}
		default:
			behind, err := c.EndText(part.Get("functionCall") != nil)
			if err != nil {
				return nil, err
			}
			if behind != "" {
				left = append(left, api.PlainBlock(behind))
			}
			left = append(left, raw)
		}
	}
	return left, nil
}
