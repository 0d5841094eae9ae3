// An incident as a story: sentences with their times, and the same as Markdown. Nothing here reads a clock.
import type { Elsewhere, Ended, Incident, Outage } from './api'
import { beganAt, endedAt } from './chart'
import { clock, dated, moment, roughly } from './time'
import { causeOf, count, plural, shownName } from './words'

export interface Sentence {
  at: number
  says: string
}

const margin = 120_000 // ms after an end in which held calls are still sent

// heldIn returns the requests that an incident has held, as far as they are listed.
export const heldIn = (i: Incident, all: readonly Ended[]): Ended[] => {
  const [from, to] = [Date.parse(i.began), i.ended ? Date.parse(i.ended) + margin : Infinity]
  return all.filter((r) => r.upstream === i.upstream && (r.waitedMs ?? 0) > 0 && endedAt(r) >= from && beganAt(r) <= to)
}

export const isOpen = (i: Incident): boolean => i.open ?? !i.ended

// isElsewhere reports whether only other gateways of the fleet have met an incident.
export const isElsewhere = (i: Incident): boolean => i.tries === 0 && i.calls === 0 && (i.elsewhere ?? []).length > 0

// metBy says what another gateway has met of an incident.
export const metBy = (e: Elsewhere): string => {
  const began = Date.parse(e.began)
  return `${e.replica}, ${e.ended ? `${dated(e.began)}–${clock(e.ended, began)}` : `since ${dated(e.began)}`}, ${plural(e.calls, 'call')} had to wait`
}

// story tells an incident: its first failure, the circuit, the calls that were held, the answer, and the release.
// outage is the breaker's while it lasts, requests are those that have ended.
export function story(i: Incident, requests: readonly Ended[], outage?: Outage): Sentence[] {
  const began = Date.parse(i.began)
  if (isElsewhere(i)) return [{ at: began, says: 'first failure at another gateway; this one has not met it' }, ...(i.ended ? [{ at: Date.parse(i.ended), says: 'over at all of them' }] : [])]
  const held = heldIn(i, requests)
  const told: Sentence[] = [{ at: began, says: `first failure: ${causeOf(i.kinds[0] ?? {})}` }]
  const since = outage ? Date.parse(outage.since) : NaN
  if (since > began) told.push({ at: since, says: 'circuit open: one probe at a time asks for all' })
  const first = Math.min(...held.map(beganAt).filter((at) => at >= began))
  if (Number.isFinite(first) && first > began) told.push({ at: first, says: `first of ${plural(i.calls, 'call')} held` })
  if (isOpen(i)) {
    if (outage?.probes) told.push({ at: NaN, says: `${plural(outage.probes, 'probe has', 'probes have')} failed so far` })
    told.push({ at: NaN, says: `${plural(Math.max(0, i.calls - i.held - i.lost), 'call')} held now, ${count(i.lost)} lost` })
    return told
  }
  const ended = Date.parse(i.ended ?? '')
  if (i.recoveredMs === undefined) return [...told, { at: ended, says: 'last failure; no request since then has shown whether it is over' }]
  told.push({ at: ended, says: `a probe was answered, after ${roughly(i.recoveredMs)}` })
  const last = Math.max(...held.map(endedAt))
  const released = `${i.calls > 0 ? `all released: ${count(i.held)} answered` : 'no call had to wait'}, ${count(i.lost)} lost`
  told.push({ at: last > ended ? last : NaN, says: released })
  return told.sort((a, b) => (Number.isNaN(a.at) || Number.isNaN(b.at) ? 0 : a.at - b.at))
}

// timeOf is the time of a sentence: with seconds where the story is short.
export function timeOf(s: Sentence, told: readonly Sentence[]): string {
  const times = told.map((one) => one.at).filter((at) => !Number.isNaN(at))
  const span = Math.max(...times) - Math.min(...times)
  if (Number.isNaN(s.at)) return ''
  const at = new Date(s.at).toISOString()
  return span < 10 * 60_000 ? moment(at) : clock(at, s.at)
}

// inOneLine is the story in a line, as a picture or a message has it.
export const inOneLine = (told: readonly Sentence[]): string => told.map((s) => [timeOf(s, told), s.says].filter(Boolean).join(' ')).join(' · ')

// asMarkdown puts the story below the title of the server's report.
export function asMarkdown(i: Incident, told: readonly Sentence[], report: string): string {
  const lines = told.map((s) => `- ${[timeOf(s, told), s.says].filter(Boolean).join(' ')}`).join('\n')
  const [title = '', ...rest] = report.split('\n')
  return [title || `# Incident at ${shownName(i.upstream)}`, '', lines, ...rest].join('\n')
}
