// A conversation as its events add up. Nothing here draws, sends or reads a clock: fold takes a transcript
// and one event, and returns the next transcript. Turns that an event does not change stay the same objects.
import type { Block, Conversation, ConversationEvent, Image, Input, Wait } from './api'
import type { Received } from './table'
import { seconds } from './time'
import { compactCommand, compacted, restarted, switched, type Ended } from './words'

export interface Message {
  is: 'user' | 'answer' | 'thought'
  text: string
  images?: readonly Image[] // what the user shows with it
  by?: string
  partial?: boolean // the answer broke off
  streaming?: boolean // more may come
  late?: boolean // its beginning was streamed before the page was connected
}

export interface Tool {
  is: 'tool'
  id: string
  name: string
  arguments: unknown
  state: 'asked' | 'approval' | 'running' | 'done' | 'failed' // approval: it waits for the user's
  output?: string
  until?: string // when it is refused without an answer
  wait?: string // for its MCP server; '': it does not wait
}

export interface Note {
  is: 'note'
  text: string
  good?: boolean
}

export type Item = Message | Tool | Note

export interface Turn {
  id: string
  status: 'open' | 'done' | 'failed' | 'aborted'
  items: readonly Item[]
  wait?: Received<Wait> // the next wait replaces it, and the first content ends it
  error?: Ended & { message: string }
  mcp?: string // the wait for an MCP server before the first question; '': there is none
  retries?: number
  waitedMs?: number
  tookMs?: number
  tokens?: [number, number]
}

export interface Transcript {
  id: string
  seq: number // of the last kept event
  base: number // the number of the last event when the page connected
  turns: readonly Turn[]
  queue: readonly Input[]
  steering: readonly string[] // inputs that steered already when the page connected
}

// newTranscript returns the transcript of a conversation before its first event.
export const newTranscript = (c: Conversation): Transcript =>
  ({ id: c.id, seq: 0, base: c.seq, turns: [], queue: [], steering: c.queue.filter((i) => i.steers).map((i) => i.id) })

// reconnected drops what may have changed while the stream was lost: streamed text has gaps, and a wait may
// be over.
export function reconnected(t: Transcript): Transcript {
  return changeTurn({ ...t, base: Math.max(t.base, t.seq) }, t.turns.at(-1)?.id ?? '', (turn) => {
    return { ...withoutWait(turn), items: turn.items.filter((i) => !isStreaming(i)) }
  })
}

// fold adds an event.
export function fold(t: Transcript, e: ConversationEvent, now: number): Transcript {
  if (isKept(e)) {
    if (e.seq <= t.seq) return t // a repetition
    t = { ...t, seq: Math.max(t.seq, e.seq) }
  }
  const id = e.turnId ?? ''
  switch (e.type) {
    case 'input-queued':
      return { ...t, queue: enqueue(t.queue, { id, text: e.text ?? '', at: e.ts, steers: t.steering.includes(id), ...(e.compact ? { compact: true } : {}), ...(e.images ? { images: e.images } : {}) }) }
    case 'conversation-paused':
      return changeTurn(t, t.turns.at(-1)?.id ?? '', withoutWait) // it is told of again when it goes on
    case 'input-removed':
      return { ...t, queue: t.queue.filter((i) => i.id !== id) }
    case 'turn-start':
      if (t.turns.some((turn) => turn.id === id)) return t
      return { ...t, queue: t.queue.filter((i) => i.id !== id), turns: [...t.turns, { id, status: 'open', items: e.compact ? [{ is: 'user', text: compactCommand(e.instruction ?? '') }] : [] }] }
  }
  if (e.inputId) t = { ...t, queue: t.queue.filter((i) => i.id !== e.inputId) } // the turn has taken it
  const late = t.seq <= t.base
  return changeTurn(t, id, (turn) => apply(turn, e, now, late))
}

const transient = new Set(['mcp-retry', 'mcp-recovered', 'text-delta', 'reasoning-delta', 'provider-retry', 'provider-waiting', 'provider-recovered'])

const isKept = (e: ConversationEvent): boolean => !transient.has(e.type)

function enqueue(queue: readonly Input[], input: Input): Input[] {
  const known = queue.some((i) => i.id === input.id)
  return known ? queue.map((i) => (i.id === input.id ? { ...i, text: input.text } : i)) : [...queue, input]
}

// changeTurn changes the turn with an id, or else the last one.
function changeTurn(t: Transcript, id: string, change: (turn: Turn) => Turn): Transcript {
  let at = t.turns.findLastIndex((turn) => turn.id === id)
  if (at < 0) at = t.turns.length - 1
  const turn = t.turns[at]
  return turn ? { ...t, turns: t.turns.with(at, change(turn)) } : t
}

// apply adds an event of a turn to it.
function apply(turn: Turn, e: ConversationEvent, now: number, late: boolean): Turn {
  switch (e.type) {
    case 'text-delta':
      return append(turn, 'answer', e.text ?? '', late)
    case 'reasoning-delta':
      return append(turn, 'thought', e.text ?? '', late)
    case 'provider-retry':
      return { ...turn, wait: waitOf(e, now) }
    case 'provider-waiting':
      return turn.wait ? { ...turn, wait: { ...turn.wait, remainingMs: e.remainingMs ?? 0, received: now } } : turn
    case 'provider-recovered':
      return { ...withoutWait(turn), retries: e.retries ?? 0, waitedMs: e.waitedMs ?? 0 }
    case 'mcp-retry':
      return e.id ? tool(turn, e, { wait: mcpWait(e) }) : { ...turn, mcp: mcpWait(e) }
    case 'mcp-recovered':
      return e.id ? tool(turn, e, { wait: '' }) : { ...turn, mcp: '' }
    case 'turn-sealed':
      return seal(turn, e)
    case 'error':
      return { ...withoutWait(turn), error: errorOf(e) }
    default:
      return applyKept(turn, e)
  }
}

// mcpWait is the wait for an MCP server in words.
const mcpWait = (e: ConversationEvent): string =>
  `${e.server ?? 'the MCP server'} does not answer (${e.message ?? ''}), try ${(e.attempt ?? 0) + 2} in ${seconds(e.delayMs ?? 0)}`

function waitOf(e: ConversationEvent, now: number): Received<Wait> {
  const remainingMs = e.delayMs ?? 0
  const due = new Date(Date.parse(e.ts) + remainingMs).toISOString()
  return {
    kind: e.kind ?? 'unknown', code: e.code, message: e.summary ?? e.message ?? '', retries: e.attempt ?? 0, maxRetries: e.maxRetries,
    deadline: e.deadline, opensAt: e.opensAt, due, remainingMs, received: now,
  }
}

function errorOf(e: ConversationEvent): NonNullable<Turn['error']> {
  return {
    kind: e.kind, code: e.code, retries: e.retries ?? 0, committed: e.committed, provider: e.provider, model: e.model,
    message: e.message ?? '', requestId: e.requestId, waitedMs: e.waitedMs ?? 0, opensAt: e.opensAt,
  }
}

function withoutWait(turn: Turn): Turn {
  const { wait: _, ...rest } = turn
  return rest
}

// needsApproval reports whether an item is a tool call that waits for the user's approval.
export const needsApproval = (i: Item): i is Tool => i.is === 'tool' && i.state === 'approval'

const isStreaming = (i: Item): boolean => 'streaming' in i && i.streaming === true

// append adds streamed text. It is content, so the wait is over.
function append(turn: Turn, is: 'answer' | 'thought', text: string, late: boolean): Turn {
  const waited = turn.wait !== undefined
  const last = turn.items.at(-1)
  if (last?.is === is && last.streaming) return { ...withoutWait(turn), items: turn.items.with(-1, { ...last, text: last.text + text }) }
  const fresh: Message = { is, text, streaming: true }
  if (late && !waited && !turn.items.some(isStreaming)) fresh.late = true
  return { ...withoutWait(turn), items: [...turn.items, fresh] }
}

// applyKept adds an event that is kept in the conversation.
function applyKept(turn: Turn, e: ConversationEvent): Turn {
  switch (e.type) {
    case 'user-message':
      return add(turn, { is: 'user', text: e.text ?? '', ...(e.images ? { images: e.images } : {}) })
    case 'assistant-message':
      return answer(turn, e)
    case 'approval-requested':
      return tool(withoutWait(turn), e, { state: 'approval', ...(e.until ? { until: e.until } : {}) })
    case 'approval-answered':
      return tool(turn, e, { state: 'asked' })
    case 'tool-call':
      return tool(turn, e, { state: 'running' })
    case 'tool-result':
      return tool(turn, e, { state: e.failed ? 'failed' : 'done', output: String(e.output ?? ''), wait: '' })
    case 'provider-switched':
      return add(withoutWait(turn), { is: 'note', text: switched(e.from, e.why, e.to) })
    case 'compacted':
      return add(turn, { is: 'note', text: compacted(e) })
    case 'turn-restarted':
      return restart(turn)
  }
  return turn
}

const add = (turn: Turn, item: Item): Turn => ({ ...turn, items: [...turn.items, item] })

// restart drops what has streamed since the last kept event.
function restart(turn: Turn): Turn {
  const streamed = turn.items.some(isStreaming)
  const rest = { ...withoutWait(turn), items: turn.items.filter((i) => !isStreaming(i)) }
  return streamed ? add(rest, { is: 'note', text: restarted }) : rest
}

// answer replaces the streamed text by the whole answer.
function answer(turn: Turn, e: ConversationEvent): Turn {
  const by = [e.provider, e.model].filter(Boolean).join('/')
  const items = (e.content ?? []).map((b) => item(b, by, e.partial ?? false)).filter((i) => i !== null)
  return { ...withoutWait(turn), items: [...turn.items.filter((i) => !isStreaming(i)), ...items] }
}

function item(b: Block, by: string, partial: boolean): Item | null {
  if (b.type === 'tool-call') return { is: 'tool', id: b.id ?? '', name: b.name ?? '', arguments: b.arguments, state: 'asked' }
  if (!b.text || b.type === 'tool-result') return null
  return { is: b.type === 'text' ? 'answer' : 'thought', text: b.text, by, partial }
}

function tool(turn: Turn, e: ConversationEvent, change: Partial<Tool>): Turn {
  const at = turn.items.findLastIndex((i) => i.is === 'tool' && i.id === e.id)
  const found = turn.items[at]
  if (found?.is === 'tool') return { ...turn, items: turn.items.with(at, { ...found, ...change }) }
  return add(turn, { is: 'tool', id: e.id ?? '', name: e.name ?? '', arguments: e.arguments, state: 'asked', ...change })
}

// seal ends a turn, and drops streamed text that was never kept. No call waits any more.
function seal(turn: Turn, e: ConversationEvent): Turn {
  const items = turn.items.filter((i) => !isStreaming(i)).map((i): Item => (needsApproval(i) ? { ...i, state: 'asked' } : i))
  const sealed: Turn = { ...withoutWait(turn), items, status: e.status ?? 'done', tookMs: e.durationMs ?? 0 }
  if (e.inputTokens || e.outputTokens) sealed.tokens = [e.inputTokens ?? 0, e.outputTokens ?? 0]
  if (e.retryCount) Object.assign(sealed, { retries: e.retryCount, waitedMs: e.totalRetryDelayMs ?? 0 })
  return sealed
}
