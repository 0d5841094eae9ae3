//go:build linux

package main_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	main "github.com/ridethrough/ridethrough/bench"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

func TestCPU_RatiosAreOfTheSameRound(t *testing.T) {
	f := main.CPUFigure(main.CPU{},
		[]main.Use{main.NewUse(30, 1, 0.2), main.NewUse(90, 1, 0.2), main.NewUse(20, 1, 0.2)},
		[]main.Use{main.NewUse(60, 1, 0.2), main.NewUse(100, 1, 0.2), main.NewUse(50, 1, 0.2)})
	if got := f.Value(); got != 0.5 { // of 0.5, 0.9 and 0.4
		t.Errorf("got %v", got)
	}
	if notes := strings.Join(f.Notes, " "); strings.Contains(notes, "BOTTLENECK") {
		t.Errorf("notes %s", notes)
	}
}

func TestCPU_ReportsBusyClients(t *testing.T) {
	f := main.CPUFigure(main.CPU{}, []main.Use{main.NewUse(1, 0.5, 0.6)}, []main.Use{main.NewUse(1, 0.5, 0.4)})
	if !strings.Contains(f.Notes[0], "BOTTLENECK") || strings.Contains(f.Notes[1], "BOTTLENECK") {
		t.Errorf("notes %q", f.Notes)
	}
}

func TestLatency_AddedTimeIsOfTheSameRound(t *testing.T) {
	f := main.LatencyFigure(main.Latency{}, []float64{100, 200}, []float64{150, 290}, []float64{200, 300}, 0, 100)
	if !slices.Equal(f.Ours, []float64{50, 90}) || !slices.Equal(f.Base, []float64{100, 100}) || f.Value() != 0.7 {
		t.Errorf("ours %v, baseline %v, value %v", f.Ours, f.Base, f.Value())
	}
	late := main.LatencyFigure(main.Latency{}, nil, nil, nil, 6, 100)
	if len(f.Notes) != 1 || len(late.Notes) != 2 {
		t.Errorf("notes %q and %q", f.Notes, late.Notes)
	}
}

func TestMemory_IsPerRequest(t *testing.T) {
	if got := main.MemoryCost(main.NewMemory(false), 8<<20, 8<<20+100*50<<10, 100); got != 50 {
		t.Errorf("got %v KB", got)
	}
	if got := main.MemoryCost(main.NewMemory(true), 10e6, 30e6, 200); got != 30 { // all of it
		t.Errorf("got %v MB", got)
	}
}

func TestStorm_CountsFromRecovery(t *testing.T) {
	over := time.UnixMilli(1_793_613_600_000)
	at := func(ms int64) int64 { return over.UnixMicro() + ms*1000 }
	answered := []load.Arrival{
		{Answered: true, End: over.Add(100 * time.Millisecond)},
		{Answered: true, End: over.Add(1500 * time.Millisecond)},
	}
	counts := peer.Counts{Requests: 7, Arrivals: []int64{at(-30), at(-20), at(-10), at(50), at(149), at(150), at(300)}}
	unanswered, requests, peak, last := main.StormSum(answered, counts, over).Values()
	if unanswered != 0 || requests != 3.5 || peak != 2 || last != 1.5 {
		t.Errorf("got %v unanswered, %v requests, peak %v, last %v", unanswered, requests, peak, last)
	}
}

func TestStorm_WithoutAnswersHasNoRecovery(t *testing.T) {
	unanswered, _, peak, last := main.StormSum([]load.Arrival{{Answered: true}, {}}, peer.Counts{}, time.Now()).Values()
	if unanswered != 1 || !math.IsNaN(peak) || !math.IsNaN(last) {
		t.Errorf("got %v unanswered, peak %v, last %v", unanswered, peak, last)
	}
}

func TestReadme_NamesEveryRow(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	for _, name := range main.RowNames() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("no `%s`", name)
		}
	}
}

func TestPeer_TakesTheBaselinesPlace(t *testing.T) {
	argv, headers := main.PeerOf("proxy --port={port} --host {host} {upstream}/v1", "127.0.0.1:81", "http://127.0.0.1:82", "x-to: {upstream}/v1", "x-key: a")
	if want := []string{"proxy", "--port=81", "--host", "127.0.0.1", "http://127.0.0.1:82/v1"}; !slices.Equal(argv, want) {
		t.Errorf("command of the peer: got %q, want %q", argv, want)
	}
	if want := []string{"x-to: http://127.0.0.1:82/v1", "x-key: a"}; !slices.Equal(headers, want) {
		t.Errorf("headers to the peer: got %q, want %q", headers, want)
	}
	request := string(load.NewBook(1).Request("h", load.Ask{Scene: "bench-answer", Headers: headers}).Next())
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	if !strings.Contains(head, "\r\nx-key: a\r\nContent-Length: ") || !strings.HasPrefix(body, `{"model":"bench-answer"`) {
		t.Errorf("request with headers: got %.900q", request)
	}
}
