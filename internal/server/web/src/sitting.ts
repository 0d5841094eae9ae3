// The council that was convened last. It ends with its connection, and so with
// the page, but not with the view that shows it.
import { signal } from '@preact/signals'

import { Failure, failure } from './call'
import { convened, fold, halt, over, standing, type Council } from './council'
import { announce } from './say'
import type { Sat } from './shapes'
import { reader } from './sse'
import { headers } from './token'

const patience = 20_000 // ms for the server to say that it begins
const silence = 40_000 // it says something every 15 s

export const sitting = signal<Council | null>(null)

// sits tells whether one is under way.
export const sits = (): boolean => sitting.value !== null && !sitting.value.end

let cut = new AbortController()
let began = 0

// convene begins a council, or throws a Failure.
export async function convene(question: string, models: string[], judge: string): Promise<void> {
  const mine = (cut = new AbortController())
  const timer = setTimeout(() => mine.abort(), patience)
  try {
    const answer = await fetch('../councils', {
      method: 'POST', cache: 'no-store', signal: mine.signal,
      headers: headers({ 'Accept': 'text/event-stream', 'Content-Type': 'application/json' }),
      body: JSON.stringify({ question, models, ...(judge ? { judge } : {}) }),
    }).catch(() => {
      throw new Failure('the server did not answer')
    })
    if (!answer.ok || !answer.body) throw await failure(answer)
    began = performance.now()
    sitting.value = convened(question)
    void follow(answer.body, mine)
  } finally {
    clearTimeout(timer)
  }
}

// stop ends the council. What has come of it stays.
export function stop(): void {
  end('stopped')
  cut.abort()
}

function end(why: 'stopped' | 'lost'): void {
  if (sitting.value) sitting.value = halt(sitting.value, why, performance.now() - began)
}

async function follow(body: ReadableStream<Uint8Array>, mine: AbortController): Promise<void> {
  const pieces = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  const events = reader()
  let deaf: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      clearTimeout(deaf)
      deaf = setTimeout(() => mine.abort(), silence)
      const piece = await pieces.read()
      if (piece.done) break
      hear(events(piece.value).map((sent) => JSON.parse(sent.data) as Sat))
    }
  } catch {
    // it broke off, or was stopped: then it has its end already
  }
  clearTimeout(deaf)
  if (mine === cut) end('lost')
}

function hear(events: Sat[]): void {
  const now = performance.now()
  if (!sitting.value || sitting.value.end) return
  sitting.value = events.reduce((c, e) => fold(c, e, now), sitting.value)
  for (const e of events) say(sitting.value, e)
}

// say tells of what becomes of members, and of the end.
function say(c: Council, e: Sat): void {
  const s = c.seats[e.member ?? -1]
  if (s && (over(s) || s.state === 'waiting')) {
    const next = s.due === undefined ? '' : ` in ${Math.ceil((e.delayMs ?? 0) / 1000)} seconds`
    announce(`${c.id} ${e.member}`, s.state + s.tries, `${s.name} ${standing(s)}${next}.`)
  }
  if (e.type === 'council-end') announce(c.id, 'end', e.status === 'done' ? 'The council has answered.' : `The council has no answer. ${e.message ?? ''}`)
}

// A page that is left takes its council with it: that is asked about first.
addEventListener('beforeunload', (e) => {
  if (sits()) e.preventDefault()
})
