// What comes next for a wait. The head of an upstream and its rows show the same moment.
import type { CallWait, Outage, TurnWait, Upstream } from './api'
import type { Received } from './table'

export type AnyWait = Received<CallWait | TurnWait>

// Next is what comes next: a time at which the wait's own retry or the upstream's next probe is due, or a state
// that ends by itself.
export interface Next {
  what: 'retry' | 'probe' | 'trying' | 'probing' | 'queued' | 'paused'
  due: number // on the page's clock; Infinity: no time is known
  at?: string | undefined // the same on the server's clock
}

// nextOf returns what comes next for a wait. A probe is another call's try: if it is answered, this one goes as
// well. Before the end of a usage window it is of no interest.
export function nextOf(w: AnyWait, u?: Received<Upstream>): Next {
  if (w.state === 'paused' || u?.state === 'paused') return { what: 'paused', due: Infinity }
  if (w.state === 'trying') return { what: 'trying', due: Infinity }
  const own = ownRetry(w)
  const o = w.opensAt ? undefined : outageOf(w, u)
  if (!o || o.recovering) return own
  if (o.probing) return { what: 'probing', due: Infinity }
  const probe = o.nextProbe ? u!.received + o.remainingMs : Infinity
  return probe < own.due ? { what: 'probe', due: probe, at: o.nextProbe } : own
}

function ownRetry(w: AnyWait): Next {
  if (w.state === 'waiting' && w.due) return { what: 'retry', due: w.received + w.remainingMs, at: w.due }
  return { what: 'queued', due: Infinity }
}

const outageOf = (w: AnyWait, u: Upstream | undefined): Outage | undefined => (w.outage ? u?.outages.find((o) => o.name === w.outage) : undefined)

// rank orders what comes next: a try in progress, then the times.
const rank = (n: Next): number => (n.what === 'trying' || n.what === 'probing' ? -1 : n.due)

// sooner reports whether one comes before the other.
export const sooner = (a: Next, b: Next): boolean => rank(a) < rank(b)
