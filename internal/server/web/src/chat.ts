// The open conversation: its settings, and its transcript as the stream extends it.
import { batch, effect, signal } from '@preact/signals'

import { announce } from './announce'
import type { Conversation, ConversationEvent, Decision, Problem, Summary } from './api'
import { Failure, get, part, post } from './call'
import { sent, type Attached } from './images'
import { subscribe } from './live'
import type { ServerEvent } from './sse'
import { conversations, link } from './store'
import { fold, newTranscript, reconnected, type Transcript } from './transcript'
import { attempt, capital, causeOf, headline, verb } from './words'

export const transcript = signal<Transcript | null>(null)
export const conversation = signal<Conversation | null>(null)

// loadError is why the conversation cannot be shown; null: it can.
export const loadError = signal<Failure | null>(null)

let openId = ''

// open shows a conversation; "": none.
export function open(id: string): void {
  if (id === openId) return
  openId = id
  batch(() => {
    transcript.value = conversation.value = null
    loadError.value = null
  })
  subscribe(null)
  if (id) void load(id)
}

async function load(id: string): Promise<void> {
  try {
    const c = await get<Conversation>('conversations/' + part(id))
    if (id !== openId) return
    batch(() => {
      conversation.value = c
      transcript.value = newTranscript(c)
      loadError.value = null
    })
    if (c.approval) announceApproval(c.approval)
    subscribe({ conversation: id, after: () => transcript.peek()?.seq ?? 0, receive, reconnected: () => update(reconnected) })
  } catch (error) {
    if (id === openId) loadError.value = error instanceof Failure ? error : new Failure(String(error))
  }
}

// A conversation that could not be loaded is loaded again when the server is back.
effect(() => {
  if (link.value === 'live' && loadError.peek() && openId) void load(openId)
})

// onProblem shows why the stream has no events of the conversation. A conversation that has fewer events than
// before, as after a restored backup, is loaded again.
function onProblem(p: Problem): void {
  const id = openId
  if (p.code === 'wrong-sequence') return (open(''), open(id))
  loadError.value = new Failure(p.detail ?? p.title, p.status, p.code)
}

function update(change: (t: Transcript) => Transcript): void {
  if (transcript.value) transcript.value = change(transcript.value)
}

function receive(received: ServerEvent[], now: number): void {
  const problem = received.find((e) => e.event === 'conversation-problem')
  if (problem) return onProblem(JSON.parse(problem.data) as Problem)
  const events = received.map((e) => JSON.parse(e.data) as ConversationEvent).filter((e) => (e.conversationId ?? openId) === openId)
  for (const e of events) {
    if (e.type === 'conversation-changed') onChanged(e)
    if (e.type === 'conversation-paused' || e.type === 'conversation-resumed') onPaused(e)
  }
  update((t) => events.reduce((sofar, e) => fold(sofar, e, now), t))
  for (const e of events) announceEvent(e)
}

// onChanged takes over changed settings.
function onChanged(e: ConversationEvent): void {
  const c = conversation.peek()
  if (c && e.seq > c.seq) conversation.value = { ...c, model: e.model ?? c.model, title: e.title ?? '', agent: e.agent ?? '' }
}

// onPaused takes over that the conversation is paused, or is not any more.
function onPaused(e: ConversationEvent): void {
  const c = conversation.peek()
  if (!c || e.seq <= c.seq) return
  const { pausedSince: _, ...rest } = c
  conversation.value = e.type === 'conversation-paused' ? { ...rest, pausedSince: e.ts } : rest
}

// older are conversations after those that the stream lists, the newest first.
export const older = signal<readonly Summary[]>([])

// nextPage is the id after which the list continues; undefined: it is at its end.
export const nextPage = signal<string | undefined>('')

// loadOlder lists more of them.
export async function loadOlder(): Promise<void> {
  for (let found = 0; found === 0 && nextPage.value !== undefined; ) {
    const before = nextPage.value
    const page = await get<{ conversations: Summary[]; before?: string }>('conversations?limit=100' + (before ? '&before=' + part(before) : ''))
    const known = new Set([...conversations.keys.peek(), ...older.peek().map((c) => c.id)])
    const fresh = page.conversations.filter((c) => !known.has(c.id))
    found = fresh.length
    batch(() => {
      older.value = [...older.peek(), ...fresh]
      nextPage.value = page.before
    })
  }
}

// removeOlder removes a deleted conversation from the older ones.
export const removeOlder = (id: string): void => void (older.value = older.peek().filter((c) => c.id !== id))

// announceEvent announces the waits and the end of a turn, unless they are history.
function announceEvent(e: ConversationEvent): void {
  const t = transcript.peek()
  if (!t || (e.type !== 'provider-retry' && e.seq <= t.base)) return
  const id = `turn ${e.turnId}`
  if (e.type === 'provider-retry') {
    const tried = { retries: e.attempt ?? 0, maxRetries: e.maxRetries, deadline: e.deadline }
    announce(id, String(e.attempt), `${capital(causeOf(e))}, ${verb(e)} in ${Math.ceil((e.delayMs ?? 0) / 1000)} seconds (${attempt(tried)}).`)
  } else if (e.type === 'approval-requested') announceApproval(e)
  else if (e.type === 'error') announce(id, 'error', headline({ ...e, retries: e.retries ?? 0 }))
  else if (e.type === 'turn-sealed' && e.status !== 'failed') announce(id, 'end', e.status === 'done' ? 'Answered.' : 'Stopped.')
}

// announceApproval announces that a call waits for approval, once.
const announceApproval = (call: { id?: string; name?: string }): void =>
  announce('approval', call.id ?? '', `${call.name} needs your approval.`)

// answer answers whether a call may run.
export const answer = (conversation: string, call: string, decision: Decision): Promise<unknown> =>
  post(`conversations/${part(conversation)}/approvals/${part(call)}`, { decision })

// newInputId returns an id for an input. Sending it twice under the same id, after no answer, adds it once.
export function newInputId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return 'page-' + Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}

// send adds a user message to a conversation.
export const send = (conversation: string, id: string, text: string, images: readonly Attached[]): Promise<unknown> =>
  post(`conversations/${part(conversation)}/turns`, { id, text, ...(images.length > 0 ? { images: images.map(sent) } : {}) })
