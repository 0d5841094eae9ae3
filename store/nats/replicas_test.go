package nats_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

func TestDial_ReplicasFollowTheNumberOfServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		servers int
		steps   [][2]int // the option of one use after the other, and the replicas then
	}{
		{servers: 1, steps: [][2]int{{0, 1}}},
		{servers: 2, steps: [][2]int{{0, 2}}},
		{servers: 3, steps: [][2]int{{1, 1}, {0, 3}, {1, 1}, {3, 3}}},
		{servers: 5, steps: [][2]int{{0, 3}, {5, 5}, {0, 5}}},
	} {
		t.Run(fmt.Sprint(tt.servers, " servers"), func(t *testing.T) {
			t.Parallel()
			address := ""
			if tt.servers == 1 {
				address = startNATS(t)
			} else {
				address = natstest.URLs(natstest.Cluster(t, tt.servers))
			}
			for _, step := range tt.steps {
				s := dial(t, nats.Remote{URL: address, Replicas: step[0]})
				h, err := s.Health(t.Context())
				if err != nil || h.Replicas != step[1] {
					t.Errorf("health with option %d: got %d replicas, error %v; want %d", step[0], h.Replicas, err, step[1])
				}
				warned := strings.Contains(strings.Join(h.Warnings, "\n"), "everything is on one server of the cluster team, node-")
				if want := step[1] == 1 && tt.servers > 1; warned != want {
					t.Errorf("health with %d of %d servers: got warnings %q", h.Replicas, tt.servers, h.Warnings)
				}
				closeStore(t, s)
			}
		})
	}
}

func TestDial_ExistingChangesNothing(t *testing.T) {
	t.Parallel()
	address := natstest.URLs(natstest.Cluster(t, 3))
	_, err := nats.Dial(t.Context(), nats.Remote{URL: address, Existing: true})
	storetest.WantError(t, "dial without a store", err, nats.ErrNone)
	streams := connect(t, address)
	if _, err := streams.Stream(t.Context(), "TURNS"); !errors.Is(err, natsjs.ErrStreamNotFound) {
		t.Errorf("the stream TURNS: got error %v, want none to be created", err)
	}
	s := dial(t, nats.Remote{URL: address, Replicas: 1})
	storetest.Append(t, s, "c1", store.Position{}, "a")
	closeStore(t, s)
	s = dial(t, nats.Remote{URL: address, Existing: true})
	storetest.WantLog(t, s, "c1", 0, storetest.Numbered(1, "a")...)
	if h, err := s.Health(t.Context()); err != nil || h.Replicas != 1 {
		t.Errorf("health: got %d replicas, error %v; want 1", h.Replicas, err)
	}
}
