// The state of the page: the server's lists, kept up to date by its stream, and the waits that have ended
// since the page was opened. All views read it.
import { batch, computed, signal } from '@preact/signals'

import type { CallWait, Hello, Incident, Removal, Summary, Tally, TurnWait, Upstream, Warning } from './api'
import type { Thread } from './chart'
import type { ServerEvent } from './sse'
import { Table, type Received } from './table'

export const waits = new Table<number, CallWait>((w) => w.id)
export const turns = new Table<string, TurnWait>((t) => t.conversation) // a conversation has one turn at a time
export const upstreams = new Table<string, Upstream>((u) => u.name)
export const incidents = new Table<string, Incident>((i) => i.id, (a, b) => b.began.localeCompare(a.began))
export const tallies = new Table<string, Tally>((t) => t.of)
export const conversations = new Table<string, Summary>((c) => c.id, (a, b) => b.changed.localeCompare(a.changed))
export const warnings = new Table<string, Warning>((w) => w.text)

// hello describes the server; null: it has not answered yet.
export const hello = signal<Hello | null>(null)

// mayAct reports whether the page's token permits actions.
export const mayAct = (): boolean => hello.value?.acts !== false

// canAct reports whether the server takes actions from this page: nothing is offered that cannot be done.
export const canAct = (): boolean => mayAct() && lostAt.value === null

// denial is why the server does not let the page in; "": it needs a token.
export const denial = signal('')

// loaded is true once the lists are the server's.
export const loaded = signal(false)

// Link is the state of the connection to the server. A resting page is hidden and polls now and then.
export type Link = 'connecting' | 'live' | 'offline' | 'denied' | 'resting'
export const link = signal<Link>('connecting')

// lostAt is when the connection was lost, on the reader's clock; null: it is not. What is shown is from before.
export const lostAt = signal<number | null>(null)

// unlisted is the number of waiting turns that are not in the list.
export const unlisted = computed(() => {
  void tallies.version.value
  return Math.max(0, (tallies.peek('turns')?.all ?? 0) - turns.keys.value.length)
})

// waiting is the number of calls and turns that wait.
export const waiting = computed(() => waits.keys.value.length + turns.keys.value.length + unlisted.value)

// End is how a wait ended; 'over': the server did not say how.
export interface End {
  n: number
  how: 'recovered' | 'failed' | 'left' | 'over'
  upstream: string
  caller: string
  retries: number
  waitedMs: number
  at: string // on the server's clock
  calls: number
  conversation?: string
}

const endsBound = 12

// ends are the latest, the newest first.
export const ends = signal<readonly End[]>([])

// Passed is a wait that has ended while the page was open, for the time line.
export interface Passed extends Thread {
  id: number | string // of the call, or of the turn
}

const passedBound = 500

// passed are the latest, the oldest first. Nothing is drawn when it changes: the time line is drawn once a second.
export const passed: Passed[] = []

function addPassed(r: Removal, w: Received<CallWait | TurnWait>, now: number, id: number | string, upstream: string): void {
  const began = Date.parse(w.began)
  passed.push({ id, upstream, began, ended: began + (r.waitedMs ?? w.waitedMs + (now - w.received)), held: true, well: r.how !== 'failed' && r.how !== 'left' })
  if (passed.length > passedBound) passed.splice(0, passedBound / 2)
}

type Lists = {
  waits?: CallWait[]
  turns?: TurnWait[]
  upstreams?: Upstream[]
  incidents?: Incident[]
  conversations?: Summary[]
  counts?: Tally[]
  warnings?: Warning[]
}

// listEvents are the events of the lists; all others are of a conversation.
export const listEvents = new Set([
  'hello', 'waits', 'wait', 'turns', 'turn', 'counts', 'count', 'upstreams', 'upstream', 'incidents', 'incident', 'conversations', 'conversation', 'warnings', 'warning', 'gone',
])

// apply applies events of the stream and shows them in one update.
export function apply(events: ServerEvent[], now: number): void {
  batch(() => {
    for (const e of events) applyOne(e.event, JSON.parse(e.data), now)
    for (const t of [waits, turns, tallies, upstreams, incidents, conversations, warnings]) t.commit()
  })
}

function applyOne(event: string, data: unknown, now: number): void {
  switch (event) {
    case 'hello':
      hello.value = data as Hello
      return
    case 'waits':
      return waits.replace((data as Lists).waits ?? [], now)
    case 'turns':
      return turns.replace((data as Lists).turns ?? [], now)
    case 'upstreams':
      loaded.value = true
      return upstreams.replace((data as Lists).upstreams ?? [], now)
    case 'incidents':
      return incidents.replace((data as Lists).incidents ?? [], now)
    case 'conversations':
      return conversations.replace((data as Lists).conversations ?? [], now)
    case 'wait':
      return waits.put(data as CallWait, now)
    case 'turn':
      return turns.put(data as TurnWait, now)
    case 'upstream':
      return upstreams.put(data as Upstream, now)
    case 'incident':
      return incidents.put(data as Incident, now)
    case 'conversation':
      return conversations.put(data as Summary, now)
    case 'counts':
      return tallies.replace((data as Lists).counts ?? [], now)
    case 'count':
      return tallies.put(data as Tally, now)
    case 'warnings':
      return warnings.replace((data as Lists).warnings ?? [], now)
    case 'warning':
      return warnings.put(data as Warning, now)
    case 'gone':
      return remove(data as Removal, now)
  }
}

function remove(r: Removal, now: number): void {
  for (const id of r.waits ?? (r.wait === undefined ? [] : [r.wait])) {
    const w = waits.remove(id)
    if (w) addEnd(endOf(r, w, now, w.upstream, callerOf(w)))
    if (w) addPassed(r, w, now, w.id, w.upstream)
  }
  for (const id of r.turns ?? (r.turn === undefined ? [] : [r.turn])) {
    const t = turns.remove(id)
    if (t) addPassed(r, t, now, t.turn, t.upstream ?? t.provider)
    if (t) addEnd({ ...endOf(r, t, now, t.upstream ?? t.provider, t.title ?? t.conversation), conversation: t.conversation })
  }
  if (r.upstream !== undefined) upstreams.remove(r.upstream)
  if (r.incident !== undefined) incidents.remove(r.incident)
  if (r.conversation !== undefined) conversations.remove(r.conversation)
  if (r.warning !== undefined) warnings.remove(r.warning)
}

// waitingThreads returns the calls and turns that wait, for charts.
export const waitingThreads = (): Thread[] => [...waits.all(), ...turns.all()].map((w) => ({ upstream: w.upstream ?? ('provider' in w ? w.provider : ''), began: Date.parse(w.began), held: true, well: true }))

// serverNow returns the time on the server's clock, as its waits tell it; without one, that of this machine.
export function serverNow(): number {
  for (const w of waits.all()) if (w.due) return Date.parse(w.due) - w.remainingMs + performance.now() - w.received
  return Date.now()
}

// callerOf names the caller of a call in one word.
export const callerOf = (w: CallWait): string => w.client?.split(/[ (]/, 1)[0] ?? w.session ?? `request ${w.id}`

function endOf(r: Removal, w: Received<CallWait | TurnWait>, now: number, upstream: string, caller: string): End {
  const waitedMs = r.waitedMs ?? w.waitedMs + (now - w.received)
  const at = new Date(Date.parse(w.began) + waitedMs).toISOString()
  return { n: 0, how: r.how ?? 'over', upstream, caller, retries: r.retries ?? w.retries, waitedMs, at, calls: 1 }
}

// addEnd adds an end; equal ends within the same second become one.
function addEnd(end: End): void {
  const [last, ...older] = ends.value
  if (last && last.how === end.how && last.upstream === end.upstream && Math.abs(Date.parse(last.at) - Date.parse(end.at)) < 1500) {
    const { conversation: _, ...rest } = last
    const waitedMs = Math.max(last.waitedMs, end.waitedMs)
    ends.value = [{ ...rest, calls: last.calls + 1, retries: Math.max(last.retries, end.retries), waitedMs }, ...older]
    return
  }
  ends.value = [{ ...end, n: (last?.n ?? 0) + 1 }, ...ends.value].slice(0, endsBound)
}
