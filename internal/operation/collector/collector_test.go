package collector_test

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/collector"
)

func TestPercentFor_KeepsTheHeapOfABusyProgram(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name string
		s    collector.Sizes
		row  int
		want int
	}{
		{"busy and small", collector.NewSizes(6*mb, 1*mb, 1*mb), 4, 324},
		{"a few collections", collector.NewSizes(6*mb, 1*mb, 1*mb), 3, 100},
		{"half of the room is live", collector.NewSizes(16*mb, 1*mb, 1*mb), 100, 100},
		{"many stacks", collector.NewSizes(10*mb, 60*mb, 1*mb), 100, 100},
		{"nothing", collector.NewSizes(0, 0, 32*mb), 100, 100},
	} {
		if got := collector.PercentFor(c.s, c.row, 32*mb); c.want != got && got/2 != c.want/2 {
			t.Errorf("%s: got %d%%, want %d%%", c.name, got, c.want)
		}
	}
}

func TestRushed_ByTheRate(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		allocated uint64
		since     time.Duration
		want      bool
	}{
		{26 * mb, 100 * time.Millisecond, true},
		{58 * mb, 250 * time.Millisecond, true}, // the same rate in the wider room
		{26 * mb, time.Second, false},
	} {
		if got := collector.Rushed(c.allocated, c.since); got != c.want {
			t.Errorf("%d MB allocated in %v: got much %t, want %t", c.allocated/mb, c.since, got, c.want)
		}
	}
}

func TestRowAfter_CountsFrequentCollections(t *testing.T) {
	for _, c := range []struct {
		row   int
		since time.Duration
		want  int
	}{
		{0, 10 * time.Millisecond, 1},
		{3, 999 * time.Millisecond, 4},
		{3, time.Second, 0},
		{4, 9 * time.Second, 5}, // rarer since the heap may grow, and between two bursts
		{4, 10 * time.Second, 0},
	} {
		if got := collector.RowAfter(c.row, c.since); got != c.want {
			t.Errorf("%d in a row, one more after %v: got %d, want %d", c.row, c.since, got, c.want)
		}
	}
}

// percent returns the percentage in force.
func percent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func TestCollector_StopSetsTheUsualPercentage(t *testing.T) {
	t.Setenv("GOGC", "")
	c := collector.Start()
	defer c.Stop()
	for range 10_000 { // each collection is noted some time after it
		if runtime.GC(); percent() > 100 {
			break
		}
	}
	if got := percent(); got <= 100 {
		t.Errorf("after collections in a row: got %d%%, want more than 100%%", got)
	}
	c.Stop()
	if got := percent(); got != 100 {
		t.Errorf("stopped: got %d%%, want 100%%", got)
	}
}

func TestStart_LeavesGOGCToItsUser(t *testing.T) {
	t.Setenv("GOGC", "50")
	c := collector.Start()
	if c != nil {
		t.Error("with GOGC set: got a Collector, want none")
	}
	c.Stop()
}
