// The council that was started last. It ends with its connection, so with the page, but not with the view
// that shows it.
import { signal } from '@preact/signals'

import { announce } from './announce'
import type { CouncilEvent } from './api'
import { Failure, failure } from './call'
import { endEarly, fold, isOver, mayAnswerLater, newCouncil, statusText, type Council } from './council'
import { eventParser } from './sse'
import { headers } from './token'

const startTimeout = 20_000 // ms until the server begins to answer
const silenceTimeout = 40_000 // the server sends something every 15 s

export const council = signal<Council | null>(null)

export const isRunning = (): boolean => council.value !== null && (!council.value.end || again.value !== null)

// Again is when the council is asked again whose members could not be reached, on the page's clock.
export interface Again {
  due: number
  round: number // from 1
}
export const again = signal<Again | null>(null)

const delays = [15_000, 30_000, 60_000, 120_000, 300_000] // between two rounds; the last one repeats
const patience = 8 * 3_600_000 // as long as chat waits

let asked: { question: string; models: string[]; judge: string; since: number; round: number } | undefined
let timer: ReturnType<typeof setTimeout> | undefined

// retryNow asks the council again at once.
export async function retryNow(): Promise<void> {
  clearTimeout(timer)
  again.value = null
  const { question, models, judge, round } = asked!
  try {
    await ask(question, models, judge)
    asked!.round = round + 1
  } catch {
    waitAgain()
  }
}

// waitAgain plans the next round of a council in which too few have answered, until patience is over.
function waitAgain(): void {
  if (!asked || performance.now() - asked.since > patience) return
  const delay = delays[Math.min(asked.round, delays.length) - 1] ?? 0
  again.value = { due: performance.now() + delay, round: asked.round }
  timer = setTimeout(() => void retryNow(), delay)
  announce('council again', String(asked.round), `Too few members answered. All are asked again in ${delay / 1000} seconds.`)
}

let connection = new AbortController()
let began = 0

// start starts a council, or throws a Failure.
export async function start(question: string, models: string[], judge: string): Promise<void> {
  asked = { question, models, judge, since: performance.now(), round: 1 }
  await ask(question, models, judge)
}

async function ask(question: string, models: string[], judge: string): Promise<void> {
  const own = (connection = new AbortController())
  const timer = setTimeout(() => own.abort(), startTimeout)
  try {
    const answer = await fetch('../councils', {
      method: 'POST', cache: 'no-store', signal: own.signal,
      headers: headers({ 'Accept': 'text/event-stream', 'Content-Type': 'application/json' }),
      body: JSON.stringify({ question, models, ...(judge ? { judge } : {}) }),
    }).catch(() => {
      throw new Failure('the server did not answer')
    })
    if (answer.status === 404) throw new Failure('this server has no councils; ridethrough serve does')
    if (!answer.ok || !answer.body) throw await failure(answer)
    began = performance.now()
    council.value = newCouncil(question)
    void follow(answer.body, own)
  } finally {
    clearTimeout(timer)
  }
}

// stop ends the council and keeps what has arrived.
export function stop(): void {
  clearTimeout(timer)
  again.value = null
  end('stopped')
  connection.abort()
}

function end(why: 'stopped' | 'lost'): void {
  if (council.value) council.value = endEarly(council.value, why, performance.now() - began)
}

async function follow(body: ReadableStream<Uint8Array>, own: AbortController): Promise<void> {
  const chunks = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  const parse = eventParser()
  let silence: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      clearTimeout(silence)
      silence = setTimeout(() => own.abort(), silenceTimeout)
      const chunk = await chunks.read()
      if (chunk.done) break
      receive(parse(chunk.value).map((e) => JSON.parse(e.data) as CouncilEvent))
    }
  } catch {
    // the connection broke; after stop the council has ended already
  }
  clearTimeout(silence)
  if (own === connection) end('lost')
}

function receive(events: CouncilEvent[]): void {
  const now = performance.now()
  if (!council.value || council.value.end) return
  council.value = events.reduce((c, e) => fold(c, e, now), council.value)
  for (const e of events) announceEvent(council.value, e)
  if (council.value.end && mayAnswerLater(council.value)) waitAgain()
}

// announceEvent announces the waits and ends of members, and the end of the council.
function announceEvent(c: Council, e: CouncilEvent): void {
  const m = c.members[e.member ?? -1]
  if (m && (isOver(m) || m.state === 'waiting')) {
    const next = m.due === undefined ? '' : ` in ${Math.ceil((e.delayMs ?? 0) / 1000)} seconds`
    announce(`${c.id} ${e.member}`, m.state + m.tries, `${m.name} ${statusText(m)}${next}.`)
  }
  if (e.type === 'council-end') announce(c.id, 'end', e.status === 'done' ? 'The council has answered.' : `The council has no answer. ${c.end?.message ?? ''}`)
}

// Leaving the page ends the council, so the browser asks first.
addEventListener('beforeunload', (e) => {
  if (isRunning()) e.preventDefault()
})
