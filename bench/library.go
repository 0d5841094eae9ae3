//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

type memoryAnswer struct {
	header http.Header
	body   []byte
}

func (m *memoryAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: m.header, Body: io.NopCloser(bytes.NewReader(m.body)), Request: req}, nil
}

type price struct{ ns, allocations, bytes float64 }

// library measures what a transport adds to a client's call that meets no
// fault. Nothing goes over a connection, where it would be lost in the noise.
func library(ctx context.Context, b *bench) ([]figure.Figure, error) {
	base := &memoryAnswer{header: http.Header{"Content-Type": {"application/json"}}, body: []byte(`{"choices":[{"message":{"content":"forty-two"}}]}`)}
	bare := &http.Client{Transport: base}
	ours := &http.Client{Transport: &transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Patient()}}}
	prompts := [][]byte{[]byte(b.book.Text(kb)), []byte(b.book.Text(512 * kb))}
	var time, allocations, grown figure.Figure
	for range pick(b, 15, 5) {
		var added [2]price
		for i, prompt := range prompts {
			without, err := b.price(ctx, bare, prompt)
			if err != nil {
				return nil, err
			}
			with, err := b.price(ctx, ours, prompt)
			if err != nil {
				return nil, err
			}
			added[i] = price{with.ns - without.ns, with.allocations - without.allocations, with.bytes - without.bytes}
		}
		time.Ours = append(time.Ours, added[0].ns)
		allocations.Ours = append(allocations.Ours, added[0].allocations)
		grown.Ours = append(grown.Ours, added[1].bytes-added[0].bytes)
	}
	time.Name, time.Unit, time.Gate, time.Goal = "added to a client's call", "ns", figure.AtMost(1200), figure.AtMost(1000)
	allocations.Name, allocations.Gate, allocations.Goal = "allocations added", figure.AtMost(3), figure.AtMost(2)
	grown.Name, grown.Unit, grown.Gate, grown.Goal = "added for 511 KB more of body", "bytes", figure.AtMost(64), figure.AtMost(64)
	return []figure.Figure{time, allocations, grown}, nil
}

func (b *bench) price(ctx context.Context, c *http.Client, prompt []byte) (p price, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, err := OwnCPU()
	if err != nil {
		return p, err
	}
	n := 0
	for end := time.Now().Add(pick(b, 100*time.Millisecond, 50*time.Millisecond)); time.Now().Before(end); {
		for range 100 {
			if err := call(ctx, c, prompt); err != nil {
				return p, err
			}
		}
		n += 100
	}
	stop, err := OwnCPU()
	runtime.ReadMemStats(&after)
	calls := float64(n)
	return price{
		ns:          float64(stop-start) / calls,
		allocations: float64(after.Mallocs-before.Mallocs) / calls,
		bytes:       float64(after.TotalAlloc-before.TotalAlloc) / calls,
	}, err
}

func call(ctx context.Context, c *http.Client, prompt []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.test/v1/chat/completions", bytes.NewReader(prompt))
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
