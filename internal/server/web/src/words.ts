// The sentences that people see while they wait and at the end, the same ones
// as in the terminal: test/words.json has them from package display.
import { clock, seconds, until, whole } from './time'

// causes holds the plain words for the kinds of faults; a test holds them to
// those of package fault.
export const causes: Record<string, string> = {
  'unknown': 'unknown failure',
  'rate-limited': 'rate limited',
  'overloaded': 'server overloaded',
  'unavailable': 'server error',
  'truncated': 'stream dropped',
  'upstream-timeout': 'timeout',
  'timeout': 'timeout',
  'quota': 'usage limit',
  'auth': 'authentication',
  'invalid': 'bad request',
  'refused': 'refused',
  'too-long': 'too large',
  'canceled': 'canceled',
}

const passing = new Set(['rate-limited', 'overloaded', 'unavailable', 'truncated', 'upstream-timeout', 'timeout'])

export const capital = (s: string): string => s.charAt(0).toUpperCase() + s.slice(1)

// plural counts things: "1 call", "3 calls".
export const plural = (n: number, one: string, many = one + 's'): string => `${count(n)} ${n === 1 ? one : many}`

// count writes a number with a thin space between its thousands.
export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, '\u2009')

// Faulty is what is known of a fault; code tells a lost network from an error
// of a server, which are of one kind.
export interface Faulty {
  kind?: string | undefined
  cause?: string | undefined
  code?: string | undefined
}

// answered tells whether a server has said something, and be it an error.
const answered = (f: Faulty): boolean => /^\d+$/.test(f.code ?? '')

// causeOf gives a fault in plain words.
export function causeOf(f: Faulty): string {
  if (f.cause) return f.cause
  if (f.kind === 'unavailable' && !answered(f)) return 'network'
  return causes[f.kind ?? ''] ?? f.kind ?? 'unknown failure'
}

// Tried is how often something was tried again.
export interface Tried {
  retries: number
  maxRetries?: number | undefined
  deadline?: string | undefined
}

// attempt counts retries from 1; without a limit it says when waiting ends. now
// is only asked which day it is.
export function attempt(t: Tried, now = Date.now()): string {
  if (t.maxRetries) return `attempt ${t.retries + 1}/${t.maxRetries}`
  return `attempt ${t.retries + 1}` + (t.deadline ? `, gives up ${clock(t.deadline, now)}` : '')
}

// sentence is what is said while something waits that is tried again in left
// milliseconds, at an instant of the server's.
export const sentence = (w: Faulty & Tried, left: number, due: string): string =>
  `${capital(causeOf(w))} — retrying ${until(left, due)}… (${attempt(w, Date.parse(due) - left)})`

// recovered ends a wait well.
export const recovered = (retries: number, waitedMs: number): string =>
  `Recovered after ${plural(retries, 'retry', 'retries')} (waited ${whole(waitedMs)})`

// Lines that are said as they are.
export const brokeOff = '… the answer broke off here'
export const restarted = '▲ its worker died: the answer begins anew'
export const compacted = '· the conversation was too long and has been shortened'

// switched tells of another model that goes on.
export const switched = (from: string | undefined, why: string | undefined, to: string | undefined): string =>
  `▲ ${from || 'the model'} does not answer (${why ?? ''}): going on with ${to ?? ''}`

// Ended is what a call has failed of.
export interface Ended extends Faulty {
  retries: number
  committed?: boolean | undefined
  provider?: string | undefined
  model?: string | undefined
  waitedMs?: number | undefined
  requestId?: string | undefined
}

// details are what stands below the headline and the provider's words: who was
// asked, how long it was tried, and the request's id.
export function details(e: Ended): string {
  const waited = (e.waitedMs ?? 0) > 0 ? 'waited ' + seconds(e.waitedMs ?? 0) : ''
  return [[e.provider, e.model].filter(Boolean).join('/'), waited, e.requestId ? 'request ' + e.requestId : ''].filter(Boolean).join(' · ')
}

// headline is the first line of a failure.
export function headline(e: Ended): string {
  const gone = passing.has(e.kind ?? '') && !e.committed
  const advice = remedy(e)
  let line = `Failed after ${plural(e.retries, 'retry attempt')}`
  if (e.retries === 0) line = `Failed: ${ending(e)}`
  else if (!gone) line += `: ${ending(e)}`
  return (line + '. ' + advice).trimEnd()
}

const ending = (e: Ended): string => (e.committed ? `the answer broke off (${causeOf(e)})` : causeOf(e))

const local = new Set(['ollama', 'lmstudio'])

function remedy(e: Ended): string {
  const at = e.provider ?? 'the provider'
  if (e.kind === 'auth') return `Check the key for ${at} and try again.`
  if (e.kind === 'quota') return `Check the account at ${at} and try again.`
  if (!passing.has(e.kind ?? '')) return ''
  if (local.has(at) && !answered(e) && !e.committed) return `Check that ${at} is running and try again.`
  return 'Check your connection and try again.'
}
