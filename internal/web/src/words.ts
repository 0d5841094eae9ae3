// The sentences that people see while they wait and at the end, the same ones
// as in the terminal.
import { clock, seconds } from './time'

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

const passing = new Set(['rate-limited', 'overloaded', 'unavailable', 'truncated', 'upstream-timeout'])

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

// causeOf gives a fault in plain words.
export function causeOf(f: Faulty): string {
  if (f.cause) return f.cause
  if (f.kind === 'unavailable' && !/^\d+$/.test(f.code ?? '')) return 'network'
  return causes[f.kind ?? ''] ?? f.kind ?? 'unknown failure'
}

// Tried is how often something was tried again.
export interface Tried {
  retries: number
  maxRetries?: number | undefined
  deadline?: string | undefined
}

// attempt counts retries from 1; without a limit it says when waiting ends.
export function attempt(t: Tried): string {
  if (t.maxRetries) return `attempt ${t.retries + 1}/${t.maxRetries}`
  return `attempt ${t.retries + 1}` + (t.deadline ? `, gives up ${clock(t.deadline)}` : '')
}

// recovered ends a wait well.
export const recovered = (retries: number, waitedMs: number): string =>
  `Recovered after ${plural(retries, 'retry', 'retries')} (waited ${seconds(Math.round(waitedMs / 1000) * 1000)})`

// Ended is what a call has failed of.
export interface Ended extends Faulty {
  retries: number
  committed?: boolean | undefined
  provider?: string | undefined
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
  if (local.has(at) && causeOf(e) === 'network' && !e.committed) return `Check that ${at} is running and try again.`
  return 'Check your connection and try again.'
}
