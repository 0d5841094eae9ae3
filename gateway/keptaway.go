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

	"github.com/ridethrough/ridethrough/internal/api"
)

// Answers keeps whole answers whose clients have left, for a time and for all gateways of a fleet. Nothing in it can be
// read without the request, the credentials of its sender included. Its methods may be called concurrently.
type Answers interface {
	// Keep keeps an answer. With an error it stays where it was read.
	Keep(ctx context.Context, key string, answer []byte, ttl time.Duration) error
	// Get returns an answer, or nil if it is not kept.
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
func (in *intake) isIdentified() bool { return in.inFleet.secret != [sha256.Size]byte{} }

// answerID returns what identifies the call's answer.
func (in *intake) answerID() answerID {
	if !in.isIdentified() {
		return answerID{}
	}
	return in.inFleet
}

// storedAnswer is the line before an answer as it is kept, which is then encrypted.
type storedAnswer struct {
	ID       int64       `json:"id"` // of the request
	Upstream string      `json:"upstream"`
	Model    string      `json:"model"`
	Header   http.Header `json:"header"`
	Form     api.Form    `json:"form"`
	Watched  bool        `json:"watched"`
}

// Unshared says that an answer for a client that has left is at one gateway of the fleet only.
type Unshared struct {
	Replica string // that has it, where the client has come back to another one, and its request is sent anew; "": this one
	Err     error  // why it is not kept for all, or could not be had; nil: that is known there
}

// offer keeps the answer, whose client has left, for the other gateways too, and tells them.
func (c *call) offer(k *keptAnswer, until time.Time) {
	fleet := c.setup.fleet
	if fleet == nil || fleet.Answers == nil || k.inFleet.key == "" {
		return
	}
	state := keptThere
	if err := c.keepForFleet(k); err != nil {
		c.emit(Event{Unshared: &Unshared{Err: err}})
		state = onlyThere
	}
	k.mu.Lock()
	over, now := k.dropped, time.Now()
	f := failedRequest{fleetKey: k.inFleet.key, at: now, until: until}
	if !over {
		k.state = state
	}
	k.mu.Unlock()
	switch {
	case !over:
		fleet.put(&f, state, now)
	case state == keptThere: // a client has it by now
		fleet.Answers.Drop(k.inFleet.key)
	}
}

// keepForFleet keeps the answer where all gateways find it.
func (c *call) keepForFleet(k *keptAnswer) error {
	answer, err := k.seal()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	return c.setup.fleet.Answers.Keep(ctx, k.inFleet.key, answer, c.setup.detached.Time)
}

// delivered tells the fleet that a client has the answer.
func (g *Gateway) delivered(k *keptAnswer) {
	k.mu.Lock()
	state := k.state
	k.mu.Unlock()
	fleet := g.setup.Load().fleet
	if state == "" || fleet == nil {
		return
	}
	fleet.Outcomes.Delete(k.inFleet.key)
	if state == keptThere && fleet.Answers != nil { // else it stays there for its time
		fleet.Answers.Drop(k.inFleet.key)
	}
}

// Delivered forgets the answer to a request whose outcome another gateway has deleted: the client has it.
func (g *Gateway) Delivered(key string) {
	for _, e := range g.outcomes.keptAs(key) {
		g.outcomes.drop(e)
	}
}

// keptElsewhere returns the answer to the same request that another gateway has read, as one that is kept here; nil: none
// is known. Only where one is known it is asked for.
func (c *call) keptElsewhere() *keptAnswer {
	g, fleet := c.gateway, c.setup.fleet
	if fleet == nil || fleet.Answers == nil || !fleet.knows(c) {
		return nil
	}
	key, m := c.fleetKey(), c.meaning()
	if key == "" || m == nil {
		return nil
	}
	a := fleet.elsewhere(key, time.Now())
	if a == nil || a.state != keptThere {
		if a != nil && a.state == onlyThere {
			c.isSentAnew(a.from, nil)
		}
		return nil
	}
	if !c.isIdentified() { // its key is known from the same request before
		c.identify()
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), getTime)
	defer cancel()
	answer, err := fleet.Answers.Get(ctx, key)
	if err != nil || answer == nil {
		c.isSentAnew(a.from, err)
		return nil
	}
	k := &keptAnswer{
		entry: c.newEntry(), inFleet: c.inFleet, record: g.spool.NewRecord(),
		left: true, end: io.EOF, state: keptThere, readers: 1,
	}
	k.meaning, k.entry.kept = *m, k
	if err := k.unseal(answer, c.setup); err != nil {
		c.isSentAnew(a.from, err)
		k.record.Release()
		return nil
	}
	g.outcomes.add(&k.entry)
	g.outcomes.expire(&k.entry, time.Until(a.until))
	return k
}

// isSentAnew tells OnEvent and the client that the request is sent again although another gateway has its answer.
func (c *call) isSentAnew(from string, err error) {
	c.emit(Event{Unshared: &Unshared{Replica: from, Err: err}})
	if k := c.keepalive; k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.committed {
			return
		}
	}
	c.w.Header()[replayedHeader] = []string{"false"}
}

// answeredAnew has the other gateways forget an answer that they have to a request which was answered here.
func (g *Gateway) answeredAnew(k *keptAnswer) {
	fleet := g.setup.Load().fleet
	if k.inFleet.key == "" || fleet == nil {
		return
	}
	if a := fleet.elsewhere(k.inFleet.key, time.Now()); a != nil && a.state.isAnswered() {
		k.mu.Lock()
		k.state = a.state
		k.mu.Unlock()
		g.delivered(k)
	}
}

// seal returns the answer encrypted with what only its request tells.
func (k *keptAnswer) seal() ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	err := json.NewEncoder(w).Encode(storedAnswer{k.id, k.at.Name, k.at.model, k.header, k.form, k.watched})
	if err == nil {
		_, err = io.Copy(w, &keptReader{keptAnswer: k, ctx: context.Background()}) // which has ended: nothing waits
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
	k.answerHead = answerHead{a.ID, destination{upstream: up, model: a.Model}, a.Header, a.Form, a.Watched}
	k.size = int64(len(body))
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
