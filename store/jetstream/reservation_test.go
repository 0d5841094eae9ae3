package jetstream_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// reserve reserves a directory until the test ends.
func reserve(t *testing.T, c jetstream.Config) *jetstream.Reservation {
	t.Helper()
	r, err := jetstream.Reserve(c)
	if err != nil {
		t.Fatalf("reserve %s: %v", c.Dir, err)
	}
	return r
}

func endReservation(t *testing.T, r *jetstream.Reservation) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Fatalf("end a reservation: %v", err)
	}
}

func TestReserve_SecondProcessIsRefused(t *testing.T) {
	c := jetstream.Config{Dir: filepath.Join(t.TempDir(), "deep", "store")}
	r := reserve(t, c)
	_, err := jetstream.Reserve(c)
	storetest.WantError(t, "second reservation", err, store.ErrInUse)
	_, err = jetstream.Open(t.Context(), c)
	storetest.WantError(t, "open what is reserved", err, store.ErrInUse)
	wantFile(t, filepath.Join(c.Dir, "store"), false) // there was no server
	endReservation(t, r)

	s, err := reserve(t, c).Open(t.Context())
	if err != nil {
		t.Fatalf("open what was reserved: %v", err)
	}
	storetest.Append(t, s, "c1", store.Position{}, "a")
	_, err = jetstream.Reserve(c)
	storetest.WantError(t, "reserve an open store", err, store.ErrInUse)
	closeStore(t, s)
	endReservation(t, reserve(t, c))
}

func TestReserve_OtherFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "format.json"), `{"format":99}`)
	_, err := jetstream.Reserve(jetstream.Config{Dir: dir})
	storetest.WantError(t, "reserve", err, jetstream.ErrFormat)
}

// A store whose server has run is unused as long as nothing was stored. One that has lost everything is not: its
// server has to report that.
func TestReservation_Unused(t *testing.T) {
	t.Parallel()
	messages := filepath.Join("store", "jetstream", "$G", "streams", "CONVERSATIONS", "msgs")
	for name, tt := range map[string]struct {
		use  func(t *testing.T, s storetest.Subject) // nil: it is never opened
		lose []string                                // what is deleted then
		want bool
	}{
		"never opened":       {nil, nil, true},
		"nothing was stored": {func(*testing.T, storetest.Subject) {}, nil, true},
		"a record": {func(t *testing.T, s storetest.Subject) {
			storetest.Append(t, s, "c1", store.Position{}, "a")
		}, nil, false},
		"a record, without what was counted": {func(t *testing.T, s storetest.Subject) {
			storetest.Append(t, s, "c1", store.Position{}, "a")
		}, []string{"watermarks", "heads"}, false},
		"a deleted log": {func(t *testing.T, s storetest.Subject) {
			storetest.Append(t, s, "c1", store.Position{}, "a")
			storetest.WantError(t, "delete", s.Delete(t.Context(), "c1"), nil)
		}, nil, false},
		"a job": {func(t *testing.T, s storetest.Subject) { storetest.Enqueue(t, s, storetest.Job("t1")) }, nil, false},
		"a job, without what was counted": {func(t *testing.T, s storetest.Subject) {
			storetest.Enqueue(t, s, storetest.Job("t1"))
		}, []string{"watermarks", "heads"}, false},
		"a lost server": {func(t *testing.T, s storetest.Subject) {
			storetest.Append(t, s, "c1", store.Position{}, "a")
		}, []string{"store"}, false},
		"lost messages": {func(t *testing.T, s storetest.Subject) {
			storetest.Append(t, s, "c1", store.Position{}, "a")
		}, []string{messages, "watermarks"}, false},
		"an entry, which ends with the process": {func(t *testing.T, s storetest.Subject) {
			_, err := s.Put(t.Context(), store.Entry{Key: "k", Value: []byte("v")}, 0)
			storetest.WantError(t, "put", err, nil)
		}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := jetstream.Config{Dir: t.TempDir()}
			if tt.use != nil {
				s := standalone(t, c)
				tt.use(t, subject(s))
				closeStore(t, s)
			}
			for _, file := range tt.lose {
				if err := os.RemoveAll(filepath.Join(c.Dir, file)); err != nil {
					t.Fatalf("remove %s: %v", file, err)
				}
			}
			r := reserve(t, c)
			if got := r.Unused(); got != tt.want {
				t.Errorf("unused: got %v, want %v", got, tt.want)
			}
			endReservation(t, r)
		})
	}
}

// What an operator has to know is known without a server.
func TestReservation_HealthIsThatOfTheOpenStore(t *testing.T) {
	for name, c := range map[string]jetstream.Config{
		"space":    {Bytes: 1 << 30},
		"no space": {Bytes: 1 << 30, Reserve: 1 << 60},
	} {
		t.Run(name, func(t *testing.T) {
			c.Dir = t.TempDir()
			r := reserve(t, c)
			got, err := r.Health(t.Context())
			if err != nil || got.Full != (c.Reserve > 0) || got.Server != "" || got.SyncLatency == 0 || got.FreeBytes == 0 {
				t.Errorf("health: got %+v, %v; want full %v, the disk's figures and no server", got, err, c.Reserve > 0)
			}
			s, err := r.Open(t.Context())
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			t.Cleanup(func() { _ = s.Close(t.Context()) })
			open, err := s.Health(t.Context())
			if err != nil {
				t.Fatalf("health of the open store: %v", err)
			}
			measured := cmpopts.IgnoreFields(store.Health{}, "Server", "FreeBytes", "Warnings")
			if diff := cmp.Diff(open, got, measured); diff != "" || len(open.Warnings) != len(got.Warnings) {
				t.Errorf("health (-open +reserved):\n%s\nwarnings %q and %q", diff, open.Warnings, got.Warnings)
			}
		})
	}
}
