// A council as its events add up. Nothing here draws, sends or reads a clock. Members that an event does not
// change stay the same objects.
import type { CouncilEvent, MemberState } from './api'
import { seconds } from './time'
import { fold as foldTurn, newTranscript, type Transcript, type Turn } from './transcript'
import { aSentence, causeOf, isTransient, plural, shortfall, type Fault } from './words'

export interface Member extends Fault {
  name: string
  provider: string
  state: MemberState
  tries: number
  tookMs: number
  budgetEnds: number // on the page's own clock
  due?: number // of the next try, on the page's own clock; left out: another call probes first
  at?: string // the same on the server's clock
  message: string
  reason: string
  answer: string
}

export interface Council {
  id: string
  question: string
  judge: string
  members: readonly Member[]
  quorum: number // how many answers are enough
  grace?: number // when the other members are cut off, on the page's own clock
  transcript: Transcript // of the judge's turn
  end?: { status: NonNullable<CouncilEvent['status']>; message: string; tookMs: number }
}

export const newCouncil = (question: string): Council =>
  ({ id: '', question, judge: '', members: [], quorum: 0, transcript: newTranscript({ id: '', model: '', created: '', changed: '', seq: 0, queue: [] }) })

// fold adds an event.
export function fold(c: Council, e: CouncilEvent, now: number): Council {
  switch (e.type) {
    case 'council-start':
      return { ...c, id: e.turnId ?? '', judge: e.judge ?? '', quorum: e.quorum ?? 0, members: numbered(e.members ?? []).map((name, i) => newMember(name, e.members?.[i] ?? '', now + (e.budgetMs ?? 0))) }
    case 'council-member':
      return { ...c, members: c.members.map((m, i) => (i === e.member ? update(m, e, now) : m)) }
    case 'council-quorum':
      return { ...c, grace: now + (e.graceMs ?? 0) }
    case 'council-end':
      return { ...c, transcript: sealJudge(c.transcript, 'failed'), end: { status: e.status ?? 'done', message: whyFailed(c, e), tookMs: e.tookMs ?? 0 } }
  }
  return { ...c, transcript: foldTurn(c.transcript, e, now) }
}

// whyFailed returns why a council failed; '': it did not. If too few members answered, it says how many: each of the
// others shows its own reason.
function whyFailed(c: Council, e: CouncilEvent): string {
  const answered = count(c, 'answered')
  if (e.status !== 'failed') return ''
  return answered < c.quorum ? shortfall(answered, c.members.length, c.quorum) : aSentence(e.message ?? 'the reason is not known')
}

// mayAnswerLater reports whether a council failed since too few members answered, and enough others failed in a way that
// passes.
export function mayAnswerLater(c: Council): boolean {
  const answered = count(c, 'answered')
  const passing = c.members.filter((m) => m.state === 'failed' && isTransient(m)).length
  return c.end?.status === 'failed' && answered < c.quorum && answered + passing >= c.quorum
}

// numbered returns the members' names, with a number where one repeats.
export function numbered(members: readonly string[]): string[] {
  return members.map((m, i) => {
    const before = members.slice(0, i).filter((o) => o === m).length
    return before > 0 ? `${m} #${before + 1}` : m
  })
}

const newMember = (name: string, model: string, budgetEnds: number): Member =>
  ({ name, provider: model.split('/')[0] ?? '', state: '', tries: 0, tookMs: 0, budgetEnds, message: '', reason: '', answer: '' })

function update(m: Member, e: CouncilEvent, now: number): Member {
  const { due: _, at: __, ...rest } = m
  const next: Member = {
    ...rest, state: e.state ?? '', tries: e.tries ?? 0, tookMs: e.tookMs ?? 0, budgetEnds: now + (e.remainingMs ?? 0),
    kind: e.kind, code: e.code, message: e.message ?? '', reason: e.reason ?? '', answer: e.answer ?? '',
  }
  if (e.delayMs) Object.assign(next, { due: now + e.delayMs, at: new Date(Date.parse(e.ts) + e.delayMs).toISOString() })
  return next
}

export const isOver = (m: Member): boolean => m.state === 'answered' || m.state === 'failed' || m.state === 'cut-off'

export const count = (c: Council, state: MemberState): number => c.members.filter((m) => m.state === state).length

// judgeTurn is the judge's turn; undefined: it has not begun.
export const judgeTurn = (c: Council): Turn | undefined => c.transcript.turns[0]

// SharedWait is several members that wait on the same provider.
export interface SharedWait {
  provider: string
  waiting: number
  first: Member // with the next try
}

export function sharedWaits(c: Council): SharedWait[] {
  const all: SharedWait[] = []
  for (const m of c.members.filter((m) => m.state === 'waiting')) {
    const w = all.find((o) => o.provider === m.provider)
    if (!w) all.push({ provider: m.provider, waiting: 1, first: m })
    else {
      w.waiting++
      if ((m.due ?? Infinity) < (w.first.due ?? Infinity)) w.first = m
    }
  }
  return all.filter((w) => w.waiting > 1)
}

const cutOffReasons: Record<string, string> = {
  grace: 'the others have answered',
  cap: 'the time limit of the council is over',
  stopped: 'stopped',
  lost: 'the connection to the server was lost',
}

const triesText = (m: Member): string => (m.tries > 1 ? ` (${plural(m.tries, 'try', 'tries')})` : '')

// statusText is the state of a member in words, without its countdown.
export function statusText(m: Member): string {
  switch (m.state) {
    case '':
      return 'is about to be asked'
    case 'asking':
      return m.tries > 1 ? 'asked again' : 'asked'
    case 'waiting':
      return `waiting on ${m.provider}${m.kind ? ` (${causeOf(m)})` : ''} — ${m.due === undefined ? 'another call goes first' : 'next try'}`
    case 'answered':
      return `answered in ${seconds(Math.max(1, m.tookMs))}${triesText(m)}`
    case 'failed':
      return (m.kind === 'timeout' ? `timed out after ${seconds(m.tookMs)}` : `failed: ${causeOf(m)}`) + triesText(m)
    case 'cut-off':
      return `cut off after ${seconds(Math.max(1, m.tookMs))}: ${cutOffReasons[m.reason] ?? m.reason}`
  }
}

// endEarly ends a council that the user stopped or whose connection was lost, and keeps what has arrived.
export function endEarly(c: Council, why: 'stopped' | 'lost', tookMs: number): Council {
  if (c.end) return c
  const members = c.members.map((m): Member => (isOver(m) ? m : { ...m, state: 'cut-off', reason: why, tookMs: Math.max(m.tookMs, tookMs) }))
  const status = why === 'stopped' ? 'aborted' : 'failed'
  const message = why === 'lost' ? 'The connection to the server was lost, and the council ended with it.' : ''
  return { ...c, members, transcript: sealJudge(c.transcript, status), end: { status, message, tookMs } }
}

// sealJudge ends the judge's turn if it has begun, and keeps the text that has streamed.
function sealJudge(t: Transcript, status: 'aborted' | 'failed'): Transcript {
  const turn = t.turns[0]
  if (turn?.status !== 'open') return t
  const text = turn.items.map((i) => (i.is === 'answer' && i.streaming ? i.text : '')).join('')
  const e = { turnId: turn.id, ts: '', seq: t.seq + 1 }
  if (text) t = foldTurn(t, { ...e, type: 'assistant-message', partial: true, content: [{ type: 'text', text }] }, 0)
  return foldTurn(t, { ...e, seq: e.seq + 1, type: 'turn-sealed', status }, 0)
}

// parseModels returns the models of an input field: one per line, or separated by commas.
export const parseModels = (models: string): string[] => models.split(/[\n,]/).map((m) => m.trim()).filter(Boolean)
