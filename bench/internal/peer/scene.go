// Package peer has the other two processes of the benchmark: the upstream, which costs as little as it can,
// and the baseline, which is the proxy that one writes in ten lines with the standard library.
package peer

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Scene is how the upstream handles a request. The name of the request's model says so, so that the upstream needs
// no other command.
type Scene struct {
	Kind   string        // Answer, Stream, Stall or Refuse
	Chunks int           // of a stream
	Every  time.Duration // between its chunks; 0: all in one write
	Until  time.Time     // Refuse: answers from then on; zero: never
}

// What a scene can be.
const (
	Answer = "answer" // 1 KB of JSON at once
	Stream = "stream" // server-sent events; the role and the first chunk at once
	Stall  = "stall"  // takes the request and is silent
	Refuse = "refuse" // 503, and after that a stream of five chunks in one write
)

const prefix = "bench-"

// String writes the scene as a model's name.
func (s Scene) String() string {
	switch {
	case s.Kind == Stream:
		return fmt.Sprintf("%s%s-%d-%d", prefix, Stream, s.Chunks, s.Every.Microseconds())
	case s.Kind == Refuse && !s.Until.IsZero():
		return fmt.Sprintf("%s%s-%d", prefix, Refuse, s.Until.UnixMilli())
	}
	return prefix + s.Kind
}

// ParseScene reads a scene from a model's name.
func ParseScene(model string) (Scene, error) {
	words := strings.Split(strings.TrimPrefix(model, prefix), "-")
	numbers := make([]int64, len(words)-1)
	for i, w := range words[1:] {
		n, err := strconv.ParseUint(w, 10, 50)
		if err != nil {
			return Scene{}, fmt.Errorf("model %q: %q is no number", model, w)
		}
		numbers[i] = int64(n)
	}
	s := Scene{Kind: words[0]}
	switch {
	case !strings.HasPrefix(model, prefix):
	case (s.Kind == Answer || s.Kind == Stall || s.Kind == Refuse) && len(numbers) == 0:
		return s, nil
	case s.Kind == Refuse && len(numbers) == 1:
		s.Until = time.UnixMilli(numbers[0])
		return s, nil
	case s.Kind == Stream && len(numbers) == 2 && numbers[0] > 0 && numbers[0] <= 1e6:
		s.Chunks, s.Every = int(numbers[0]), time.Duration(numbers[1])*time.Microsecond
		return s, nil
	}
	return Scene{}, fmt.Errorf("model %q is no scene", model)
}

func model(body []byte) string {
	const before = `{"model":"`
	rest, ok := strings.CutPrefix(string(body), before)
	name, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		return ""
	}
	return name
}
