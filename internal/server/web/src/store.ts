// What the page knows: the server's lists, kept up by its stream, and what has
// come to an end while somebody looked. One truth for every view.
import { batch, computed, signal } from '@preact/signals'

import type { Gone, Heading, Hello, Incident, Tally, TurnWait, Upstream, Wait } from './shapes'
import type { Sent } from './sse'
import { Table, type Told } from './table'

export const waits = new Table<number, Wait>((w) => w.id)
export const turns = new Table<string, TurnWait>((t) => t.conversation) // of which each has one under way at the most
export const upstreams = new Table<string, Upstream>((u) => u.name)
export const incidents = new Table<string, Incident>((i) => i.id, (a, b) => b.began.localeCompare(a.began))
export const tallies = new Table<string, Tally>((t) => t.of)
export const conversations = new Table<string, Heading>((c) => c.id, (a, b) => b.changed.localeCompare(a.changed))

// hello is who answers; null: nobody has yet.
export const hello = signal<Hello | null>(null)

// known tells whether the lists are the server's, and not merely empty.
export const known = signal(false)

// Link is how the page and the server are connected: resting is a page that
// nobody looks at and that asks now and then.
export type Link = 'connecting' | 'live' | 'offline' | 'denied' | 'resting'
export const link = signal<Link>('connecting')

// unlisted is how many turns wait beside those in the list.
export const unlisted = computed(() => {
  void tallies.version.value
  return Math.max(0, (tallies.peek('turns')?.all ?? 0) - turns.keys.value.length)
})

// waiting is how many calls and turns wait.
export const waiting = computed(() => waits.keys.value.length + turns.keys.value.length + unlisted.value)

// End is how a wait came to its end; over is one of which nobody has said how.
export interface End {
  n: number
  how: 'recovered' | 'failed' | 'left' | 'over'
  upstream: string
  who: string
  retries: number
  waitedMs: number
  at: string // by the server's clock
  calls: number
  conversation?: string
}

const endsBound = 12

// ends are the latest, the newest first.
export const ends = signal<readonly End[]>([])

type Lists = {
  waits?: Wait[]
  turns?: TurnWait[]
  upstreams?: Upstream[]
  incidents?: Incident[]
  conversations?: Heading[]
  counts?: Tally[]
}

// own are the events that are about the lists; all others are of a conversation.
export const own = new Set([
  'hello', 'waits', 'wait', 'turns', 'turn', 'counts', 'count', 'upstreams', 'upstream', 'incidents', 'incident', 'conversations', 'conversation', 'gone',
])

// apply takes in what the stream has said, and shows it at once and once.
export function apply(sent: Sent[], now: number): void {
  batch(() => {
    for (const e of sent) take(e.event, JSON.parse(e.data), now)
    for (const t of [waits, turns, tallies, upstreams, incidents, conversations]) t.settle()
  })
}

function take(event: string, said: unknown, now: number): void {
  switch (event) {
    case 'hello':
      hello.value = said as Hello
      return
    case 'waits':
      return waits.replace((said as Lists).waits ?? [], now)
    case 'turns':
      return turns.replace((said as Lists).turns ?? [], now)
    case 'upstreams':
      known.value = true
      return upstreams.replace((said as Lists).upstreams ?? [], now)
    case 'incidents':
      return incidents.replace((said as Lists).incidents ?? [], now)
    case 'conversations':
      return conversations.replace((said as Lists).conversations ?? [], now)
    case 'wait':
      return waits.put(said as Wait, now)
    case 'turn':
      return turns.put(said as TurnWait, now)
    case 'upstream':
      return upstreams.put(said as Upstream, now)
    case 'incident':
      return incidents.put(said as Incident, now)
    case 'conversation':
      return conversations.put(said as Heading, now)
    case 'counts':
      return tallies.replace((said as Lists).counts ?? [], now)
    case 'count':
      return tallies.put(said as Tally, now)
    case 'gone':
      return gone(said as Gone, now)
  }
}

function gone(g: Gone, now: number): void {
  for (const id of g.waits ?? (g.wait === undefined ? [] : [g.wait])) {
    const w = waits.remove(id)
    if (w) ended(g, w, now, w.upstream, caller(w))
  }
  for (const id of g.turns ?? (g.turn === undefined ? [] : [g.turn])) {
    const t = turns.remove(id)
    if (t) ended(g, t, now, t.upstream ?? t.provider, t.title ?? t.conversation, t.conversation)
  }
  if (g.upstream !== undefined) upstreams.remove(g.upstream)
  if (g.incident !== undefined) incidents.remove(g.incident)
  if (g.conversation !== undefined) conversations.remove(g.conversation)
}

// caller names whose call it is, in one word.
export const caller = (w: Wait): string => w.client?.split(/[ (]/, 1)[0] ?? w.session ?? `request ${w.id}`

type Over = Told<{ retries: number; waitedMs: number; began: string }>

function ended(g: Gone, w: Over, now: number, upstream: string, who: string, conversation?: string): void {
  const waitedMs = g.waitedMs ?? w.waitedMs + (now - w.told)
  const at = new Date(Date.parse(w.began) + waitedMs).toISOString()
  const end: End = { n: 0, how: g.how ?? 'over', upstream, who, retries: g.retries ?? w.retries, waitedMs, at, calls: 1 }
  if (conversation !== undefined) end.conversation = conversation
  note(end)
}

// note adds an end; what ends alike in the same second is one line.
function note(end: End): void {
  const [last, ...older] = ends.value
  if (last && last.how === end.how && last.upstream === end.upstream && Math.abs(Date.parse(last.at) - Date.parse(end.at)) < 1500) {
    const { conversation: _, ...rest } = last
    const waitedMs = Math.max(last.waitedMs, end.waitedMs)
    ends.value = [{ ...rest, calls: last.calls + 1, retries: Math.max(last.retries, end.retries), waitedMs }, ...older]
    return
  }
  ends.value = [{ ...end, n: (last?.n ?? 0) + 1 }, ...ends.value].slice(0, endsBound)
}
