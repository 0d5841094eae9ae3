// Traffic: what passes when all is well, what waiting has achieved, and the latest requests.
import { signal } from '@preact/signals'

import type { Span, Step, Traffic } from '../api'
import { bars, line, most, plotHeight, stepWidth, type Values } from '../plot'
import { usePolled } from '../polled'
import { lostAt, upstreams } from '../store'
import { clock, roughly } from '../time'
import { capital, causeOf, count, held, plural } from '../words'
import { Limits } from './limits'
import { Mark, Missing, nameOf, wordOf } from './parts'
import { Requests } from './requests'
import { Setup } from './setup'

export function TrafficView() {
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Traffic</h1>
        <p>Requests, how they ended and how long they took. Prompts and answers are not shown.</p>
      </header>
      <Healthy />
    </>
  )
}

const pollTime = 10_000

type SpanName = 'hour' | 'day'

const shownSpan = signal<SpanName>('hour')

// Healthy is the view without its title, for when nothing waits.
export function Healthy() {
  void upstreams.version.value
  const [traffic, failed] = usePolled<Traffic>('traffic', pollTime)
  if (!traffic) return <Missing what="What has passed" failed={failed} />
  const busy = traffic.upstreams.filter((u) => isBusy(u.day.all))
  if (busy.length === 0 && [...upstreams.all()].every((u) => !u.lastSuccess)) return <Setup />
  return (
    <>
      <p class="saved lead">{held(traffic.held)}</p>
      {busy.length > 0 ? <Charts of={busy} /> : null}
      <Requests upstreams={busy.map((u) => u.name)} />
    </>
  )
}

const isBusy = (s: Step): boolean => Boolean(s.requests || s.ok || s.kinds)

function Charts({ of: all }: { of: Traffic['upstreams'] }) {
  const name = shownSpan.value
  const choose = (n: SpanName, label: string) => <button type="button" aria-pressed={n === name} onClick={() => (shownSpan.value = n)}>{label}</button>
  return (
    <section aria-labelledby="passed">
      <header class="over">
        <h2 id="passed">By upstream</h2>
        <p class="acts" role="group" aria-label="Time">{choose('hour', 'Last hour')}{choose('day', 'Last day')}</p>
      </header>
      {all.map((u) => <Passed key={u.name} name={u.name} of={u[name]} span={name} />)}
    </section>
  )
}

function Passed({ name, of: span, span: spanName }: { name: string; of: Span; span: SpanName }) {
  const u = upstreams.keys.value.includes(name) ? upstreams.row(name)?.value : undefined
  const all = span.all
  const about = `${nameOf(name)}, last ${spanName}`
  const within = (ms: number | undefined) => (ms ? `95 % within ${roughly(ms)}` : '')
  const values = (of: (s: Step) => number | undefined): Values => span.steps.map(of)
  const unit = spanName === 'hour' ? 'a minute' : 'in 15 minutes'
  const requests = values((s) => s.requests)
  return (
    <article class="card passed" aria-label={about}>
      <header>
        <h3>{nameOf(name)}</h3>
        {u && lostAt.value === null ? <p class="state"><Mark state={u.state} />{wordOf(u.state)}</p> : null}
      </header>
      <div class="charts">
        <Chart title="Requests" value={count(all.requests ?? 0)} aside={`at most ${count(most(requests))} ${unit}`} about={about} bars={requests} />
        <Chart title="Errors" value={count(errors(all) ?? 0)} aside={causes(all)} about={about} bars={values(errors)} tone="bad" />
        <Chart title="First token" value={all.firstTokenMs ? roughly(all.firstTokenMs) : '–'} aside={within(all.firstTokenP95Ms)} about={about} line={values((s) => s.firstTokenMs)} above={values((s) => s.firstTokenP95Ms)} />
        <Chart title="Added here" value={added(all.addedMs)} aside={within(all.addedP95Ms)} about={about} line={values((s) => s.addedMs)} above={values((s) => s.addedP95Ms)} />
      </div>
      {u ? <Limits of={u.limits ?? []} /> : null}
      <details>
        <summary>The numbers</summary>
        <Numbers of={span} about={about} />
      </details>
    </article>
  )
}

// errors is the number of failed tries; undefined: none.
const errors = (s: Step): number | undefined => s.kinds?.reduce((n, k) => n + k.count, 0)

const causes = (s: Step): string => (s.kinds ?? []).map((k) => `${causeOf(k)}${k.count > 1 ? ` × ${k.count}` : ''}`).join(', ') || 'none'

// added is a time that is not measured below a millisecond.
const added = (ms: number | undefined): string => (ms === undefined ? '–' : ms <= 1 ? '≤ 1ms' : roughly(ms))

interface ChartProps {
  title: string
  value: string
  aside: string
  about: string // for screen readers, which hear it without its surroundings
  bars?: Values
  tone?: 'bad'
  line?: Values
  above?: Values // of 95 %
}

function Chart({ title, value, aside, about, bars: counts = [], tone, line: middle = [], above = [] }: ChartProps) {
  const largest = Math.max(1, most(counts), most(middle), most(above))
  const steps = Math.max(counts.length, middle.length)
  return (
    <figure class="chart">
      <figcaption><span>{title}</span><b>{value}</b><span class="aside">{aside}</span></figcaption>
      <svg viewBox={`0 0 ${steps * stepWidth} ${plotHeight}`} preserveAspectRatio="none" role="img" aria-label={`${title}, ${about}: ${[value, aside].filter(Boolean).join(', ')}`}>
        <path class="ground" d={`M0 ${plotHeight}H${steps * stepWidth}`} />
        <path class={`bars ${tone ?? ''}`} d={bars(counts, largest)} />
        <path class="above" d={line(above, largest)} />
        <path class="middle" d={line(middle, largest)} />
      </svg>
    </figure>
  )
}

// Numbers is the table behind the charts, without the steps in which nothing happened.
function Numbers({ of: span, about }: { of: Span; about: string }) {
  const end = Date.parse(span.until)
  const rows = span.steps
    .map((s, i) => ({ s, at: new Date(end - (span.steps.length - i) * span.stepMs).toISOString() }))
    .filter((r) => isBusy(r.s) || r.s.lost)
    .reverse()
  const ms = (v: number | undefined, most: number | undefined) => (v ? `${roughly(v)}, ${roughly(most ?? v)}` : '')
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers of ${about}`}>
      <table>
        <thead>
          <tr><th scope="col">From</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Answered after a wait</th><th scope="col">Errors</th><th scope="col">First token: median, 95 %</th><th scope="col">Added: median, 95 %</th></tr>
        </thead>
        <tbody>
          {rows.map(({ s, at }) => (
            <tr key={at}>
              <th scope="row">{clock(at)}</th><td class="number">{s.requests ?? 0}</td><td class="number">{s.retried ?? ''}</td><td>{s.kinds ? capital(causes(s)) : ''}</td>
              <td>{ms(s.firstTokenMs, s.firstTokenP95Ms)}</td><td>{ms(s.addedMs, s.addedP95Ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 ? <p class="aside">{plural(0, 'request')}</p> : null}
    </div>
  )
}
