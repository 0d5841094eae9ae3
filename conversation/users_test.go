package conversation_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store"
)

// user does with a conversation whatever comes to mind, while runners die.
type user struct {
	*chaos
	desk    *conversation.Runner
	talk    string
	said    []string
	removed map[string]bool
	edited  map[string]string
}

// act performs a random action. One that is impossible at the moment is no error.
func (u *user) act(ctx context.Context) {
	id := ""
	if len(u.said) > 0 {
		id = u.said[len(u.said)-1-u.roll(min(4, len(u.said)))]
	}
	var err error
	switch u.roll(8) {
	case 0, 1, 2:
		if id, err = u.desk.Submit(ctx, u.talk, "", "go on"); err == nil {
			u.said = append(u.said, id)
		}
	case 3:
		if err = u.desk.Remove(ctx, u.talk, id); err == nil {
			u.removed[id] = true
		}
	case 4:
		text := fmt.Sprint("go on ", u.roll(1000))
		if err = u.desk.Edit(ctx, u.talk, id, text); err == nil {
			u.edited[id] = text
		}
	case 5:
		err = u.desk.Steer(ctx, u.talk, id)
	case 6:
		err = u.desk.Stop(ctx, u.talk, "")
	case 7:
		err = u.desk.RetryNow(ctx, u.talk)
	}
	switch {
	case err == nil, errors.Is(err, conversation.ErrNotQueued), errors.Is(err, conversation.ErrIdle), errors.Is(err, conversation.ErrStopped), errors.Is(err, store.ErrInvalid):
	default:
		u.complain("%s: %v", u.talk, err)
	}
}

// heard returns what models were told, by the input that it was, and counts the
// seals of each turn.
func (u *user) heard(ctx context.Context) (words map[string]string, seals map[string]int) {
	words, seals = map[string]string{}, map[string]int{}
	open := ""
	for r, err := range u.engine.Read(ctx, u.talk, 0) {
		if err != nil {
			u.complain("%s: %v", u.talk, err)
			break
		}
		switch r.Type {
		case "turn-start":
			if open != "" {
				u.complain("%s: %s begins in %s", u.talk, r.Turn, open)
			}
			open = r.Turn
		case "user-message":
			var m struct {
				ID   string `json:"inputId"`
				Text string
			}
			_ = json.Unmarshal(r.Body, &m)
			id := cmp.Or(m.ID, r.Turn)
			if _, twice := words[id]; twice {
				u.complain("%s: %s was heard twice", u.talk, id)
			}
			words[id] = m.Text
		case "turn-sealed":
			seals[r.Turn]++
			open = ""
		}
	}
	return words, seals
}

// check looks at what has become of all that was said.
func (u *user) check(ctx context.Context) {
	words, seals := u.heard(ctx)
	for _, id := range u.said {
		text, heard := words[id]
		want := cmp.Or(u.edited[id], "go on")
		switch {
		case heard == u.removed[id]:
			u.complain("%s: %s: removed %v, heard %v", u.talk, id, u.removed[id], heard)
		case heard && text != want:
			u.complain("%s: %s: heard %q, want %q", u.talk, id, text, want)
		case seals[id] > 1:
			u.complain("%s: %s was sealed %d times", u.talk, id, seals[id])
		}
	}
	if v, err := u.desk.Get(ctx, u.talk); err != nil || v.Turn != "" || len(v.Inputs) > 0 {
		u.complain("%s: something is left: %+v, %v", u.talk, v, err)
	}
}

// users lets users do what they do for a while; over is closed when they have.
func (c *chaos) users() (all []*user, over <-chan struct{}) {
	ended := make(chan struct{})
	var acting sync.WaitGroup
	for n := range 6 {
		u := &user{
			chaos: c, desk: conversation.New(conversation.Config{Store: c.engine}), talk: fmt.Sprint("talk-", n),
			removed: map[string]bool{}, edited: map[string]string{},
		}
		if _, err := u.desk.Create(c.t.Context(), u.talk, conversation.Settings{Title: u.talk}); err != nil {
			c.t.Fatalf("create: %v", err)
		}
		all = append(all, u)
		acting.Go(func() {
			for range 40 {
				time.Sleep(time.Duration(c.roll(20000)) * time.Millisecond)
				for range 1 + c.roll(3) {
					u.act(c.t.Context())
				}
			}
		})
	}
	go func() { acting.Wait(); close(ended) }()
	return all, ended
}

// havoc kills runners until nothing is left to do.
func (c *chaos) havoc(over <-chan struct{}) {
	kills := []func(){c.start(), c.start(), c.start()}
	for n, done := 0, false; n < 600 && !(done && c.sealed(nil)); n++ {
		time.Sleep(time.Duration(1+c.roll(20+n)) * time.Second)
		if victim := c.roll(3); c.roll(2) == 0 {
			kills[victim]()
			kills[victim] = c.start()
		}
		select {
		case <-over:
			done = true
		default:
		}
	}
	for _, kill := range kills {
		kill()
	}
}

// Whatever users do while runners die: what was said is heard once, in the words
// it was last put into, or taken back and never heard; and nothing is left.
func TestRunner_RandomUserActionsLoseNothing(t *testing.T) {
	for seed := range fewerSeeds(2) {
		synctest.Test(t, func(t *testing.T) {
			c := &chaos{t: t, engine: store.Memory(), dice: rand.New(rand.NewPCG(seed, 11))}
			defer c.engine.Close(context.Background())
			users, over := c.users()
			c.havoc(over)
			for _, u := range users {
				u.check(t.Context())
			}
			if len(c.wrong) > 0 {
				t.Errorf("seed %d: %d wrong, such as %.3000q", seed, len(c.wrong), c.wrong)
			}
		})
	}
}
