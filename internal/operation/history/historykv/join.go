package historykv

import (
	"context"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/store"
)

// joinTime is how long joining may take. For so long no other gateway does.
const joinTime = 30 * time.Second

// joinGone joins the histories of gateways that have been gone for long with those before.
func (k *Keeper) joinGone(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	lock := store.Entry{Key: "history-lock-" + k.Name, Value: []byte(k.ID)}
	if _, err := k.KV.Put(ctx, lock, 2*joinTime); err != nil {
		return // another one does, or it is done later
	}
	before, _, err := k.loadOne(ctx, "", 0)
	if err != nil {
		return
	}
	if before == nil {
		before = history.Sum(now)
	}
	gone, err := k.gone(ctx, now, before.Joined())
	if err == nil && len(gone) > 0 {
		err = k.replace(ctx, before.Join(now, gone...), gone)
	}
	if err != nil {
		k.Log.Warn("histories not joined", "error", err)
	}
}

// gone returns the histories that are to be joined. Those in joined have been already.
func (k *Keeper) gone(ctx context.Context, now time.Time, joined []string) (gone []history.Part, err error) {
	ids, _, err := k.ids(ctx)
	if err != nil {
		return nil, err
	}
	members := k.Members()
	for _, id := range ids {
		if slices.Contains(members, id) || slices.Contains(joined, id) {
			continue
		}
		h, _, err := k.loadOne(ctx, id, 0)
		if err != nil {
			return nil, err
		}
		if h != nil {
			gone = append(gone, history.Part{History: h, Name: id})
		}
	}
	slices.SortFunc(gone, func(a, b history.Part) int { return a.Saved().Compare(b.Saved()) })
	n := 0
	for n < len(gone) && now.Sub(gone[n].Saved()) >= joinAfter {
		n++
	}
	for n < len(gone)-mostGone && now.Sub(gone[n].Saved()) >= joinSooner {
		n++
	}
	return gone[:n], nil
}

// replace saves a sum, and then deletes what is in it: a reader between leaves out what was joined.
func (k *Keeper) replace(ctx context.Context, sum *history.History, parts []history.Part) error {
	text, err := sum.Text()
	if err == nil {
		err = k.saveText(ctx, "", text)
	}
	if err == nil {
		err = k.changeIDs(ctx, func(ids []string) []string {
			return slices.DeleteFunc(ids, func(id string) bool {
				return slices.ContainsFunc(parts, func(p history.Part) bool { return p.Name == id })
			})
		})
	}
	for _, p := range parts {
		if err == nil {
			err = k.value(p.Name).Delete(ctx)
		}
	}
	return err
}
