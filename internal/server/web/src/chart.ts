// What charts compute: ticks of axes, counts over time, and the lanes of calls. Nothing here draws or reads a clock.
import type { Ended, Incident } from './api'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const steps = [second, 5 * second, 15 * second, minute, 5 * minute, 15 * minute, hour, 3 * hour, 6 * hour, 12 * hour, day, 7 * day]

// stepOf returns the shortest step of which a span has at most so many.
export const stepOf = (span: number, most: number): number => steps.find((s) => span / s <= most) ?? Math.ceil(span / most / day) * day

const two = (n: number): string => String(n).padStart(2, '0')

// timeTicks returns the moments of a time axis with their labels, in the reader's time zone.
export function timeTicks(from: number, to: number, most: number): [at: number, label: string][] {
  const step = stepOf(to - from, most)
  const zone = new Date(from).getTimezoneOffset() * minute
  const ticks: [number, string][] = []
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) {
    const d = new Date(at)
    const time = `${two(d.getHours())}:${two(d.getMinutes())}`
    ticks.push([at, step < minute ? `${time}:${two(d.getSeconds())}` : step < day ? time : `${d.toDateString().slice(4, 7)} ${d.getDate()}`])
  }
  return ticks
}

// countTicks returns the numbers of an axis from 0 to at least a maximum; none is a fraction.
export function countTicks(max: number, most = 4): number[] {
  const rough = Math.max(1, max) / most
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough) ?? rough)
  return Array.from({ length: Math.ceil(Math.max(1, max) / step) + 1 }, (_, i) => i * step)
}

export const beganAt = (r: Ended): number => Date.parse(r.began)
export const endedAt = (r: Ended): number => beganAt(r) + r.tookMs

// Bucket is the requests that ended within a step of time.
export interface Bucket {
  from: number
  to: number
  passed: number // answered at the first try
  held: number // answered after a wait
  failed: number // failed, broke off, or left by their clients
}

// buckets counts requests by when they ended. No step is counted whose beginning is before the list's.
export function buckets(all: readonly Ended[], from: number, to: number, most: number): Bucket[] {
  const step = stepOf(to - from, most)
  const first = Math.floor(from / step) * step
  const made = Array.from({ length: Math.ceil((to - first) / step) }, (_, i): Bucket => ({ from: first + i * step, to: first + (i + 1) * step, passed: 0, held: 0, failed: 0 }))
  for (const r of all) {
    const b = made[Math.floor((endedAt(r) - first) / step)]
    if (b) b[r.outcome !== 'answered' ? 'failed' : r.waitedMs ? 'held' : 'passed']++
  }
  return made
}

// Thread is a call on the time line.
export interface Thread {
  upstream: string
  began: number
  ended?: number // left out: it waits
  held: boolean // it waited, or does
  well: boolean // it was answered, or may be
}

export const threadOf = (r: Ended): Thread => ({ upstream: r.upstream, began: beganAt(r), ended: endedAt(r), held: (r.waitedMs ?? 0) > 0, well: r.outcome === 'answered' })

// heldOver returns how many calls were held over time: the moments at which the number changes, and the number from there.
export function heldOver(threads: readonly Thread[], from: number, to: number): [at: number, n: number][] {
  const changes = threads.flatMap((t): [number, number][] => (t.held ? [[t.began, 1], ...(t.ended === undefined ? [] : [[t.ended, -1] as [number, number]])] : []))
  const points: [number, number][] = [[from, 0]]
  let n = 0
  for (const [at, by] of changes.sort(([a], [b]) => a - b)) {
    n += by
    if (at <= from) points[0] = [from, n]
    else if (at <= to) points.push([at, n])
  }
  return [...points, [to, points.at(-1)?.[1] ?? 0]]
}

// valueAt returns the number at a moment.
export const valueAt = (points: readonly [number, number][], at: number): number => points.findLast(([t]) => t <= at)?.[1] ?? 0

// Lane is what has happened at an upstream within a span of time.
export interface Lane {
  name: string
  outages: { from: number; to: number | undefined; cause: string }[]
  held: (Thread & { slot: number })[] // those that are drawn
  undrawn: number // held calls for which there was no slot
  passed: Thread[]
  waiting: number
}

// lanes sorts calls and incidents by upstream; those with the most waiting calls come first. A held call has a slot of
// its own while it is held.
export function lanes(threads: readonly Thread[], incidents: readonly Incident[], from: number, to: number, slots: number): Lane[] {
  const all = new Map<string, Lane>()
  const lane = (name: string): Lane => {
    const made = all.get(name) ?? { name, outages: [], held: [], undrawn: 0, passed: [], waiting: 0 }
    all.set(name, made)
    return made
  }
  for (const i of incidents) {
    const [began, ended] = [Date.parse(i.began), i.ended ? Date.parse(i.ended) : undefined]
    if (began < to && (ended ?? to) > from) lane(i.upstream).outages.push({ from: began, to: ended, cause: i.kinds[0]?.cause ?? '' })
  }
  const free = new Map<string, number[]>() // when each slot of a lane is free again
  for (const t of [...threads].sort((a, b) => a.began - b.began)) {
    if ((t.ended ?? to) < from || t.began > to) continue
    const l = lane(t.upstream)
    if (!t.held) {
      l.passed.push(t)
      continue
    }
    if (t.ended === undefined) l.waiting++
    const ends = free.get(t.upstream) ?? Array.from({ length: slots }, () => -Infinity)
    free.set(t.upstream, ends)
    const slot = ends.findIndex((end) => end <= t.began)
    if (slot < 0) l.undrawn++
    else {
      ends[slot] = t.ended ?? Infinity
      l.held.push({ ...t, slot })
    }
  }
  return [...all.values()].sort((a, b) => b.waiting - a.waiting || Number(b.outages.length > 0) - Number(a.outages.length > 0) || a.name.localeCompare(b.name))
}

// usual returns how long the outages of an upstream that ended with an answer lasted: the median of the last 30 days, and
// how many there were; null: too few to say.
export function usual(upstream: string, incidents: Iterable<Incident>, now: number): { ms: number; n: number } | null {
  const lasted = [...incidents].filter((i) => i.upstream === upstream && i.recoveredMs !== undefined && now - Date.parse(i.began) < 30 * day).map((i) => i.recoveredMs ?? 0).sort((a, b) => a - b)
  return lasted.length < 3 ? null : { ms: lasted[lasted.length >> 1] ?? 0, n: lasted.length }
}
