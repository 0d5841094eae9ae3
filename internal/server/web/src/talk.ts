// A conversation as its events add up to it. Nothing here draws, asks or looks
// at a clock: fold takes what there is and one event, and gives what there is
// then; turns that an event does not touch stay the same objects.
import type { Block, Conversation, Happening, Input } from './shapes'
import { compacted, restarted, switched, type Ended, type Tried } from './words'

export interface Said {
  is: 'user' | 'answer' | 'thought'
  text: string
  by?: string
  partial?: boolean // it broke off
  streaming?: boolean // more may come
  late?: boolean // its beginning had passed by before anybody listened
}

export interface Tool {
  is: 'tool'
  id: string
  name: string
  arguments: unknown
  state: 'asked' | 'running' | 'done' | 'failed'
  output?: string
}

export interface Note {
  is: 'note'
  text: string
  good?: boolean
}

export type Item = Said | Tool | Note

// Pause is the wait that a turn is in. It passes by and is never kept: the next
// one replaces it, and the first content ends it.
export interface Pause extends Tried {
  kind: string
  code?: string | undefined
  message: string
  due: number // on the page's own clock
  at?: string // the same by the server's
}

export interface Turn {
  id: string
  status: 'open' | 'done' | 'failed' | 'aborted'
  items: readonly Item[]
  pause?: Pause
  error?: Ended & { message: string }
  retries?: number
  waitedMs?: number
  tookMs?: number
  tokens?: [number, number]
}

export interface Talk {
  id: string
  seq: number // of the last kept event
  base: number // kept events up to here had happened when the page began to listen
  turns: readonly Turn[]
  queue: readonly Input[]
  steering: readonly string[] // inputs that steered already when the page began to listen
}

// begin gives a conversation of which nothing was heard yet.
export const begin = (c: Conversation): Talk => ({ id: c.id, seq: 0, base: c.seq, turns: [], queue: [], steering: c.queue.filter((i) => i.steers).map((i) => i.id) })

// attached says that the stream is anew: what had passed by meanwhile was missed,
// so what had streamed has a hole, and a wait may be over.
export function attached(t: Talk): Talk {
  return touch({ ...t, base: Math.max(t.base, t.seq) }, t.turns.at(-1)?.id ?? '', (turn) => {
    const { pause: _, ...rest } = turn
    return { ...rest, items: turn.items.filter((i) => !streams(i)) }
  })
}

// fold adds an event.
export function fold(t: Talk, e: Happening, now: number): Talk {
  if (kept(e)) {
    if (e.seq <= t.seq) return t // it was heard before
    t = { ...t, seq: Math.max(t.seq, e.seq) }
  }
  const id = e.turnId ?? ''
  switch (e.type) {
    case 'input-queued':
      return { ...t, queue: queued(t.queue, { id, text: e.text ?? '', at: e.ts, steers: t.steering.includes(id) }) }
    case 'input-removed':
      return { ...t, queue: t.queue.filter((i) => i.id !== id) }
    case 'turn-start':
      if (t.turns.some((turn) => turn.id === id)) return t
      return { ...t, queue: t.queue.filter((i) => i.id !== id), turns: [...t.turns, { id, status: 'open', items: [] }] }
  }
  if (e.inputId) t = { ...t, queue: t.queue.filter((i) => i.id !== e.inputId) } // it steers the turn now
  const late = t.seq <= t.base
  return touch(t, id, (turn) => happen(turn, e, now, late))
}

const passes = new Set(['text-delta', 'reasoning-delta', 'provider-retry', 'provider-waiting', 'provider-recovered'])

const kept = (e: Happening): boolean => !passes.has(e.type)

function queued(queue: readonly Input[], input: Input): Input[] {
  const there = queue.some((i) => i.id === input.id)
  return there ? queue.map((i) => (i.id === input.id ? { ...i, text: input.text } : i)) : [...queue, input]
}

// touch changes the turn with an id, or the last one if none has it.
function touch(t: Talk, id: string, change: (turn: Turn) => Turn): Talk {
  let at = t.turns.findLastIndex((turn) => turn.id === id)
  if (at < 0) at = t.turns.length - 1
  const turn = t.turns[at]
  return turn ? { ...t, turns: t.turns.with(at, change(turn)) } : t
}

function happen(turn: Turn, e: Happening, now: number, late: boolean): Turn {
  switch (e.type) {
    case 'text-delta':
      return stream(turn, 'answer', e.text ?? '', late)
    case 'reasoning-delta':
      return stream(turn, 'thought', e.text ?? '', late)
    case 'provider-retry':
      return { ...turn, pause: pauseOf(e, now) }
    case 'provider-waiting':
      return turn.pause ? { ...turn, pause: { ...turn.pause, due: now + (e.remainingMs ?? 0) } } : turn
    case 'provider-recovered':
      return { ...calm(turn), retries: e.retries ?? 0, waitedMs: e.waitedMs ?? 0 }
    case 'turn-sealed':
      return seal(turn, e)
    case 'error':
      return { ...calm(turn), error: errorOf(e) }
    default:
      return keep(turn, e)
  }
}

function pauseOf(e: Happening, now: number): Pause {
  const delay = e.delayMs ?? 0
  const at = new Date(Date.parse(e.ts) + delay).toISOString()
  return {
    kind: e.kind ?? 'unknown', code: e.code, message: e.message ?? '', retries: e.attempt ?? 0, maxRetries: e.maxRetries,
    deadline: e.deadline, due: now + delay, at,
  }
}

function errorOf(e: Happening): NonNullable<Turn['error']> {
  return {
    kind: e.kind, code: e.code, retries: e.retries ?? 0, committed: e.committed, provider: e.provider, model: e.model,
    message: e.message ?? '', requestId: e.requestId, waitedMs: e.waitedMs ?? 0,
  }
}

// calm ends the wait that a turn is in.
function calm(turn: Turn): Turn {
  const { pause: _, ...rest } = turn
  return rest
}

const streams = (i: Item): boolean => 'streaming' in i && i.streaming === true

// stream adds some of what a model says or thinks; it is content, so the wait is
// over.
function stream(turn: Turn, is: 'answer' | 'thought', text: string, late: boolean): Turn {
  const waited = turn.pause !== undefined
  const last = turn.items.at(-1)
  if (last?.is === is && last.streaming) return { ...calm(turn), items: turn.items.with(-1, { ...last, text: last.text + text }) }
  const fresh: Said = { is, text, streaming: true }
  if (late && !waited && !turn.items.some(streams)) fresh.late = true
  return { ...calm(turn), items: [...turn.items, fresh] }
}

// keep adds what lasts.
function keep(turn: Turn, e: Happening): Turn {
  switch (e.type) {
    case 'user-message':
      return add(turn, { is: 'user', text: e.text ?? '' })
    case 'assistant-message':
      return answer(turn, e)
    case 'tool-call':
      return tool(turn, e, { state: 'running' })
    case 'tool-result':
      return tool(turn, e, { state: e.failed ? 'failed' : 'done', output: String(e.output ?? '') })
    case 'provider-switched':
      return add(calm(turn), { is: 'note', text: switched(e.from, e.why, e.to) })
    case 'compacted':
      return add(turn, { is: 'note', text: compacted })
    case 'turn-restarted':
      return restart(turn)
  }
  return turn
}

const add = (turn: Turn, item: Item): Turn => ({ ...turn, items: [...turn.items, item] })

// restart drops what is void: what had streamed since the last kept event.
function restart(turn: Turn): Turn {
  const had = turn.items.some(streams)
  const rest = { ...calm(turn), items: turn.items.filter((i) => !streams(i)) }
  return had ? add(rest, { is: 'note', text: restarted }) : rest
}

// answer puts the whole answer in the place of what has streamed of it.
function answer(turn: Turn, e: Happening): Turn {
  const by = [e.provider, e.model].filter(Boolean).join('/')
  const items = (e.content ?? []).map((b) => item(b, by, e.partial ?? false)).filter((i) => i !== null)
  return { ...calm(turn), items: [...turn.items.filter((i) => !streams(i)), ...items] }
}

function item(b: Block, by: string, partial: boolean): Item | null {
  if (b.type === 'tool-call') return { is: 'tool', id: b.id ?? '', name: b.name ?? '', arguments: b.arguments, state: 'asked' }
  if (!b.text || b.type === 'tool-result') return null
  return { is: b.type === 'text' ? 'answer' : 'thought', text: b.text, by, partial }
}

function tool(turn: Turn, e: Happening, change: Partial<Tool>): Turn {
  const at = turn.items.findLastIndex((i) => i.is === 'tool' && i.id === e.id)
  const found = turn.items[at]
  if (found?.is === 'tool') return { ...turn, items: turn.items.with(at, { ...found, ...change }) }
  return add(turn, { is: 'tool', id: e.id ?? '', name: e.name ?? '', arguments: e.arguments, state: 'asked', ...change })
}

// seal ends a turn. What had streamed and was never kept is not of it.
function seal(turn: Turn, e: Happening): Turn {
  const items = turn.items.filter((i) => !streams(i))
  const sealed: Turn = { ...calm(turn), items, status: e.status ?? 'done', tookMs: e.durationMs ?? 0 }
  if (e.inputTokens || e.outputTokens) sealed.tokens = [e.inputTokens ?? 0, e.outputTokens ?? 0]
  if (e.retryCount) Object.assign(sealed, { retries: e.retryCount, waitedMs: e.totalRetryDelayMs ?? 0 })
  return sealed
}
