// The time line of Now: a lane for each upstream. A held call leaves the line of the passing calls, stops beside it, and
// joins it again when it is answered. The list below says the same in words.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'

import type { Ended } from '../api'
import { lanes, threadOf, timeTicks, type Lane, type Thread } from '../chart'
import { groups } from '../groups'
import { usePolled } from '../polled'
import { incidents, lostAt, passed, serverNow, upstreams, waiting, waitingThreads } from '../store'
import { clock, moment, roughly } from '../time'
import { plural } from '../words'
import { nameOf } from './parts'
import { Plot, Ranges, type Scale } from './plot'

const minute = 60_000
const spans = { '1 min': minute, '5 min': 5 * minute, '30 min': 30 * minute, '3 h': 180 * minute, '24 h': 1440 * minute }
type Span = 'Fitting' | keyof typeof spans
const span = signal<Span>('Fitting')

const pollTime = 15_000
const lanesBound = 6
const manyCalls = 100
const justOver = 180_000 // ms after its end in which an incident is shown as a whole
const future = 0.12 // of the width is to come

// useNow returns the time once a second while the page is visible, and the last known time without the server. With many
// calls it is every five seconds: drawing them takes time.
function useNow(): number {
  const [now, set] = useState(serverNow)
  const pause = waiting.value > manyCalls ? 5000 : 1000
  useEffect(() => {
    const timer = setInterval(() => document.hidden || lostAt.peek() !== null || set(serverNow()), pause)
    return () => clearInterval(timer)
  }, [pause])
  return now
}

// threadsOf returns all calls that are known: those that wait, those whose wait the page has seen end, and the latest
// that the server has listed.
function threadsOf(listed: readonly Ended[]): Thread[] {
  const told = new Set(listed.map((r) => r.turn ?? r.id))
  return [...waitingThreads(), ...passed.filter((p) => !told.has(p.id)), ...listed.map(threadOf)]
}

// spanOf returns the time that is shown: the chosen one, or one in which the oldest waiting call can be seen, and the
// beginning of an incident that has just ended.
function spanOf(threads: readonly Thread[], now: number): number {
  if (span.value !== 'Fitting') return spans[span.value]
  const oldest = threads.reduce((least, t) => (t.ended === undefined ? Math.min(least, t.began) : least), now)
  const first = [...incidents.all()].reduce((least, i) => (i.ended && now - Date.parse(i.ended) < justOver ? Math.min(least, Date.parse(i.began)) : least), oldest)
  return Object.values(spans).find((s) => now - first < s * 0.8) ?? spans['24 h']
}

export function TimeLine() {
  const now = useNow()
  const [answer] = usePolled<{ requests: Ended[] }>('requests?limit=200', pollTime)
  const threads = threadsOf(answer?.requests ?? [])
  const shown = spanOf(threads, now)
  const [from, to] = [now - shown * (1 - future), now + shown * future]
  const all = [...incidents.all()]
  const found = lanes(threads, all, from, now, 10)
  const listed = found.slice(0, lanesBound)
  const more = found.length - listed.length
  const tall = listed.length <= 2 ? 84 : listed.length <= 5 ? 58 : 34
  if (listed.length === 0) return null
  return (
    <section class="line" aria-label="Time line">
      <Ranges of={['Fitting', ...(Object.keys(spans) as Span[])]} chosen={span.value} choose={(s) => (span.value = s)} />
      <Plot label={listed.map(sentence).join(' ')} height={listed.length * tall + 30} from={from} to={to} ticks={(n) => timeTicks(from, to, n).filter(([at]) => at < now)}
        read={(at) => (at > now ? 'to come' : `${shown > 10 * minute ? clock(new Date(at).toISOString()) : moment(new Date(at).toISOString())}: ${listed.map((l) => `${nameOf(l.name)} ${held(threads, l.name, at)}`).slice(0, 4).join(' · ')}`)}
        says={`The last ${roughly(shown)}. Each line is a call that is held; the arrow is the next try.`}>
        {(s) => (
          <>
            {listed.map((l, i) => <LaneView key={l.name} of={l} s={s} top={s.top + i * tall} tall={tall} now={now} />)}
            <path class="now" d={`M${s.x(now)} ${s.top}V${s.bottom}`} />
            <text class="now-word" x={s.x(now)} y={s.bottom + 18}>now</text>
          </>
        )}
      </Plot>
      {more > 0 ? <p class="aside">And {plural(more, 'more upstream')}.</p> : null}
    </section>
  )
}

const held = (threads: readonly Thread[], name: string, at: number): string => {
  const n = threads.filter((t) => t.upstream === name && t.held && t.began <= at && (t.ended ?? Infinity) > at).length
  return n > 0 ? `held ${plural(n, 'call')}` : 'held none'
}

// sentence is a lane in words.
function sentence(l: Lane): string {
  const open = l.outages.find((o) => o.to === undefined)
  const says = open ? `fails since ${clock(new Date(open.from).toISOString())}` : 'no outage now'
  return `${nameOf(l.name)}: ${says}${l.waiting > 0 ? `, ${plural(l.waiting, 'call')} held` : ''}.`
}

const curve = 12 // px that a call takes to leave the line, and to join it again

function LaneView({ of: l, s, top, tall, now }: { of: Lane; s: Scale; top: number; tall: number; now: number }) {
  const line = top + tall - 8 // on which calls pass
  const room = tall - 30
  const used = Math.max(1, ...l.held.map((t) => t.slot + 1))
  const gap = Math.min(7, room / used)
  const x = (at: number) => Math.max(s.left, s.x(at))
  const clip = (at: number) => at < s.left
  const path = (t: Thread & { slot: number }): string => {
    const y = line - 4 - gap * (t.slot + 0.5)
    const [a, b] = [x(t.began), x(t.ended ?? now)]
    const begin = clip(s.x(t.began)) ? `M${a} ${y}` : `M${Math.max(s.left, a - curve)} ${line}C${a - curve / 2} ${line} ${a - curve / 2} ${y} ${a} ${y}`
    return begin + `H${Math.max(a, b)}` + (t.ended === undefined ? '' : `C${b + curve / 2} ${y} ${b + curve / 2} ${line} ${b + curve} ${line}`)
  }
  const ends = (well: boolean) => l.held.filter((t) => t.ended !== undefined && t.well === well && s.x(t.ended) > s.left)
  const ticks = (well: boolean) => l.passed.filter((t) => t.well === well).map((t) => `M${x(t.ended ?? now)} ${line - 4}v8`).join('')
  const u = upstreams.peek(l.name)
  const due = now + (groups.peek().find((g) => g.name === l.name)?.first.next.due ?? Infinity) - performance.now()
  return (
    <g>
      {l.outages.map((o) => <rect key={o.from} class="outage" x={x(o.from)} y={top + 2} width={Math.max(1.5, x(o.to ?? now) - x(o.from))} height={tall - 4} />)}
      {l.outages.map((o) => <path key={o.from} class="wall" d={`M${x(o.from)} ${top + 2}v${tall - 4}${o.to === undefined ? '' : `M${x(o.to)} ${top + 2}v${tall - 4}`}`} />)}
      <path class="rail" d={`M${s.left} ${line}H${s.x(now)}`} />
      <path class="pass" d={ticks(true)} />
      <path class="fail" d={ticks(false)} />
      <path class="thread done" d={l.held.filter((t) => t.ended !== undefined).map(path).join('')} />
      <path class="thread" d={l.held.filter((t) => t.ended === undefined).map(path).join('')} />
      {l.held.filter((t) => t.ended === undefined).map((t) => <circle key={t.slot} class="head" cx={s.x(now)} cy={line - 4 - gap * (t.slot + 0.5)} r="2.2" />)}
      <path class="fail" d={ends(false).map((t) => `M${x(t.ended ?? now) + curve} ${line - 4}v8`).join('')} />
      <path class="pass" d={ends(true).map((t) => `M${x(t.ended ?? now) + curve} ${line - 4}v8`).join('')} />
      <text class="lane-name" x={s.left + 4} y={top + 15}>{nameOf(l.name)}<tspan class="lane-says">{l.waiting > 0 ? `  ${l.waiting} held` : u?.state === 'paused' ? '  paused' : ''}</tspan></text>
      {due < Infinity ? <path class="next" d={s.x(due) < s.right - 6 ? `M${s.x(due)} ${line - 5}l6 5-6 5z` : `M${s.right - 9} ${line - 4}l4 4-4 4m4-8l4 4-4 4`} /> : null}
      {l.undrawn > 0 ? <text class="undrawn" x={s.right} y={top + 15}>{`+${l.undrawn} not drawn`}</text> : null}
    </g>
  )
}
