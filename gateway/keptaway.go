package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// Answers keeps whole answers whose clients have left, for a time and for all gateways of a fleet. Nothing in it can be
// read without the request, the credentials of its sender included. Its methods may be called concurrently.
type Answers interface {
	// Keep keeps an answer. With an error it stays where it was read.
	Keep(ctx context.Context, key string, answer []byte, ttl time.Duration) error
	// Get returns an answer; nil: there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Drop removes an answer, soon: it does not block.
	Drop(key string)
}

// How long a client waits for an answer from there, and how long one may take to be kept.
const (
	getTime  = 2 * time.Second
	keepTime = 5 * time.Second
)

// maxStoredHead is how long the line before an answer may be.
const maxStoredHead = 1 << 20

// answerID identifies an answer in the fleet.
type answerID struct {
	key    string // as the fleet knows its request; "": it does not
	secret [sha256.Size]byte
}

// isIdentified reports whether identify has been called with a body.
func (c *call) isIdentified() bool { return c.secretInFleet != [sha256.Size]byte{} }

// answerID returns what identifies the call's answer.
func (c *call) answerID() answerID {
	if !c.isIdentified() {
		return answerID{}
	}
	return answerID{c.keyInFleet, c.secretInFleet}
}

// storedAnswer is the line before an answer as it is kept, which is then encrypted.
type storedAnswer struct {
	ID       int64        `json:"id"` // of the request
	Upstream string       `json:"upstream"`
	Model    string       `json:"model"`
	Header   http.Header  `json:"header"`
	Form     dialect.Form `json:"form"`
	Watched  bool         `json:"watched"`
}

// offer keeps the answer, whose client has left, for the other gateways too, and tells them.
func (g *Gateway) offer(k *keptAnswer, setup *setup) {
	if setup.fleet == nil || setup.fleet.Answers == nil || k.inFleet.key == "" {
		return
	}
	answer, err := k.seal()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	if setup.fleet.Answers.Keep(ctx, k.inFleet.key, answer, setup.detached.Time) != nil {
		return
	}
	k.mu.Lock()
	over := k.dropped
	k.offered = !over
	k.mu.Unlock()
	if over { // a client has it by now
		setup.fleet.Answers.Drop(k.inFleet.key)
	}
	g.tellKept(k, time.Now())
}

// tellKept tells the fleet of an answer that is kept for it.
func (g *Gateway) tellKept(k *keptAnswer, now time.Time) {
	k.mu.Lock()
	f := failedRequest{fleetKey: k.inFleet.key, at: now, until: k.until}
	told := k.offered && !k.dropped
	k.mu.Unlock()
	if told {
		g.tell(&f, keptThere, now)
	}
}

// delivered tells the fleet that a client has the answer.
func (g *Gateway) delivered(k *keptAnswer) {
	k.mu.Lock()
	offered := k.offered
	k.mu.Unlock()
	if fleet := g.setup.Load().fleet; offered && fleet != nil {
		g.away.forget(k.inFleet.key)
		g.tell(&failedRequest{fleetKey: k.inFleet.key}, overThere, time.Now())
		fleet.Answers.Drop(k.inFleet.key)
	}
}

// dropKept forgets the answer to a request of which another gateway says that it is over.
func (co *coalescer) dropKept(key string) {
	co.mu.Lock()
	var over []*keptAnswer
	for _, k := range co.kept {
		if k.inFleet.key == key {
			over = append(over, k)
		}
	}
	co.mu.Unlock()
	for _, k := range over {
		if k.hasEnded() {
			co.drop(k)
		}
	}
}

// keptElsewhere returns the answer to the same request that another gateway has read, as one that is kept here; nil: none
// is known. Only where one is known it is asked for.
func (c *call) keptElsewhere() *keptAnswer {
	g, fleet := c.gateway, c.setup.fleet
	if fleet == nil || fleet.Answers == nil || g.away.n.Load() == 0 || !g.away.knows(c.scope()) {
		return nil
	}
	key, m := c.fleetKey(), c.meaning()
	if key == "" || m == nil {
		return nil
	}
	until := g.away.keptUntil(key, time.Now())
	if until.IsZero() {
		return nil
	}
	if !c.isIdentified() { // its key is known from the same request before
		c.identify()
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), getTime)
	defer cancel()
	answer, err := fleet.Answers.Get(ctx, key)
	if err != nil || answer == nil {
		return nil
	}
	k := &keptAnswer{
		requestKey: c.key(), meaning: *m, inFleet: answerID{key, c.secretInFleet}, record: g.spool.NewRecord(),
		left: true, end: io.EOF, offered: true, until: until, readers: 1,
	}
	if k.unseal(answer, c.setup) != nil {
		k.record.Release()
		return nil
	}
	g.coalescer.keep(k)
	time.AfterFunc(time.Until(until), func() { g.coalescer.drop(k) })
	return k
}

// keptUntil returns until when an answer is kept; zero: none is.
func (w *awayRequests) keptUntil(key string, now time.Time) (until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.all[key[:scopeLength]][key]; a != nil && a.state == keptThere && a.until.After(now) {
		until = a.until
	}
	return until
}

// forget forgets a request.
func (w *awayRequests) forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(key)
}

// seal returns the answer encrypted with what only its request tells.
func (k *keptAnswer) seal() ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	err := json.NewEncoder(w).Encode(storedAnswer{k.id, k.at.Name, k.at.model, k.header, k.form, k.watched})
	if err == nil {
		_, err = io.Copy(w, &recordReader{k: k})
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("pack answer: %w", err)
	}
	aead, err := k.inFleet.cipher()
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, packed.Bytes(), []byte(k.inFleet.key)), nil
}

// unseal is the reverse of seal.
func (k *keptAnswer) unseal(answer []byte, setup *setup) error {
	aead, err := k.inFleet.cipher()
	if err != nil {
		return err
	}
	packed, err := aead.Open(nil, nil, answer, []byte(k.inFleet.key))
	if err != nil {
		return fmt.Errorf("decrypt answer: %w", err)
	}
	var text []byte
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(r, setup.detached.Bytes+maxStoredHead))
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	var a storedAnswer
	if err == nil {
		err = json.Unmarshal(head, &a)
	}
	if err != nil {
		return fmt.Errorf("unpack answer: %w", err)
	}
	up := setup.upstream(a.Upstream)
	if up == nil {
		return fmt.Errorf("upstream %q of the answer is unknown", a.Upstream)
	}
	k.id, k.at, k.header, k.form, k.watched, k.size = a.ID, destination{upstream: up, model: a.Model}, a.Header, a.Form, a.Watched, int64(len(body))
	return k.record.Append(body)
}

// cipher returns what encrypts the answer. It has a random nonce.
func (id *answerID) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(id.secret[:])
	if err != nil {
		return nil, fmt.Errorf("cipher of the answer: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// recordReader reads what is kept of an answer.
type recordReader struct {
	k  *keptAnswer
	at int
}

// Read implements io.Reader.
func (r *recordReader) Read(p []byte) (int, error) {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	n, err := r.k.record.ReadAt(p, r.at)
	if r.at += n; n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}
