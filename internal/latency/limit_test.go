package latency_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/latency"
)

func TestOf_GoesByTheSlowestButFew(t *testing.T) {
	tests := []struct {
		n, slow int // answers, of which so many take two minutes and the others one
		want    time.Duration
	}{
		{999, 1, 0},
		{1000, 1, 3 * time.Minute},
		{2047, 1, 3 * time.Minute},
		{2048, 1, 90 * time.Second},
		{2048, 2, 3 * time.Minute},
		{4095, 2, 3 * time.Minute},
		{4095, 1, 90 * time.Second},
	}
	for _, tt := range tests {
		var l latency.Limit
		for i := range tt.n {
			took := time.Minute
			if i < tt.slow {
				took *= 2
			}
			l.Add(took, 1)
		}
		if got := latency.Of(&l); got < tt.want || float64(got) > 1.07*float64(tt.want) {
			t.Errorf("%d of %d answers are slow: limit %v, want %v to 7%% more", tt.slow, tt.n, got, tt.want)
		}
	}
}

func TestLimit_RankIsRareForEachNumber(t *testing.T) {
	for n := 1000; n <= 9000; n++ {
		if p := float64(1+n/2048) / float64(n+1); p >= 0.001 {
			t.Fatalf("the next answer is slower than that rank of %d with a probability of %v, want below 1/1000", n, p)
		}
	}
}

func TestLimit_ForgetsWhatIsOld(t *testing.T) {
	var l latency.Limit
	for range 10 {
		l.Add(5*time.Minute, 1)
	}
	for i := range 9000 {
		l.Add(time.Second, 1)
		if n := l.Answers(); n > 8192 {
			t.Fatalf("after %d answers %d count, want no more than 8192", i+10, n)
		}
	}
	if got := latency.Of(&l); got != time.Minute {
		t.Errorf("limit %v after 9000 fast answers, want the least one of 1m0s", got)
	}
}

func TestOf_PoolsKinds(t *testing.T) {
	var few, many latency.Limit
	few.Add(time.Second, 1)
	for range 1000 {
		many.Add(2*time.Minute, 1)
	}
	if own, both := latency.Of(&few), latency.Of(&few, &many); own != 0 || both < 3*time.Minute {
		t.Errorf("limits %v and %v, want none by one answer and 3m0s by both", own, both)
	}
}
