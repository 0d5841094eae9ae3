// The conversation that is open: what it was when it was asked for, and what
// the stream tells of it since.
import { batch, effect, signal } from '@preact/signals'

import { Failure, get, part, post } from './call'
import { talk as followed } from './live'
import { announce } from './say'
import type { Conversation, Happening, Heading, Problem } from './shapes'
import type { Sent } from './sse'
import { conversations, link } from './store'
import { attached, begin, fold, type Talk } from './talk'
import { attempt, capital, causeOf, headline } from './words'

export const talk = signal<Talk | null>(null)
export const about = signal<Conversation | null>(null)

// trouble is why the conversation cannot be shown; "": it can.
export const trouble = signal('')

let wanted = ''

// open shows a conversation; "": none.
export function open(id: string): void {
  if (id === wanted) return
  wanted = id
  batch(() => {
    talk.value = about.value = null
    trouble.value = ''
  })
  followed(null)
  if (id) void load(id)
}

async function load(id: string): Promise<void> {
  try {
    const c = await get<Conversation>('conversations/' + part(id))
    if (id !== wanted) return
    batch(() => {
      about.value = c
      talk.value = begin(c)
      trouble.value = ''
    })
    followed({ conversation: id, after: () => talk.peek()?.seq ?? 0, hear, attached: () => update((t) => attached(t)) })
  } catch (error) {
    if (id === wanted) trouble.value = error instanceof Failure ? error.message : String(error)
  }
}

// What could not be had while the server was away is asked for when it is back.
effect(() => {
  if (link.value === 'live' && trouble.peek() && wanted) void load(wanted)
})

// refuse says why the stream tells nothing of the conversation. One that goes on
// from further back than it was, as after a restored backup, is read anew.
function refuse(p: Problem): void {
  const id = wanted
  if (p.code === 'wrong-sequence') return (open(''), open(id))
  trouble.value = p.detail ?? p.title
}

function update(change: (t: Talk) => Talk): void {
  if (talk.value) talk.value = change(talk.value)
}

function hear(sent: Sent[], now: number): void {
  const refused = sent.find((s) => s.event === 'talk-problem')
  if (refused) return refuse(JSON.parse(refused.data) as Problem)
  const events = sent.map((s) => JSON.parse(s.data) as Happening).filter((e) => (e.conversationId ?? wanted) === wanted)
  for (const e of events) if (e.type === 'conversation-changed') change(e)
  update((t) => events.reduce((sofar, e) => fold(sofar, e, now), t))
  for (const e of events) say(e)
}

// change takes in that the turns to come are made with something else.
function change(e: Happening): void {
  const c = about.peek()
  if (c && e.seq > c.seq) about.value = { ...c, model: e.model ?? c.model, title: e.title ?? '' }
}

// older are conversations beside those that the stream lists, the newest first.
export const older = signal<readonly Heading[]>([])

// beneath is where the list goes on; undefined: it is at its end.
export const beneath = signal<string | undefined>('')

// dig lists more of them.
export async function dig(): Promise<void> {
  for (let found = 0; found === 0 && beneath.value !== undefined; ) {
    const from = beneath.value
    const page = await get<{ conversations: Heading[]; before?: string }>('conversations?limit=100' + (from ? '&before=' + part(from) : ''))
    const known = new Set([...conversations.keys.peek(), ...older.peek().map((c) => c.id)])
    const fresh = page.conversations.filter((c) => !known.has(c.id))
    found = fresh.length
    batch(() => {
      older.value = [...older.peek(), ...fresh]
      beneath.value = page.before
    })
  }
}

// forget takes a conversation out of what was listed beside the stream's.
export const forget = (id: string): void => void (older.value = older.peek().filter((c) => c.id !== id))

// say tells of a turn's troubles and of its end, if it happens now.
function say(e: Happening): void {
  const t = talk.peek()
  if (!t || (e.type !== 'provider-retry' && e.seq <= t.base)) return
  const id = `turn ${e.turnId}`
  if (e.type === 'provider-retry') {
    const tried = { retries: e.attempt ?? 0, maxRetries: e.maxRetries, deadline: e.deadline }
    announce(id, String(e.attempt), `${capital(causeOf(e))}, retrying in ${Math.ceil((e.delayMs ?? 0) / 1000)} seconds (${attempt(tried)}).`)
  } else if (e.type === 'error') announce(id, 'error', headline({ ...e, retries: e.retries ?? 0 }))
  else if (e.type === 'turn-sealed' && e.status !== 'failed') announce(id, 'end', e.status === 'done' ? 'Answered.' : 'Stopped.')
}

// ticket makes the id of an input, so that to say it once more, because nobody
// has answered, does not say it twice.
export function ticket(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return 'page-' + Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}

// speak says something in a conversation.
export const speak = (conversation: string, id: string, text: string): Promise<unknown> =>
  post(`conversations/${part(conversation)}/turns`, { id, text })
