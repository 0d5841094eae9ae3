package transport

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/latency"
)

// Learned learns how long upstreams take to the first content of a streamed answer, by host, model and size of the
// request, and from when on a silent try is not going to be answered. (One that comes whole takes as long as its
// length, of which the request says nothing.) Fewer than one in a thousand answers of an
// upstream that stays as it is come later than that. The zero Learned is ready, may be shared by transports and
// must not be copied. Its JSON is what it has learned.
//
// A limit is known after a thousand answers, is at least a minute, and never longer than Limits.FirstByte. Until
// then, that one holds. What is cut off says nothing about how long it would have taken. So every eighth try that
// exceeds the limit while others are answered continues to Limits.FirstByte, and counts for eight when it is answered;
// while none of these is, it is up to every 64th. And a request whose try was cut off has twice the time in its next
// try, four times in the one after that, and Limits.FirstByte in each fourth.
type Learned struct {
	mu    sync.Mutex
	kinds map[LearnedKind]*family
	clock uint64 // counts answers, to find the oldest kind
}

// LearnedKind is a kind of request, as far as the time to its first content may differ.
type LearnedKind struct {
	Host  string `json:"host,omitempty"`
	Model string `json:"model,omitempty"`
}

// The size classes of requests, by their body, and the bounds of what is learned.
const (
	smallBody  = 32 << 10 // about 8,000 tokens
	mediumBody = 256 << 10
	sizes      = 3
	maxKinds   = 256
	reviewed   = 32 // answers after which the limits are computed anew

	exploreOften  = 8 // of so many silent tries while others are answered, one goes on
	exploreSeldom = 64
)

// sizeNames are the size classes as they are shown.
var sizeNames = [sizes]string{"small", "medium", "large"}

// family has the limits of a kind of request, by size.
type family struct {
	all     *Learned
	answers [sizes]latency.Limit
	limits  [sizes]time.Duration // 0: not known
	n       uint64               // answers
	latest  uint64               // of them, on the clock
	alone   int                  // silent tries while others were answered, since one of them went on
	explore int                  // of so many, one goes on
}

// learnedLimit is the limit of the requests of one kind and size. The zero learnedLimit knows none.
type learnedLimit struct {
	family *family
	size   int
}

// of returns the limit of requests of a kind with a body of that size. It stays the same while it is used.
func (l *Learned) of(k LearnedKind, body int64) learnedLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return learnedLimit{l.family(k), sizeOf(body)}
}

func sizeOf(body int64) int {
	switch {
	case body <= smallBody:
		return 0
	case body <= mediumBody:
		return 1
	}
	return 2
}

// family returns what is known of a kind, or a new one in the place of the oldest.
func (l *Learned) family(k LearnedKind) *family {
	f := l.kinds[k]
	if f != nil {
		return f
	}
	if l.kinds == nil {
		l.kinds = map[LearnedKind]*family{}
	}
	if len(l.kinds) >= maxKinds {
		var oldest LearnedKind
		for k, f := range l.kinds {
			if o := l.kinds[oldest]; o == nil || f.latest < o.latest {
				oldest = k
			}
		}
		delete(l.kinds, oldest)
	}
	f = &family{all: l, explore: exploreOften}
	l.kinds[k] = f
	return f
}

// limit returns the limit, 0 if it is not known, and how many answers there have been.
func (l learnedLimit) limit() (d time.Duration, answers uint64) {
	if l.family == nil {
		return 0, 0
	}
	l.family.all.mu.Lock()
	defer l.family.all.mu.Unlock()
	return l.family.limits[l.size], l.family.n
}

// answered counts an answer; wentOn: it came after the limit.
func (l learnedLimit) answered(took time.Duration, wentOn bool) {
	f := l.family
	if f == nil {
		return
	}
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.all.clock++
	f.n, f.latest = f.n+1, f.all.clock
	if !wentOn {
		f.answers[l.size].Add(took, 1)
	} else {
		f.answers[l.size].Add(took, uint32(f.explore))
		f.explore = exploreOften
	}
	if f.n%reviewed == 0 || wentOn {
		f.review()
	}
}

// review computes the limits. A size with too few answers goes by the larger ones too, which take longer.
func (f *family) review() {
	for size := range f.limits {
		f.limits[size] = 0
		for to := size + 1; to <= sizes && f.limits[size] == 0; to++ {
			var kinds []*latency.Limit
			for i := size; i < to; i++ {
				kinds = append(kinds, &f.answers[i])
			}
			f.limits[size] = latency.Of(kinds...)
		}
	}
}

// silent notes that a try has exceeded the limit, or has waited longer without an answer. answers is how many
// there were when it began. It reports whether the try is alone with its silence, and whether it is to continue.
func (l learnedLimit) silent(answers uint64, wentOn bool) (alone, goOn bool) {
	f := l.family
	if f == nil {
		return false, false
	}
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	switch {
	case f.n == answers:
		return false, false
	case wentOn:
		f.explore = min(2*f.explore, exploreSeldom)
		return true, false
	}
	if f.alone++; f.alone < f.explore {
		return true, false
	}
	f.alone = 0
	return true, true
}

// FirstByte is a limit that has been learned, to be shown.
type FirstByte struct {
	LearnedKind
	Size    string        // of the request: "small", "medium" or "large"
	Limit   time.Duration // 0: not known yet
	Answers int           // by which it is known, of this size
}

// Show returns what has been learned, by kind and size.
func (l *Learned) Show() (all []FirstByte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, f := range l.kinds {
		for size := range f.answers {
			if n := f.answers[size].Answers(); n > 0 {
				all = append(all, FirstByte{k, sizeNames[size], f.limits[size], n})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b FirstByte) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Model, b.Model), cmp.Compare(b.Size, a.Size))
	})
	return all
}

// learnedRecord is one kind in the JSON of a Learned.
type learnedRecord struct {
	LearnedKind
	Answers [sizes]latency.Limit `json:"answers"`
}

// MarshalJSON implements json.Marshaler.
func (l *Learned) MarshalJSON() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]learnedRecord, 0, len(l.kinds))
	for k, f := range l.kinds {
		all = append(all, learnedRecord{k, f.answers})
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler. It adds what was learned before.
func (l *Learned) UnmarshalJSON(text []byte) error {
	var all []learnedRecord
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if len(all) > maxKinds {
		return errors.New("too many kinds of requests")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range all {
		f := l.family(r.LearnedKind)
		l.clock++
		f.answers, f.latest = r.Answers, l.clock
		f.review()
	}
	return nil
}
