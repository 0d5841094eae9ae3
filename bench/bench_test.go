//go:build linux

package main_test

import (
	"math"
	"os"
	"path/filepath"
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
	sides := func(late int) []main.Times {
		return []main.Times{
			main.NewTimes("upstream", late, []float64{100, 100, 120}, []float64{200, 200, 200}),
			main.NewTimes("ours", 0, []float64{150, 150, 220}, []float64{290, 290, 290}),
			main.NewTimes("baseline", 0, []float64{200, 200, 200}, []float64{300, 300, 300}),
			main.NewTimes("other", 0, []float64{110, 110, 110}, []float64{230, 230, 230}),
		}
	}
	figures := main.LatencyFigures(main.Latency{}, sides(0))
	f := figures[0]
	if !slices.Equal(f.Ours, []float64{50, 90}) || !slices.Equal(f.Base, []float64{100, 100}) || f.Value() != 0.7 {
		t.Errorf("added to the median: got ours %v, baseline %v, value %v; want [50 90], [100 100], 0.7", f.Ours, f.Base, f.Value())
	}
	if len(f.Peers) != 1 || !slices.Equal(f.Peers[0].Rounds, []float64{10, 30}) {
		t.Errorf("added by the other proxy: got %+v, want [10 30]", f.Peers)
	}
	if p99 := figures[1]; !slices.Equal(p99.Ours, []float64{100, 90}) {
		t.Errorf("added to 99 %%: got %v, want [100 90]", p99.Ours)
	}
	if p999 := figures[2]; !slices.Equal(p999.Ours, []float64{90}) {
		t.Errorf("added to 99.9 %% of all rounds: got %v, want [90]", p999.Ours)
	}
	late := main.LatencyFigures(main.Latency{}, sides(2))[0]
	if len(f.Notes) != 1 || len(late.Notes) != 2 {
		t.Errorf("notes without and with late requests: got %q and %q, want one and two", f.Notes, late.Notes)
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

func TestPeers_AreToldWhereToListenAndWhomToAsk(t *testing.T) {
	all, err := main.Manifests(nil)
	if err != nil || len(all) < 3 {
		t.Fatalf("manifests of the repository: got %d, %v; want three or more", len(all), err)
	}
	for _, m := range all {
		if m.Name == "" || m.What == "" || len(m.Links) == 0 || len(m.Needs) > 0 && (m.Install == "" || m.Version == "") {
			t.Errorf("manifest of %q: a field is missing: %+v", m.Name, m)
		}
		for _, link := range m.Links {
			folder := t.TempDir()
			argv, err := main.ManifestOf(m, main.PlaceOf("127.0.0.1:81", link.Scheme()+"://127.0.0.1:82", link, folder))
			if err != nil {
				t.Errorf("%s over %s: %v", m.Name, link, err)
				continue
			}
			said := strings.Join(argv, " ")
			for name := range m.Files {
				text, err := os.ReadFile(filepath.Join(folder, name))
				if err != nil {
					t.Errorf("%s over %s: %v", m.Name, link, err)
				}
				said += string(text)
			}
			headers, err := main.HeadersOf(m, main.PlaceOf("127.0.0.1:81", "http://127.0.0.1:82", link, folder))
			if said += strings.Join(headers, " "); err != nil || !strings.Contains(said, "81") || !strings.Contains(said, "127.0.0.1:82") {
				t.Errorf("%s over %s: command, files and headers %q, %v: want the ports 81 and 82", m.Name, link, said, err)
			}
		}
	}
}

func TestPeers_LeaveOutWhatTheyCannotDo(t *testing.T) {
	m := main.Manifest{Links: []peer.Link{peer.Plain}, Without: []string{"chunk"}}
	if !main.TakesOf(m, "cpu-1k", peer.Plain) || main.TakesOf(m, "chunk", peer.Plain) || main.TakesOf(m, "cpu-1k-h2", peer.H2) {
		t.Errorf("rows of a peer without streams that speaks plain HTTP: got chunk %t, h2 %t, cpu-1k %t; want false, false, true",
			main.TakesOf(m, "chunk", peer.Plain), main.TakesOf(m, "cpu-1k-h2", peer.H2), main.TakesOf(m, "cpu-1k", peer.Plain))
	}
}

func TestPeers_UnknownFieldIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("name: mine\ncomand: mine\n"), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	if _, err := main.Manifests([]string{path}); err == nil || !strings.Contains(err.Error(), "comand") {
		t.Errorf("manifest with a wrong field: got %v, want an error that names it", err)
	}
}

func TestLibrary_FiguresAreThoseOfTheBenchmark(t *testing.T) {
	const printed = `goos: linux
BenchmarkLibrary/bare-2                	  899114	      1301 ns/op	    1480 B/op	      16 allocs/op
BenchmarkLibrary/ours-2                	  500000	      2500 ns/op	    2138 B/op	      18 allocs/op
BenchmarkLibrary/go-retryablehttp-2    	  400000	      3000 ns/op	    4008 B/op	      28 allocs/op
BenchmarkLibrary/ours                  	  500000	      2700 ns/op	    2140 B/op	      18 allocs/op
PASS
`
	figures, err := main.LibraryFigures(printed)
	if err != nil || len(figures) != 3 {
		t.Fatalf("figures: got %d, %v; want time, bytes and allocations", len(figures), err)
	}
	time, bytes := figures[0], figures[1]
	if !slices.Equal(time.Ours, []float64{2500, 2700}) || !slices.Equal(time.Base, []float64{1301}) ||
		len(bytes.Peers) != 1 || bytes.Peers[0].Name != "go-retryablehttp" || !slices.Equal(bytes.Peers[0].Rounds, []float64{4008}) {
		t.Errorf("figures: got time %+v and bytes %+v, want those that were printed", time, bytes)
	}
	for _, text := range []string{"PASS\n", "BenchmarkLibrary/ours-2 1 5 ns/op\n"} {
		if figures, err := main.LibraryFigures(text); err == nil {
			t.Errorf("figures of %q: got %v, want an error", text, figures)
		}
	}
}
