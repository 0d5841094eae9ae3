package seam

import "github.com/ridethrough/ridethrough/internal/dialect"

// chat is an answer of Chat Completions.
type chat struct {
	ids object // the members that identify the first answer
}

func (m *chat) check(request object, shown string) Refusal {
	format := text(at(request.get("response_format"), "type"))
	choice := text(request.get("tool_choice"))
	switch {
	case text(at(lastOf(request.get("messages")), "role")) == "assistant", request.has("continue_final_message"):
		return endsInAnswer
	case choice == "required" || request.get("tool_choice") != nil && choice == "":
		return wantsTool
	case format != "" && format != "text", request.hasAny(guided()...):
		return wantsJSON
	case request.hasAny("logprobs", "top_logprobs", "prompt_logprobs"):
		return wantsProbs
	case number(request.get("n")) > 1, request.hasAny("best_of", "use_beam_search"):
		return wantsSeveral
	case request.has("web_search_options"):
		return wantsSources
	case request.has("audio"), len(elements(request.get("modalities"))) > 1:
		return wantsMedia
	case stopFits(stopsOf(request.get("stop")), shown):
		return stopsThere
	}
	return ""
}

// guided returns the members with which servers of one's own force a form of output.
func guided() []string {
	return []string{
		"guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "json_schema", "grammar", "regex", "ebnf",
	}
}

// stopsOf returns stop sequences from one text or several.
func stopsOf(stop []byte) [][]byte {
	if text(stop) != "" {
		return [][]byte{stop}
	}
	return elements(stop)
}

func (m *chat) extend(request object, t turns) (object, error) {
	return extendMessages(request, t, []string{"max_tokens", "max_completion_tokens"}, object{
		{"continue_final_message", []byte("true")}, {"add_generation_prompt", []byte("false")},
	})
}

// extendMessages adds turns with plain texts. direct are the members that a request has which ends with the
// model's turn.
func extendMessages(request object, t turns, limits []string, direct object) (object, error) {
	var err error
	for _, key := range limits {
		if request, err = deduct(request, key, t); err != nil {
			return nil, err
		}
	}
	all := elements(request.get("messages"))
	said := ""
	for _, b := range t.blocks {
		said += b
	}
	all = append(all, object{{"role", quote("assistant")}, {"content", quote(said)}}.bytes())
	if t.ask != "" {
		all = append(all, object{{"role", quote("user")}, {"content", quote(t.ask)}}.bytes())
		direct = nil
	}
	for _, d := range direct {
		request = request.set(d.key, d.value)
	}
	return request.set("messages", list(all...)), nil
}

func (m *chat) watch(a *Answer, data []byte) {
	if m.ids == nil {
		m.ids = pick(data, "id", "created", "model", "system_fingerprint", "service_tier")
	}
	for choice := range dialect.Elements(dialect.Member(data, "choices")) {
		for key, value := range dialect.Members(choice) {
			switch string(key) {
			case "finish_reason":
				if !isEmpty(value) {
					a.forbid(hasEnded)
				}
			case "delta":
				m.watchDelta(a, value)
			case "logprobs":
				if !isEmpty(value) {
					a.forbid(wantsProbs)
				}
			}
		}
	}
}

func (m *chat) watchDelta(a *Answer, delta []byte) {
	for key, value := range dialect.Members(delta) {
		switch {
		case isEmpty(value):
		case string(key) == "content":
			a.say(text(value))
		case string(key) == "tool_calls", string(key) == "function_call":
			a.forbid(hasTool)
		case string(key) == "annotations":
			a.forbid(hasSources)
		case string(key) == "refusal", string(key) == "audio":
			a.forbid(hasOther)
		}
	}
}

func (m *chat) join(c *rest, f frame) error {
	o, _ := parse(f.data)
	o = o.replaceAll(m.ids).replace("usage", m.usage(c, o.child("usage")))
	choices := elements(o.get("choices"))
	if len(choices) == 0 {
		if c.found {
			c.emit(f, o)
		}
		return nil
	}
	choice, _ := parse(choices[0])
	delta, shows, err := joinDelta(c, choice.child("delta"))
	if err != nil {
		return err
	}
	ends := choice.has("finish_reason")
	if ends {
		behind, err := c.endText(false)
		if err != nil {
			return err
		}
		if behind != "" {
			delta = delta.set("content", quote(behind))
		}
	}
	if shows || ends || delta.has("content") {
		c.emit(f, o.set("choices", list(choice.set("delta", delta.bytes()).bytes())))
	}
	return nil
}

// joinDelta returns what is left of a delta, and whether that is something. The role and the reasoning before
// the seam have been shown by the first answer, or are not.
func joinDelta(c *rest, delta object) (left object, shows bool, err error) {
	for _, part := range delta {
		switch {
		case part.key == "role":
		case part.key == "content":
			shown := ""
			if said := text(part.value); said != "" {
				if shown, err = c.Add(said); err != nil {
					return nil, false, err
				}
			}
			if shown != "" {
				left, shows = append(left, member{part.key, quote(shown)}), true
			}
		case !c.found && (isEmpty(part.value) || isReasoning(part.key)):
		default:
			behind, err := c.endText(part.key == "tool_calls")
			if err != nil {
				return nil, false, err
			}
			if behind != "" {
				left = left.set("content", quote(behind))
			}
			left, shows = append(left, part), shows || !isEmpty(part.value)
		}
	}
	return left, shows, nil
}

// isReasoning reports whether a member of a delta is reasoning, as compatible servers call it.
func isReasoning(key string) bool {
	return key == "reasoning_content" || key == "reasoning" || key == "reasoning_details" || key == "thinking"
}

// usage returns the usage of the whole answer.
func (m *chat) usage(c *rest, second object) []byte {
	if second == nil {
		return nil
	}
	in, out := c.input(number(second.get("prompt_tokens")), nil), c.output(number(second.get("completion_tokens")))
	total := numeral(number(in) + number(out))
	return second.replace("prompt_tokens", in).replace("completion_tokens", out).replace("total_tokens", total).bytes()
}
