package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// killVariable makes the test binary a process that is to be killed: it writes into the store in a directory, and
// prints what was acknowledged.
const killVariable = "RIDETHROUGH_TEST_BOLT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killVariable); dir != "" {
		fmt.Println("ended", writeForever(dir))
		return
	}
	os.Exit(m.Run())
}

const series = 8

// writeForever appends to several logs at a time, and schedules and enqueues a job for each record.
func writeForever(dir string) error {
	ctx := context.Background()
	s, err := bolt.Open(ctx, bolt.Config{Dir: dir, Reserve: 1})
	if err != nil {
		return err
	}
	errs := make(chan error, series)
	for i := range series {
		go func() { errs <- writeSeries(ctx, s, fmt.Sprint("series", i)) }()
	}
	return <-errs
}

func writeSeries(ctx context.Context, s store.Store, id string) error {
	at, err := s.End(ctx, id)
	for err == nil {
		if at, err = s.Append(ctx, id, at, storetest.Records(fmt.Sprint("number ", at.N+1))...); err != nil {
			break
		}
		fmt.Println("appended", id, at.N)
		turn := fmt.Sprintf("%s-%d", id, at.N)
		if at.N%2 == 0 {
			err = s.Schedule(ctx, storetest.Job(turn), time.Now().Add(time.Duration(rand.IntN(300))*time.Millisecond))
		} else {
			err = s.Enqueue(ctx, storetest.Job(turn))
		}
		fmt.Println("queued", turn, 0)
	}
	return err
}

// runAndKill runs such a process for a while, and notes what it prints.
func runAndKill(t *testing.T, dir string, d time.Duration, appended map[string]int64, queued map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start a process: %v", err)
	}
	lines := bufio.NewReader(out)
	var kill *time.Timer
	for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
		if kill == nil { // it has opened the store
			kill = time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
		}
		var what, id string
		var n int64
		_, _ = fmt.Sscan(line, &what, &id, &n)
		switch what {
		case "appended":
			appended[id] = n
		case "queued":
			queued[id] = true
		default:
			t.Errorf("the process says %s", strings.TrimSpace(line))
		}
	}
	_ = cmd.Wait()
}

// It is not parallel: a process has the locks of all stores from its fork to its exec.
func TestOpen_KilledProcessLosesNoAcknowledgedWrite(t *testing.T) {
	dir, appended, queued := t.TempDir(), map[string]int64{}, map[string]bool{}
	for range 5 {
		runAndKill(t, dir, time.Duration(100+rand.IntN(500))*time.Millisecond, appended, queued)
	}
	s := open(t, bolt.Config{Dir: dir, Reserve: 1})
	for id, n := range appended {
		all, end, err := store.Load(t.Context(), s, id, 0)
		if err != nil || end.N < n {
			t.Errorf("load %s: got %d records, error %v; want %d", id, end.N, err, n)
		}
		for _, r := range all {
			if want := storetest.Records(fmt.Sprint("number ", r.N))[0]; string(r.Body) != string(want.Body) {
				t.Errorf("%s: record %d is %s", id, r.N, r.Body)
			}
		}
	}
	want := len(queued)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(queued) > 0 {
		l, err := s.Take(ctx)
		if err != nil {
			t.Fatalf("take: %v, with %d of %d jobs left", err, len(queued), want)
		}
		delete(queued, l.Job().Turn)
		if err := l.Ack(); err != nil {
			t.Errorf("acknowledge: %v", err)
		}
	}
	if len(appended) != series || want == 0 {
		t.Errorf("%d series were appended to and %d jobs queued, want %d and some", len(appended), want, series)
	}
	t.Logf("%d jobs, series of %v", want, appended)
}

// Many writers share commits, and each of them gets its own outcome.
func TestAppend_ConcurrentWritersAreCommittedTogether(t *testing.T) {
	t.Parallel()
	s := open(t, bolt.Config{Dir: t.TempDir(), Reserve: 1})
	storetest.Append(t, s, "taken", store.Position{}, "a")
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			id := fmt.Sprint("c", i)
			if i%2 == 0 {
				id = "taken"
			}
			end, err := s.Append(t.Context(), id, store.Position{}, storetest.Records("b")...)
			if i%2 == 0 {
				storetest.WantError(t, "append behind an old end", err, store.ErrConflict)
			} else if err != nil || end.N != 1 {
				t.Errorf("append to %s: got %v, %v; want 1", id, end, err)
			}
		})
	}
	all.Wait()
	storetest.WantLog(t, s, "taken", 0, storetest.Numbered(1, "a")...)
}

// The file grows, and is mapped again, while others read it, append to it, take jobs and ask for its health.
func TestAppend_FileGrowsUnderReaders(t *testing.T) {
	t.Parallel()
	s := open(t, bolt.Config{Dir: t.TempDir(), Reserve: 1})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				l, err := s.Take(t.Context())
				if err == nil {
					err = l.Ack()
				}
				if err != nil {
					t.Errorf("job: %v", err)
					return
				}
			}
		})
	}
	text := strings.Repeat("large ", 2<<10)
	for i := range 16 {
		all.Go(func() {
			id, at := fmt.Sprint("c", i), store.Position{}
			for range 20 {
				var err error
				if at, err = s.Append(t.Context(), id, at, storetest.Records(text)...); err != nil {
					t.Errorf("append to %s: %v", id, err)
					return
				}
				if records, _, err := store.Load(t.Context(), s, id, 0); err != nil || int64(len(records)) != at.N {
					t.Errorf("load %s: got %d records, %v; want %d", id, len(records), err, at.N)
				}
				if _, err := s.Health(t.Context()); err != nil {
					t.Errorf("health: got error %v, want none", err)
				}
				storetest.Enqueue(t, subject(s), storetest.Job(id))
			}
		})
	}
	all.Wait()
}
