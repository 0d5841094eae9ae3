package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// How long providers keep a prompt from the start of the request that has used it last. Anthropic states in its
// answers which of two times it is. OpenAI caches prompts from a length on by itself.
const (
	anthropicShort = 5 * time.Minute
	anthropicLong  = time.Hour
	openaiTime     = 30 * time.Minute
	openaiLeast    = 1024 // tokens
)

// cacheMargin is how long before the end of a cache a try has to come, to be read from it.
const cacheMargin = 10 * time.Second

// maxCaches is how many caches are known. One more takes the place of that which ends first.
const maxCaches = 1024

// promptCaches knows what providers keep of the prompts of sessions: how much and until when, nothing of what is in
// them. It knows as much as the answers state.
type promptCaches struct {
	mu  sync.Mutex
	all map[cacheKey]promptCache
}

// cacheKey is whose cache it is. An agent of a session has a prompt of its own, and each model and account of a
// provider its own caches.
type cacheKey struct{ session, agent, upstream, credential, model string }

// promptCache is one cache.
type promptCache struct {
	tokens int64
	kept   time.Duration // from used on
	used   time.Time     // when the last request that used it was sent
	since  time.Time     // from when on it has lasted, and been used without a fault elsewhere
}

// ends returns the end of the cache unless it is used before.
func (p promptCache) ends() time.Time { return p.used.Add(p.kept) }

// lasts reports whether the cache can still be read; never for the zero one.
func (p promptCache) lasts(now time.Time) bool { return p.ends().After(now) }

// find returns a cache, ended or not; zero: none is known.
func (p *promptCaches) find(k cacheKey) promptCache {
	if k.session == "" {
		return promptCache{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[k]
}

// note notes a request that has used a cache. kept is 0 where the answer does not state it: it is what it was, or
// Anthropic's shorter time. switched says that the request was sent to another upstream first.
func (p *promptCaches) note(k cacheKey, tokens int64, kept time.Duration, used time.Time, switched bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.all[k]
	if before.used.After(used) {
		return
	}
	now := promptCache{tokens, kept, used, used}
	if now.kept == 0 {
		if now.kept = before.kept; !known {
			now.kept = anthropicShort
		}
	}
	if before.lasts(used) && !switched {
		now.since = before.since
	}
	if p.all == nil {
		p.all = map[cacheKey]promptCache{}
	}
	if !known && len(p.all) >= maxCaches {
		p.evict()
	}
	p.all[k] = now
}

// evict forgets the cache that ends first. mu is held.
func (p *promptCaches) evict() {
	var first cacheKey
	for k, c := range p.all {
		if first.session == "" || c.ends().Before(p.all[first].ends()) {
			first = k
		}
	}
	delete(p.all, first)
}

// cacheKey identifies the cache of the call's prompt at a destination.
func (in *intake) cacheKey(at destination) cacheKey {
	return cacheKey{
		session: in.info.Session, agent: text.Clip(in.r.Header.Get(agentHeader), idBound),
		upstream: at.Name, credential: in.credentialFor(at.upstream), model: at.model,
	}
}

// readsUsage reports whether the usage in the request's answer is read: for estimates of what the next ones take of
// the limits, for the cache of its session, and for the account of its tenant.
func (s *sharedRequest) readsUsage() bool {
	return s.room.Paced() || s.leader.info.Session != "" || s.leader.tenant != nil
}

// noteCache notes what the provider has said that its answer used of a cache. mu is held.
func (s *sharedRequest) noteCache() {
	if s.leader.info.Session == "" || s.sent.IsZero() {
		return
	}
	if tokens, kept := cachedBy(&s.at.baseURL, s.used); tokens > 0 {
		s.caches.note(s.leader.cacheKey(s.at), tokens, kept, s.sent, s.failover.At > 0)
	}
}

// cachedBy returns how much of a prompt the provider keeps after an answer; 0: nothing that is known. For how long is
// 0 where that is not stated.
func cachedBy(base *url.URL, u ratelimit.Charged) (tokens int64, kept time.Duration) {
	host := base.Hostname()
	switch {
	case u.Cached+u.Written > 0:
		if u.Written > 0 {
			kept = anthropicShort // what ends first
		}
		if u.Written > 0 && u.Hour >= u.Written {
			kept = anthropicLong
		}
		return int64(u.Cached + u.Written), kept
	case (host == "api.openai.com" || host == "chatgpt.com") && u.Input >= openaiLeast:
		return int64(u.Input), openaiTime
	}
	return 0, 0
}

// cached returns the cache of the request's prompt where it is, unless that has ended. mu is held, or the caller is the leader.
func (s *sharedRequest) cached() turn.PromptCache {
	p := s.caches.find(s.leader.cacheKey(s.at))
	if !p.lasts(time.Now()) {
		return turn.PromptCache{}
	}
	return turn.PromptCache{Until: p.ends(), Tokens: p.tokens}
}

// sooner returns a function that returns when the next try should be made to hit the prompt cache; nil: the request has
// no session.
func (s *sharedRequest) sooner() func(policy.Wait) time.Time {
	if s.leader.info.Session == "" {
		return nil
	}
	return func(policy.Wait) time.Time {
		until := s.cached().Until
		if until.IsZero() {
			return until
		}
		return until.Add(-cacheMargin)
	}
}

// longestVisit is how long the calls of a session go to a fallback first. Else a session that never pauses would
// stay for good, and one that is alone would never ask whether its first upstream is back.
const longestVisit = time.Hour

// visit has the call begin at a fallback that has its prompt in its cache, which it has filled while the first
// upstream failed. It is asked for the same model there. Its route from the first upstream on follows.
func (f *failover) visit(c *call) {
	if c.info.Session == "" || c.carried != nil {
		return
	}
	for i, to := range f.others {
		if to.again || to.model != f.origin.model || !f.visits(c, to) {
			continue
		}
		back := f.Hops[i]
		back.AtOnce |= leavesVisit
		if !f.origin.breaker.Degraded() {
			back.AtOnce |= fault.Transient.With(fault.Unknown)
		}
		f.others = slices.Insert(f.others, 0, f.origin)
		f.Hops = slices.Insert(f.Hops, 0, back)
		f.origin, f.settings = to, to.settings(to.model)
		return
	}
}

// leavesVisit are the faults of an account, which is another one at the first upstream.
const leavesVisit fault.Set = 1<<fault.Auth | 1<<fault.Quota

// visits reports whether the call is better off at a fallback than at the first upstream.
func (f *failover) visits(c *call, to destination) bool {
	now := time.Now()
	there := c.gateway.caches.find(c.cacheKey(to))
	if !there.lasts(now) || now.Sub(there.since) > longestVisit || to.breaker.Degraded() {
		return false
	}
	back := !f.origin.breaker.Degraded() && f.origin.breaker.State().LastSuccess.After(there.since)
	return !back || !c.gateway.caches.find(c.cacheKey(f.origin)).lasts(now)
}

// destination is where a request is sent: an upstream, and the model that it is asked for there.
type destination struct {
	*upstream
	model string
	again bool // it is the upstream of an earlier one, with another model
}

// label names a destination among others: the upstream's name, and the model if that is not the request's.
func (d destination) label(asked string) string {
	if d.model == asked {
		return d.Name
	}
	return d.Name + "/" + d.model
}

// failover is the route of a shared request: the upstream that it is for, then
// the fallbacks that answer its dialect, in their order. One that has the prompt
// in its cache may come first.
type failover struct {
	route.Route
	origin   destination
	others   []destination // from each hop
	settings settings      // where the request is
	refusal  *refusal      // nil: the first upstream has not failed for good
}

// refusal is how the first upstream has failed for good, which the client gets if no fallback answers.
type refusal struct {
	resp *http.Response // nil: without a response
	err  error
	last policy.Wait
}

func newFailover(c *call) failover {
	f := failover{origin: destination{upstream: c.upstream, model: c.parsed.Model}}
	f.settings = c.upstream.settings(c.parsed.Model)
	f.Rules = route.Rules{OneBudget: true, Return: true}
	if f.Since = c.info.Began; c.carried != nil {
		f.Run = c.carried.Run
	}
	for _, to := range f.settings.fallback {
		d := destination{upstream: c.setup.upstream(to.To), model: cmp.Or(to.Model, c.parsed.Model)}
		if d.upstream != nil && d.api.answers(c.dialect, c.endpoint.path) && c.mayAsk(d) && f.adds(&d) {
			f.others, f.Hops = append(f.others, d), append(f.Hops, to.hop())
		}
	}
	f.visit(c)
	return f
}

// adds reports whether a destination is new, and notes whether its upstream is.
func (f *failover) adds(d *destination) bool {
	for _, before := range append([]destination{f.origin}, f.others...) {
		if before.upstream == d.upstream {
			if before.model == d.model {
				return false
			}
			d.again = true
		}
	}
	return true
}

// hop returns the fallback as the hop that leads to it.
func (f Fallback) hop() route.Hop {
	h := route.Hop{After: f.After, AtOnce: f.Kinds}
	if h.After == 0 {
		h.After = route.Unlimited
	}
	return h
}

// next returns where the request goes after the end of a run; nil: it ends too.
func (f *failover) next(e route.End) *destination {
	if !f.Go(e) {
		return nil
	}
	to := &f.origin
	if f.At > 0 {
		to = &f.others[f.At-1]
	}
	f.settings = to.settings(to.model)
	return to
}

// has reports whether there is a fallback, which the request may have passed already.
func (f *failover) has() bool { return len(f.Hops) > 0 }

// asksOthers reports whether the next one is asked for what the model refuses to answer here.
func (f *failover) asksOthers() bool {
	return !f.Last() && f.Hops[f.At].AtOnce.Has(fault.Refused) || f.refusal != nil && f.refusal.last.Fault.Kind == fault.Refused
}

// leavesAtOnce has the request leave where it is without a wait for faults of a kind, if another one may take over.
func (f *failover) leavesAtOnce(k fault.Kind) {
	if !f.Last() {
		f.Hops[f.At].AtOnce = f.Hops[f.At].AtOnce.With(k)
	}
}

// keep keeps the outcome of the first upstream if that has failed for good, and else closes its response.
func (f *failover) keep(resp *http.Response, err error, last policy.Wait) {
	if f.At == 1 && f.FailedForGood() {
		f.refusal = &refusal{resp, err, last}
		return
	}
	closeResponse(resp)
}

// outcome returns what the client gets after the last run: its outcome, or the first upstream's if that has
// failed for good and no other has answered. The second one is true then.
func (f *failover) outcome(resp *http.Response, err error, last policy.Wait) (refusal, bool) {
	first := f.refusal
	if f.refusal = nil; first == nil {
		return refusal{resp, err, last}, false
	}
	if first.last.Verdict.Stop == "" || last.Verdict.Stop == "" || last.Verdict.Stop == policy.GivenUp {
		closeResponse(first.resp)
		return refusal{resp, err, last}, false
	}
	closeResponse(resp)
	first.last.Run.Tries, first.last.Waited = 0, last.Waited // the tries are counted with those of the others
	if errors.Is(first.last.Fault, transport.ErrRefusal) {
		first.last.Fault, first.last.Verdict.Stop = nil, "" // it is an answer
		first.resp.Header.Del(shouldRetryHeader)
	}
	return *first, true
}

// closeResponse closes a response that is not read; nil: none.
func closeResponse(resp *http.Response) {
	if resp != nil {
		_ = resp.Body.Close()
	}
}
