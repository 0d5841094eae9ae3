package seam

import (
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// gemini is an answer of Google's API.
type gemini struct {
	ids    object // the members that identify the first answer
	prompt []byte // the tokens of the first request, as it said
}

func (m *gemini) check(request object, shown string) Refusal {
	request, _ = unwrapped(request, "request")
	config := camel(camel(request).child("generationConfig"))
	kind := text(config.get("responseMimeType"))
	switch {
	case request.get("contents") == nil:
		return "its request has no contents"
	case text(at(lastOf(request.get("contents")), "role")) == "model":
		return endsInAnswer
	case text(camel(camel(camel(request).child("toolConfig")).child("functionCallingConfig")).get("mode")) == "ANY":
		return wantsTool
	case kind != "" && kind != "text/plain", config.hasAny("responseSchema", "responseJsonSchema"):
		return wantsJSON
	case config.hasAny("responseLogprobs", "logprobs"):
		return wantsProbs
	case number(config.get("candidateCount")) > 1:
		return wantsSeveral
	case searches(request.get("tools")):
		return wantsSources
	case slices.ContainsFunc(elements(config.get("responseModalities")), func(v []byte) bool { return text(v) != "TEXT" }):
		return wantsMedia
	case stopFits(elements(config.get("stopSequences")), shown):
		return stopsThere
	}
	return ""
}

// searches reports whether an answer may quote what it found.
func searches(tools []byte) bool {
	for _, raw := range elements(tools) {
		t, _ := parse(raw)
		t = camel(t)
		if t.get("googleSearch") != nil || t.get("googleSearchRetrieval") != nil || t.get("urlContext") != nil {
			return true
		}
	}
	return false
}

// camel returns an object with the names of its members as the API documents them; it also accepts names with
// underscores.
func camel(o object) object {
	all := slices.Clone(o)
	for i := range all {
		words := strings.Split(all[i].key, "_")
		for j, w := range words[1:] {
			if w != "" {
				words[j+1] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		all[i].key = strings.Join(words, "")
	}
	return all
}

// unwrapped returns what is in a member of a request or a chunk of Code Assist's, which Gemini CLI uses: one of
// Google's API. Others are returned as they are. around is what it was in; nil: nothing.
func unwrapped(o object, key string) (inner, around object) {
	if inner = o.child(key); inner != nil && o.get("contents") == nil && o.get("candidates") == nil {
		return inner, o
	}
	return o, nil
}

func (m *gemini) extend(request object, t turns) (object, error) {
	inner, around := unwrapped(request, "request")
	inner, err := m.extendInner(inner, t)
	if err != nil || around == nil {
		return inner, err
	}
	return around.set("request", inner.bytes()), nil
}

func (m *gemini) extendInner(request object, t turns) (object, error) {
	for _, key := range []string{"generationConfig", "generation_config"} {
		config := request.child(key)
		if config == nil {
			continue
		}
		for _, limit := range []string{"maxOutputTokens", "max_output_tokens"} {
			var err error
			if config, err = deduct(config, limit, t); err != nil {
				return nil, err
			}
		}
		request = request.set(key, config.bytes())
	}
	var said [][]byte
	for _, b := range t.blocks {
		said = append(said, object{{"text", quote(b)}}.bytes())
	}
	model := object{{"role", quote("model")}, {"parts", list(said...)}}
	user := object{{"role", quote("user")}, {"parts", list(object{{"text", quote(t.ask)}}.bytes())}}
	return request.set("contents", list(append(elements(request.get("contents")), model.bytes(), user.bytes())...)), nil
}

func (m *gemini) watch(a *Answer, data []byte) {
	if inner := dialect.Member(data, "response"); inner != nil {
		data = inner
	}
	if m.ids == nil {
		m.ids = pick(data, "responseId", "modelVersion")
	}
	if usage := dialect.Member(data, "usageMetadata"); usage != nil {
		m.prompt = append(m.prompt[:0], dialect.Member(usage, "promptTokenCount")...)
		a.stated = number(dialect.Member(usage, "candidatesTokenCount"))
	}
	for candidate := range dialect.Elements(dialect.Member(data, "candidates")) {
		for key, value := range dialect.Members(candidate) {
			switch string(key) {
			case "content":
				for part := range dialect.Elements(dialect.Member(value, "parts")) {
					watchPart(a, part)
				}
			case "finishReason":
				if text(value) != "FINISH_REASON_UNSPECIFIED" {
					a.forbid(hasEnded)
				}
			case "groundingMetadata", "citationMetadata", "urlContextMetadata":
				a.forbid(hasSources)
			case "logprobsResult":
				a.forbid(wantsProbs)
			}
		}
	}
}

// watchPart notes what a part shows.
func watchPart(a *Answer, part []byte) {
	said, thought := "", false
	for key, value := range dialect.Members(part) {
		switch string(key) {
		case "text":
			said = text(value)
		case "thought":
			thought = string(value) == "true"
		case "thoughtSignature":
		case "functionCall":
			a.forbid(hasTool)
		default:
			a.forbid(hasOther)
		}
	}
	if !thought && said != "" {
		a.say(said)
	}
}

func (m *gemini) join(c *rest, f frame) error {
	o, _ := parse(f.data)
	inner, around := unwrapped(o, "response")
	inner, err := m.joinChunk(c, inner.replaceAll(m.ids))
	if err != nil || inner == nil {
		return err
	}
	if around != nil {
		inner = around.set("response", inner.bytes())
	}
	c.emit(f, inner)
	return nil
}

// joinChunk returns a chunk of the second answer as one of the first; nil: it is not shown.
func (m *gemini) joinChunk(c *rest, o object) (object, error) {
	o = o.replace("usageMetadata", m.usage(c, o.child("usageMetadata")))
	candidates := elements(o.get("candidates"))
	if len(candidates) == 0 {
		if !c.found {
			return nil, ErrNoSeam // the prompt was blocked
		}
		return o, nil
	}
	candidate, _ := parse(candidates[0])
	content := candidate.child("content")
	parts, err := joinParts(c, elements(content.get("parts")))
	if err != nil {
		return nil, err
	}
	ends := candidate.has("finishReason")
	if ends {
		behind, err := c.endText(false)
		if err != nil {
			return nil, err
		}
		if behind != "" {
			parts = append(parts, object{{"text", quote(behind)}}.bytes())
		}
	}
	if len(parts) == 0 && !ends {
		return nil, nil
	}
	candidate = candidate.replace("content", content.set("parts", list(parts...)).bytes())
	return o.set("candidates", list(candidate.bytes())), nil
}

// joinParts returns what is left of the parts of a chunk. Thoughts before the seam are not shown.
func joinParts(c *rest, parts [][]byte) (left [][]byte, err error) {
	for _, raw := range parts {
		part, _ := parse(raw)
		said, isText := text(part.get("text")), part.get("text") != nil
		switch {
		case isText && string(part.get("thought")) == "true":
			if c.found {
				left = append(left, raw)
			}
		case isText && said != "":
			shown, err := c.Add(said)
			if err != nil {
				return nil, err
			}
			if shown != "" {
				left = append(left, part.set("text", quote(shown)).bytes())
			}
		case isText:
			if c.found {
				left = append(left, raw)
			}
		default:
			behind, err := c.endText(part.get("functionCall") != nil)
			if err != nil {
				return nil, err
			}
			if behind != "" {
				left = append(left, object{{"text", quote(behind)}}.bytes())
			}
			left = append(left, raw)
		}
	}
	return left, nil
}

// usage returns the usage of the answer so far.
func (m *gemini) usage(c *rest, second object) []byte {
	if second == nil {
		return nil
	}
	var stated []byte
	if len(m.prompt) > 0 {
		stated = m.prompt
	}
	in, out := c.input(number(second.get("promptTokenCount")), stated), c.output(number(second.get("candidatesTokenCount")))
	total := number(in) + number(out) + number(second.get("thoughtsTokenCount"))
	return second.replace("promptTokenCount", in).replace("candidatesTokenCount", out).replace("totalTokenCount", numeral(total)).bytes()
}
