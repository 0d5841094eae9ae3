// A council as its events add up to it. Nothing here draws, asks or looks at a
// clock, as with conversations; seats that an event does not touch stay the same
// objects.
import type { Sat, Standing } from './shapes'
import { begin, fold as happen, type Talk, type Turn } from './talk'
import { seconds } from './time'
import { causeOf, plural, type Faulty } from './words'

// Seat is a member, and where it stands.
export interface Seat extends Faulty {
  name: string
  provider: string
  state: Standing
  tries: number
  tookMs: number
  spent: number // when its budget is, on the page's own clock
  due?: number // when it is asked again; left out: when another call has gone first
  at?: string // the same by the server's clock
  message: string
  reason: string
  answer: string
}

// Council is one of which something was heard, or nothing yet.
export interface Council {
  id: string
  question: string
  judge: string
  seats: readonly Seat[]
  grace?: number // when the rest is cut off, on the page's own clock
  talk: Talk // the judge's turn
  end?: { status: NonNullable<Sat['status']>; message: string; tookMs: number }
}

export const convened = (question: string): Council => ({ id: '', question, judge: '', seats: [], talk: begin({ id: '', model: '', created: '', changed: '', seq: 0, queue: [] }) })

// fold adds an event.
export function fold(c: Council, e: Sat, now: number): Council {
  switch (e.type) {
    case 'council-start':
      return { ...c, id: e.turnId ?? '', judge: e.judge ?? '', seats: named(e.members ?? []).map((name, i) => seat(name, e.members?.[i] ?? '', now + (e.budgetMs ?? 0))) }
    case 'council-member':
      return { ...c, seats: c.seats.map((s, i) => (i === e.member ? stands(s, e, now) : s)) }
    case 'council-quorum':
      return { ...c, grace: now + (e.graceMs ?? 0) }
    case 'council-end':
      return { ...c, talk: hushed(c.talk, 'failed'), end: { status: e.status ?? 'done', message: e.message ?? '', tookMs: e.tookMs ?? 0 } }
  }
  return { ...c, talk: happen(c.talk, e, now) }
}

// named gives members' names, with a number where the same one is there again.
export function named(members: readonly string[]): string[] {
  return members.map((m, i) => {
    const before = members.slice(0, i).filter((o) => o === m).length
    return before > 0 ? `${m} #${before + 1}` : m
  })
}

const seat = (name: string, model: string, spent: number): Seat =>
  ({ name, provider: model.split('/')[0] ?? '', state: '', tries: 0, tookMs: 0, spent, message: '', reason: '', answer: '' })

function stands(s: Seat, e: Sat, now: number): Seat {
  const { due: _, at: __, ...rest } = s
  const next: Seat = {
    ...rest, state: e.state ?? '', tries: e.tries ?? 0, tookMs: e.tookMs ?? 0, spent: now + (e.remainingMs ?? 0),
    kind: e.kind, code: e.code, message: e.message ?? '', reason: e.reason ?? '', answer: e.answer ?? '',
  }
  if (e.delayMs) Object.assign(next, { due: now + e.delayMs, at: new Date(Date.parse(e.ts) + e.delayMs).toISOString() })
  return next
}

export const over = (s: Seat): boolean => s.state === 'answered' || s.state === 'failed' || s.state === 'cut-off'

export const count = (c: Council, state: Standing): number => c.seats.filter((s) => s.state === state).length

// turnOf is the judge's turn; undefined: it has not begun.
export const turnOf = (c: Council): Turn | undefined => c.talk.turns[0]

// Together are members that wait on the same provider, where there are several.
export interface Together {
  provider: string
  waiting: number
  first: Seat // that is asked again first
}

export function together(c: Council): Together[] {
  const all: Together[] = []
  for (const s of c.seats.filter((s) => s.state === 'waiting')) {
    const t = all.find((o) => o.provider === s.provider)
    if (!t) all.push({ provider: s.provider, waiting: 1, first: s })
    else {
      t.waiting++
      if ((s.due ?? Infinity) < (t.first.due ?? Infinity)) t.first = s
    }
  }
  return all.filter((t) => t.waiting > 1)
}

const cuts: Record<string, string> = {
  grace: 'the others have answered',
  cap: 'the time for the whole is over',
  stopped: 'stopped',
  lost: 'the connection to the server broke off',
}

const tried = (s: Seat): string => (s.tries > 1 ? ` (${plural(s.tries, 'try', 'tries')})` : '')

// standing says where a member stands, without what ticks.
export function standing(s: Seat): string {
  switch (s.state) {
    case '':
      return 'is about to be asked'
    case 'asking':
      return s.tries > 1 ? 'asked again' : 'asked'
    case 'waiting':
      return `waiting on ${s.provider}${s.kind ? ` (${causeOf(s)})` : ''} — ${s.due === undefined ? 'another call goes first' : 'next try'}`
    case 'answered':
      return `answered in ${seconds(Math.max(1, s.tookMs))}${tried(s)}`
    case 'failed':
      return (s.kind === 'timeout' ? `timed out after ${seconds(s.tookMs)}` : `failed: ${causeOf(s)}`) + tried(s)
    case 'cut-off':
      return `cut off after ${seconds(Math.max(1, s.tookMs))}: ${cuts[s.reason] ?? s.reason}`
  }
}

// halt ends a council that is heard of no more: somebody has stopped it, or the
// line to the server is gone. What has come stays.
export function halt(c: Council, why: 'stopped' | 'lost', tookMs: number): Council {
  if (c.end) return c
  const seats = c.seats.map((s): Seat => (over(s) ? s : { ...s, state: 'cut-off', reason: why, tookMs: Math.max(s.tookMs, tookMs) }))
  const status = why === 'stopped' ? 'aborted' : 'failed'
  const message = why === 'lost' ? 'The connection to the server broke off, and the council ended with it.' : ''
  return { ...c, seats, talk: hushed(c.talk, status), end: { status, message, tookMs } }
}

// hushed ends the judge's turn, if it has begun, with what had streamed of it.
function hushed(t: Talk, status: 'aborted' | 'failed'): Talk {
  const turn = t.turns[0]
  if (turn?.status !== 'open') return t
  const text = turn.items.map((i) => (i.is === 'answer' && i.streaming ? i.text : '')).join('')
  const e = { turnId: turn.id, ts: '', seq: t.seq + 1 }
  if (text) t = happen(t, { ...e, type: 'assistant-message', partial: true, content: [{ type: 'text', text }] }, 0)
  return happen(t, { ...e, seq: e.seq + 1, type: 'turn-sealed', status }, 0)
}

// read gives the models that somebody has written, a line each or with commas.
export const read = (models: string): string[] => models.split(/[\n,]/).map((m) => m.trim()).filter(Boolean)
