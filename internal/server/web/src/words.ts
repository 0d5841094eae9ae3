// The sentences about waits and their ends, the same as in the terminal: test/words.json has them from
// package display.
import type { Image, Incident, Outcome, Saved, Vendor, Wait } from './api'
import { clock, roughly, seconds, until, whole } from './time'

// causes are the kinds of faults in plain words; a test compares them with package fault.
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

const transient = new Set(['rate-limited', 'overloaded', 'unavailable', 'truncated', 'upstream-timeout', 'timeout'])

// isTransient reports whether a fault passes by itself.
export const isTransient = (f: { kind?: string | undefined }): boolean => transient.has(f.kind ?? '')

export const capital = (s: string): string => s.charAt(0).toUpperCase() + s.slice(1)

// aSentence returns a text that begins and ends as a sentence does.
export const aSentence = (s: string): string => capital(s) + (/[.!?]$/.test(s) ? '' : '.')

// plural returns a number with its noun: "1 call", "3 calls".
export const plural = (n: number, one: string, many = one + 's'): string => `${count(n)} ${n === 1 ? one : many}`

// count returns a number with a thin space between its thousands.
export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, '\u2009')

// Fault is the fault of a wait. Its code tells a network failure from a server's error, which share a kind.
export type Fault = Pick<Wait, 'kind' | 'cause' | 'code' | 'opensAt'>

// isFromServer reports whether a server has answered, if only with an error.
const isFromServer = (f: Fault): boolean => /^\d+$/.test(f.code ?? '')

// causeOf returns a fault in plain words.
export function causeOf(f: Fault): string {
  if (f.cause) return f.cause
  if (f.opensAt) return causes.quota ?? ''
  if (f.kind === 'quota') return 'no credit'
  if (f.kind === 'unavailable' && !isFromServer(f)) return 'network'
  return causes[f.kind ?? ''] ?? f.kind ?? 'unknown failure'
}

// vendorSays sets what a status page says beside what was measured here.
export const vendorSays = (v: Vendor): string =>
  `Their status page says “${v.says}” (read at ${clock(v.readAt)}); here ${Math.round((100 * v.failures) / Math.max(1, v.tries))} % of ${plural(v.tries, 'request')} failed.`

// Attempts is how often something was retried, and how often it may be.
export type Attempts = Pick<Wait, 'retries' | 'maxRetries' | 'deadline'>

// attempt returns the number of the next retry, from 1, and the limit; without a limit, when waiting ends.
// now is only asked for its day.
export function attempt(t: Attempts, now = Date.now()): string {
  if (t.maxRetries) return `attempt ${t.retries + 1}/${t.maxRetries}`
  return `attempt ${t.retries + 1}` + (t.deadline ? `, gives up ${clock(t.deadline, now)}` : '')
}

// verb says what happens at the end of a wait: the next try, or that a usage window opens.
export const verb = (w: Fault): string => (w.opensAt ? 'opens again' : 'retrying')

// sentence describes a wait that has left milliseconds until the next try at due, on the server's clock.
export const sentence = (w: Fault & Attempts, left: number, due: string): string =>
  `${capital(causeOf(w))} — ${verb(w)} ${until(left, due)}` + (w.opensAt ? '' : `… (${attempt(w, Date.parse(due) - left)})`)

// cached says what a retry costs before and after the end of the prompt cache. now is only asked for its day.
export const cached = (until: string, now = Date.now()): string => `A retry until ${clock(until, now)} uses the provider’s prompt cache; a later one costs about 4 × the input.`

// recovered describes a wait that ended well.
export const recovered = (retries: number, waitedMs: number): string =>
  `Recovered after ${plural(retries, 'retry', 'retries')} (waited ${whole(waitedMs)})`

// Where a wait has no time of its own.
export const waitsFor = {
  retry: '', trying: '', paused: '',
  probe: 'waits for the next probe',
  probing: 'waits for another call’s probe',
  queued: 'waits for its place',
}
export const stateWords = { retry: 'waiting', trying: 'trying now', probe: 'waiting', probing: 'probing', queued: 'queued', paused: 'paused' }
export const pausedMeans = 'Paused: no model is asked until it is resumed, and what you say waits.'
export const probeMeans = 'One call asks for all that wait. If it is answered, this one goes at once.'

// lostBanner is said where the connection to the gateway is lost, since a moment on the reader's clock.
export const lostBanner = (at: string): string => `Connection to the gateway lost at ${at}; what waited there is shown as last seen.`

// percent returns how much of a whole a part is.
export const percent = (part: number, whole: number): number => Math.round((100 * part) / Math.max(1, whole))

// shownName returns an upstream's name to show: without the prefix of conversations' providers.
export const shownName = (upstream: string): string => upstream.replace(/^conversations:(.*)/, '$1 (conversations)')

// outageNotice, recoveryNotice and windowNotice are what is shown on the desktop.
export const outageNotice = (i: Pick<Incident, 'upstream' | 'kinds' | 'calls'>): string =>
  `${shownName(i.upstream)}: ${causeOf(i.kinds[0] ?? {})}. ${i.calls > 0 ? plural(i.calls, 'call') + (i.calls === 1 ? ' waits' : ' wait') : 'Its last requests failed'}.`
export const recoveryNotice = (i: Pick<Incident, 'upstream' | 'recoveredMs' | 'held'>): string =>
  `${shownName(i.upstream)} answers again after ${roughly(i.recoveredMs ?? 0)}. ${plural(i.held, 'call')} held and answered.`
export const windowNotice = (upstream: string, opensAt: string): string => `${shownName(upstream)}: usage limit. It opens again at ${clock(opensAt)}.`

const day = 24 * 3_600_000

// lately names the last day, or the shorter time that is known.
const lately = (ms: number): string => `In the last ${ms < day - 900_000 ? roughly(Math.max(60_000, ms)) : '24 hours'}`

// held says what waiting has achieved at some upstreams; '': nothing is measured.
export function held(all: readonly Saved[]): string {
  if (all.length === 0) return ''
  const sum = (of: (s: Saved) => number) => all.reduce((n, s) => n + of(s), 0)
  const [calls, outages, when] = [sum((s) => s.calls), sum((s) => s.outages), lately(Math.max(...all.map((s) => s.sinceMs)))]
  if (calls === 0) return `${when} no call had to be held.`
  const through = outages > 0 ? ` through ${plural(outages, 'outage')}` : ''
  return `${when}: ${plural(calls, 'call')} held and answered${through}, ${plural(sum((s) => s.retries), 're-send')} spared.`
}

// outcomes are how requests end.
export const outcomes: Record<Outcome, string> = {
  answered: 'answered', failed: 'failed', 'broke-off': 'broke off', left: 'client left',
}

// Fixed lines.
export const brokeOff = '… the answer broke off here'
export const afterContent = 'The client has a part of the answer and gets the rest.'
export const restarted = '▲ The process that wrote this has ended; the answer starts over'

// shortfall is the headline of a council in which fewer members have answered than are needed.
export const shortfall = (answered: number, members: number, needed: number): string =>
  `Failed: ${answered} of ${members} members answered, and ${needed} are needed.`

// compacted says that the history was made smaller, why, and by how much.
export function compacted(e: { asked?: boolean | undefined; tokensBefore?: number | undefined; tokensAfter?: number | undefined }): string {
  const why = e.asked ? '· the conversation has been compacted' : '· the conversation was too long and has been shortened'
  const size = (n = 0) => n.toLocaleString('en-US')
  if (!e.tokensBefore) return why
  if (e.tokensBefore === e.tokensAfter) return `· the conversation is as short as it can be: about ${size(e.tokensAfter)} tokens`
  return `${why}: about ${size(e.tokensBefore)} tokens before, ${size(e.tokensAfter)} after`
}

// compactCommand is the command that asks for a smaller history, with what it asks of the summary.
export const compactCommand = (instruction: string): string => ('/compact ' + instruction).trim()

// switched describes a fallback to another model.
export const switched = (from: string | undefined, why: string | undefined, to: string | undefined): string =>
  `▲ Switching${from ? ` from ${from}` : ''} to ${to ?? ''}${why ? `: ${why}` : ''}`

// Ended is why a call failed.
export interface Ended extends Fault {
  retries: number
  committed?: boolean | undefined
  imagesRefused?: boolean | undefined
  provider?: string | undefined
  model?: string | undefined
  waitedMs?: number | undefined
  requestId?: string | undefined
}

// pictured describes an image in a line.
export const pictured = (i: Image): string => `${['image', i.name].filter(Boolean).join(' ')}, ${i.width} x ${i.height}, ${sized(i.bytes)}`

// imagesLost and imagesUnkept are said of images of a message that is being written, by their names.
export const imagesLost = (names: string[]): string => `Lost in the reload: ${named(names)}. Attach again what you want to send.`
export const imagesUnkept = (names: string[]): string => `A reload would lose ${named(names)}, which the browser does not keep.`

const named = (images: string[]): string => images.map((name) => name || 'an image').join(', ')

function sized(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 999_500 ? `${Math.floor((bytes + 500) / 1000)} KB` : `${(Math.floor((bytes + 50_000) / 100_000) / 10).toFixed(1)} MB`
}

// details are the line below the headline and the provider's text: the model, how long it waited, the
// request's id.
export function details(e: Ended): string {
  const waited = (e.waitedMs ?? 0) > 0 ? 'waited ' + seconds(e.waitedMs ?? 0) : ''
  return [[e.provider, e.model].filter(Boolean).join('/'), waited, e.requestId ? 'request ' + e.requestId : ''].filter(Boolean).join(' · ')
}

// headline is the first line of a failure.
export function headline(e: Ended): string {
  const isTransient = transient.has(e.kind ?? '') && !e.committed
  const advice = remedy(e)
  let line = `Failed after ${plural(e.retries, 'retry attempt')}`
  if (e.retries === 0) line = `Failed: ${ending(e)}`
  else if (!isTransient) line += `: ${ending(e)}`
  return (line + '. ' + advice).trimEnd()
}

// ending is what failed, in plain words.
function ending(e: Ended): string {
  const provider = e.provider || 'the provider'
  if (e.committed) return `the answer broke off (${causeOf(e)})`
  if (e.kind === 'invalid') return `${provider} did not accept the request`
  if (e.kind === 'refused') return `${provider} refused the request`
  if (e.kind === 'quota' && !e.opensAt) return `the account at ${provider} has no credit`
  return e.kind === 'too-long' ? `the request is too large for ${provider}` : causeOf(e)
}

// changes are what has to change before a request is answered that no other try helps.
const changes: Record<string, string> = {
  invalid: 'Change the message or the model and try again.',
  refused: 'Your key, your plan, your region or its rules do not allow it.',
  ['too-long']: 'Shorten it, or use a model that takes more.',
}

const local = new Set(['ollama', 'lmstudio'])

function remedy(e: Ended): string {
  const at = e.provider || 'the provider'
  if (e.imagesRefused) return 'The model does not take the images: use one that does, or go on without them.'
  if (e.kind === 'auth') return `Check the key for ${at} and try again.`
  if (e.opensAt) return `It opens again at ${clock(e.opensAt)}.`
  if (e.kind === 'quota') return 'Add credit or raise its limit, and try again.'
  if (!transient.has(e.kind ?? '')) return e.committed ? '' : (changes[e.kind ?? ''] ?? '')
  if (local.has(at) && !isFromServer(e) && !e.committed) return `Check that ${at} is running and try again.`
  return blame(e) || 'Check your connection and try again.'
}

const answered: Record<string, string> = {
  overloaded: 'was overloaded', 'rate-limited': 'limited the rate',
  unavailable: 'answered with server errors', 'upstream-timeout': 'did not answer in time',
}

// blame says what the provider has answered, and for how long; '': it has not answered.
function blame(e: Ended): string {
  const did = answered[e.kind ?? '']
  if (!did || !isFromServer(e)) return ''
  if (e.retries === 0 || e.committed) return 'Try again later.' // the cause is said
  const time = (e.waitedMs ?? 0) > 0 ? ' for ' + seconds(e.waitedMs ?? 0) : ''
  return `${e.provider || 'The provider'} ${did}${time}.`
}
