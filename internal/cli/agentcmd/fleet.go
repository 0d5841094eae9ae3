package agentcmd

import (
	"context"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/fleet/sharing"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/replica"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
)

// joinFleet makes the gateway a replica of a fleet, over the NATS servers of the store. The returned function
// leaves the fleet and calls end, which closes the store.
func joinFleet(to *server.Config, name string, opened *background.Store, end func()) func() {
	if name == config.NoFleet {
		return end
	}
	host, _ := os.Hostname() // it is only to be shown
	link := OpenStoreLink(opened)
	f := fleet.Join(fleet.Config{Name: name, ID: fleet.NewID(host), Transport: link})
	shares := sharing.Start(f)
	f.OnChange(func() {
		if s := f.Status(); s.Connected {
			to.Log.Info("fleet", "name", s.Name, "replica", s.ID, "replicas", len(s.Members))
		} else {
			to.Log.Warn("fleet: alone, without a connection with the NATS servers", "name", s.Name, "replica", s.ID)
		}
	})
	to.Fleet, to.Replica = f, replica.New(f, opened)
	to.History.Share(f)
	here := to.Share
	to.Share = func(upstream string, base *url.URL, b *breaker.Breaker, limits *ratelimit.Table) func() {
		// One name in all replicas. An upstream with another base URL is another. A secret in the URL is left out.
		id := upstream + " " + strings.TrimSuffix(base.Scheme+"://"+base.Host+base.Path, "/")
		leaveHere := here(upstream, base, b, limits)
		leave, leaveLimits := shares.Join(id, b), shares.JoinLimits(id, upstream, limits)
		return func() { leaveHere(); leave(); leaveLimits() }
	}
	return func() {
		shares.Close()
		f.Close()
		link.Close()
		end()
	}
}

const (
	backlog    = 1024            // messages that wait to be sent
	retryDelay = 2 * time.Second // before another attempt to subscribe, at most
)

// StoreLink transports the messages of a fleet over the publish/subscribe of a store. A closed store counts as a
// lost connection.
type StoreLink struct {
	store    store.PubSub
	lifetime context.Context
	end      context.CancelFunc
	queue    chan linkMessage
	away     atomic.Bool // the latest message could not be sent
	running  sync.WaitGroup
}

type linkMessage struct {
	topic string
	data  []byte
}

// OpenStoreLink returns the transport of a replica. Close it before the store.
func OpenStoreLink(s store.PubSub) *StoreLink {
	l := &StoreLink{store: s, queue: make(chan linkMessage, backlog)}
	l.lifetime, l.end = context.WithCancel(context.Background())
	l.running.Go(l.send)
	return l
}

// Close ends the subscriptions. With a connection, it first sends the queued messages.
func (l *StoreLink) Close() {
	l.end()
	l.running.Wait()
}

func (l *StoreLink) send() {
	for l.lifetime.Err() == nil || len(l.queue) > 0 && !l.away.Load() {
		select {
		case m := <-l.queue:
			l.sendOne(m)
		case <-l.lifetime.Done():
		}
	}
}

func (l *StoreLink) sendOne(m linkMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.lifetime), retryDelay)
	defer cancel()
	l.away.Store(l.store.Publish(ctx, m.topic, m.data) != nil)
}

// Publish implements [fleet.Transport]. It tries even without a connection, to detect that there is one again.
func (l *StoreLink) Publish(topic string, data []byte) error {
	if l.lifetime.Err() != nil {
		return fleet.ErrAway
	}
	select {
	case l.queue <- linkMessage{topic, data}:
	default:
		return fleet.ErrAway
	}
	if l.away.Load() {
		return fleet.ErrAway
	}
	return nil
}

// Subscribe implements [fleet.Transport].
func (l *StoreLink) Subscribe(topic string, receive func(data []byte)) {
	l.running.Go(func() {
		for l.lifetime.Err() == nil {
			messages, err := l.store.Subscribe(l.lifetime, topic)
			if err != nil {
				_ = retry.Sleep(l.lifetime, time.Duration((0.5+0.5*rand.Float64())*float64(retryDelay)))
				continue
			}
			for m := range messages {
				if m.Data != nil {
					receive(m.Data)
				}
			}
		}
	})
}
