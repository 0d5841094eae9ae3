package agentcmd

import (
	"context"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/fleet/sharing"
	"github.com/ridethrough/ridethrough/internal/fleet/storelink"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history/historykv"
	"github.com/ridethrough/ridethrough/internal/operation/replica"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/store/background"
)

// joinFleet has the gateway be a replica of a fleet, by way of the NATS servers that have the store. The returned
// function leaves the fleet and calls end, which closes the store.
func joinFleet(to *server.Config, name string, opened *background.Store, end func()) func() {
	if name == config.NoFleet {
		return end
	}
	host, _ := os.Hostname() // it is only to be shown
	link := storelink.Open(opened)
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
	to.Share = func(upstream string, base *url.URL, b *breaker.Breaker, limits *ratelimit.Table) func() {
		id := upstreamID(upstream, base)
		leave, leaveLimits := shares.Join(id, b), shares.JoinLimits(id, upstream, limits)
		return func() { leave(); leaveLimits() }
	}
	return func() {
		shares.Close()
		f.Close()
		link.Close()
		end()
	}
}

// keepHistory keeps the gateway's history on the NATS servers that have the store, and shows it with those of the other
// gateways of the fleet, or of earlier processes. The returned function ends that and calls end, which closes the store.
func keepHistory(ctx context.Context, to *server.Config, name string, opened *background.Store, end func()) func() {
	c := historykv.Config{KV: opened, Name: name, Own: to.History, Log: to.Log}
	if f := to.Fleet; f != nil {
		c.ID, c.Members = f.ID, f.Members
	} else {
		host, _ := os.Hostname() // as in joinFleet
		c.Name, c.ID = "alone-"+fleet.CleanName(host), fleet.NewID(host)
		c.Members = func() []string { return []string{c.ID} }
	}
	k := historykv.New(c)
	to.Shown = k.Shown
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { k.Run(ctx) })
	return func() {
		stop()
		keeping.Wait()
		end()
	}
}

// upstreamID names an upstream in all replicas. One with another base URL is another. A secret in the URL is left out.
func upstreamID(name string, base *url.URL) string {
	return name + " " + strings.TrimSuffix(base.Scheme+"://"+base.Host+base.Path, "/")
}
