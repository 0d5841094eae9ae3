package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rate is what a provider allows in a minute. It comes back little by little. Anthropic and OpenAI state what is
// left of it in the headers of each answer, the others do not.
//
// A request is charged when it arrives: its prompt without what is read from the cache, and of the output what the
// answer has, or at OpenAI the longest that it asks for. What exceeds a rate gets a 429 that is not charged.
type Rate struct {
	Unit string  // "requests", "tokens", "input-tokens" or "output-tokens"
	N    float64 // above 0
}

// units are those of a Rate.
var units = []string{"requests", "tokens", "input-tokens", "output-tokens"}

// ParseRates parses rates such as "requests:600, input-tokens:450k".
func ParseRates(s string) (all []Rate, err error) {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		unit, number, _ := strings.Cut(item, ":")
		plain, thousands := strings.CutSuffix(number, "k")
		n, err := strconv.ParseFloat(plain, 64)
		if thousands {
			n *= 1000
		}
		if err != nil || !(n > 0 && n < 1e12) || !slices.Contains(units, unit) {
			return nil, fmt.Errorf("rate %q: want a unit of %s and a number a minute, such as tokens:450k", item, strings.Join(units, ", "))
		}
		all = append(all, Rate{unit, n})
	}
	return all, nil
}

// bucket is what is left of a rate.
type bucket struct {
	Rate
	left float64
	at   time.Time // zero: nothing has been taken
}

// refill brings the bucket up to date.
func (b *bucket) refill(now time.Time) {
	if b.at.IsZero() {
		b.left = b.N
	} else {
		b.left = min(b.N, b.left+b.N*now.Sub(b.at).Minutes())
	}
	b.at = now
}

// lacks returns how long it takes until there is room for a cost; 0: there is.
func (b *bucket) lacks(cost float64) time.Duration {
	return time.Duration(max(0, min(cost, b.N)-b.left) / b.N * float64(time.Minute))
}

// cost returns what a request is charged in a unit.
func (x *exchange) cost(unit string) float64 {
	input, output := float64(x.call.prompt-x.call.cached()), float64(x.call.out())
	if x.most > 0 && x.forms["charges"] != nil {
		output = x.most
	}
	switch unit {
	case "requests":
		return 1
	case "tokens":
		return input + output
	case "input-tokens":
		return input
	}
	return output
}

// longest returns the longest answer that a body asks for, in OpenAI's forms; 0: it does not say.
func longest(body []byte) float64 {
	var asked struct {
		Max           float64 `json:"max_tokens"`
		MaxCompletion float64 `json:"max_completion_tokens"`
		MaxOutput     float64 `json:"max_output_tokens"`
	}
	_ = json.Unmarshal(body, &asked) // one that is no JSON object is refused elsewhere
	return max(asked.Max, asked.MaxCompletion, asked.MaxOutput)
}

// charge takes a request from the buckets, and returns their state. The reply is nil if all have room.
func (p *Provider) charge(x *exchange, now time.Time) (Reply, []bucket) {
	var in time.Duration
	for i := range p.buckets {
		b := &p.buckets[i]
		b.refill(now)
		in = max(in, b.lacks(x.cost(b.Unit)))
	}
	if in == 0 {
		for i := range p.buckets {
			b := &p.buckets[i]
			b.left = max(0, b.left-x.cost(b.Unit))
		}
	}
	state := slices.Clone(p.buckets)
	if in > 0 {
		return tooMany(in), state
	}
	return nil, state
}
