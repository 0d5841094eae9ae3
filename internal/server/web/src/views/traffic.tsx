// Traffic: how many requests ended over time, and how.
import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'

import type { Ended } from '../api'
import { buckets, countTicks, endedAt, timeTicks, type Bucket } from '../chart'
import { usePolled } from '../polled'
import { serverNow } from '../store'
import { clock, roughly } from '../time'
import { count, plural } from '../words'
import { Plot, Ranges, type Scale } from './plot'

const minute = 60_000
const spans = { '15 min': 15 * minute, '1 h': 60 * minute, '6 h': 360 * minute, '24 h': 1440 * minute }
type Span = keyof typeof spans
const span = signal<Span>('1 h')
const pollTime = 30_000

const units = { s: 'second', m: 'minute', h: 'hour' }

const all = (b: Bucket): number => b.passed + b.held + b.failed
const at = (ms: number): string => clock(new Date(ms).toISOString())

// says is a bucket in words.
const says = (b: Bucket): string =>
  `${at(b.from)}–${at(b.to)}: ${plural(all(b), 'request')}${all(b) > 0 ? ` (${[b.passed && `${count(b.passed)} at the first try`, b.held && `${count(b.held)} after a wait`, b.failed && `${count(b.failed)} without an answer`].filter(Boolean).join(', ')})` : ''}`

// useTraffic returns the requests that are known of, and since when they are complete.
function useTraffic(): { list: readonly Ended[]; since: number } | null {
  const [answer] = usePolled<{ all: number; requests: Ended[] }>('requests?limit=1000', pollTime)
  if (!answer) return null
  const oldest = answer.requests.at(-1)
  return { list: answer.requests, since: oldest && answer.requests.length >= 1000 ? endedAt(oldest) : 0 }
}

// Bars draws buckets.
function Bars({ of, s }: { of: readonly Bucket[]; s: Scale }) {
  const bar = (from: (b: Bucket) => number, n: (b: Bucket) => number) =>
    of.filter((b) => n(b) > 0).map((b) => {
      const [a, z] = [Math.max(s.left, s.x(b.from)) + 0.5, Math.min(s.right, s.x(b.to)) - 0.5]
      return `M${a} ${s.y(from(b))}H${z}V${s.y(from(b) + n(b))}H${a}z`
    }).join('')
  return (
    <>
      <path class="bar good" d={bar(() => 0, (b) => b.passed)} />
      <path class="bar amber" d={bar((b) => b.passed, (b) => b.held)} />
      <path class="bar bad" d={bar((b) => b.passed + b.held, (b) => b.failed)} />
    </>
  )
}

// Traffic is the chart, with its numbers as a table.
export function Traffic() {
  const known = useTraffic()
  const [open, set] = useState(false)
  if (!known) return <div class="traffic unsized" />
  const to = serverNow()
  const from = to - spans[span.value]
  const made = buckets(known.list, from, to, 60)
  const sum = made.reduce((n, b) => ({ ...n, passed: n.passed + b.passed, held: n.held + b.held, failed: n.failed + b.failed }), { from, to, passed: 0, held: 0, failed: 0 })
  const counts = countTicks(Math.max(...made.map(all)))
  const step = roughly((made[0]?.to ?? 0) - (made[0]?.from ?? 0)).replace(/^1(?=\D)/, '').replace(/(\d*)([smh])$/, (_, n: string, unit: string) => (n && n + ' ') + units[unit as 's'] + (n && 's'))
  return (
    <section class="traffic" aria-labelledby="traffic">
      <header><h2 id="traffic">Requests per {step}</h2><Ranges of={Object.keys(spans) as Span[]} chosen={span.value} choose={(s) => (span.value = s)} /></header>
      <Plot label={`Requests that ended in the last ${span.value}: ${says(sum).replace(/^.*?: /, '')}`} height={150} from={from} to={to} ticks={(n) => timeTicks(from, to, n)} counts={counts}
        read={(t) => { const b = made.find((one) => t < one.to); return b ? says(b) : '' }}
        says={`In the last ${span.value}: ${says(sum).replace(/^.*?: /, '')}${known.since > from ? `. The server lists the latest 1000 requests: those before ${at(known.since)} are not counted` : ''}.`}>
        {(s) => <Bars of={made} s={s} />}
      </Plot>
      <p class="legend aside"><span><i class="good" />at the first try</span> <span><i class="amber" />after a wait</span> <span><i class="bad" />without an answer</span></p>
      <details onToggle={(e) => set(e.currentTarget.open)}>
        <summary>The numbers</summary>
        {open ? <div class="scroll" tabIndex={0} role="region" aria-label="Requests over time">
          <table>
            <thead><tr><th scope="col">Time</th><th scope="col" class="number">At the first try</th><th scope="col" class="number">After a wait</th><th scope="col" class="number">Without an answer</th></tr></thead>
            <tbody>{made.filter((b) => all(b) > 0).map((b) => <tr key={b.from}><th scope="row">{at(b.from)}–{at(b.to)}</th><td class="number">{b.passed}</td><td class="number">{b.held}</td><td class="number">{b.failed}</td></tr>)}</tbody>
          </table>
        </div> : null}
      </details>
    </section>
  )
}

const sparkSpan = 60 * minute

// Spark is the last hour's requests, small.
export function Spark() {
  const known = useTraffic()
  const to = serverNow()
  const made = known ? buckets(known.list, to - sparkSpan, to, 60) : []
  const n = made.reduce((sum, b) => sum + all(b), 0)
  return (
    <div class="spark">
      <Plot label={`${plural(n, 'request')} in the last hour`} height={52} from={to - sparkSpan} to={to} ticks={(most) => timeTicks(to - sparkSpan, to, most)} read={(t) => { const b = made.find((one) => t < one.to); return b ? says(b) : '' }} says={`${plural(n, 'request')} in the last hour`}>
        {(s) => {
          const highest = Math.max(1, ...made.map(all))
          return <Bars of={made} s={{ ...s, y: (v) => s.bottom - (v / highest) * (s.bottom - s.top) }} />
        }}
      </Plot>
    </div>
  )
}
