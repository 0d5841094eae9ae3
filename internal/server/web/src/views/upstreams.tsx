// Upstreams: the state and the history of each, and what waiting has saved.
import type { Cell, Upstream } from '../api'
import { loaded, lostAt, upstreams } from '../store'
import type { Received } from '../table'
import { Countdown } from '../ticker'
import { clock, dated, moment, roughly } from '../time'
import { capital, causeOf, count, plural, vendorSays } from '../words'
import { actOn, accepts } from './now'
import { Limits } from './limits'
import { Act, Empty, Facts, Mark, nameOf, wordOf } from './parts'

export function Upstreams() {
  void upstreams.version.value
  const keys = upstreams.keys.value
  const unused = keys.filter((k) => isUnused(upstreams.peek(k)))
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Upstreams</h1>
        <p>{lostAt.value === null ? 'Measured on the requests that pass through; no request is sent only to measure.' : 'As they were when last seen.'}</p>
      </header>
      {keys.length === 0 && loaded.value ? <Empty title="No upstream is configured" /> : null}
      <div class="cards">{keys.filter((k) => !unused.includes(k)).map((k) => <Card key={k} name={k} />)}</div>
      {unused.length > 0 ? (
        <section class="unused" aria-labelledby="unused">
          <h2 id="unused">No request so far</h2>
          <ul>{unused.map((k) => <Unused key={k} name={k} />)}</ul>
        </section>
      ) : null}
    </>
  )
}

// isUnused reports whether nothing is known of an upstream.
const isUnused = (u: Upstream | undefined): boolean => u?.state === 'no-data' && !u.lastSuccess && u.waiting === 0

// Unused is the line of an upstream of which nothing is known.
function Unused({ name }: { name: string }) {
  const u = upstreams.row(name)?.value
  if (!u) return null
  return <li><Mark state={u.state} /><b>{nameOf(u.name)}</b><span class="address">{u.base}</span><Pausing of={u} /></li>
}

// Pausing is the button that pauses an upstream, or resumes it.
function Pausing({ of: u }: { of: Upstream }) {
  const [label, what, kind] = u.state === 'paused' ? (['Resume', 'resume', { kind: 'first' }] as const) : (['Pause', 'pause', {}] as const)
  return accepts(u, what) ? <Act {...kind} label={label} act={actOn(u.name, what)} name={`${label} ${nameOf(u.name)}`} /> : null
}

function Card({ name }: { name: string }) {
  const u = upstreams.row(name)?.value
  if (!u) return null
  const id = `upstream-${name}`
  return (
    <article class={`card ${u.state}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{nameOf(u.name)}</h2>
        <p class="state"><Mark state={u.state} /><State of={u} /></p>
      </header>
      <p class="words"><Reason of={u} /></p>
      {u.state === 'no-data' && !(u.strip ?? []).some((c) => c.ok || c.failed) ? null : <Strip cells={u.strip ?? []} name={nameOf(u.name)} />}
      <Spark cells={u.strip ?? []} />
      {u.vendor ? <p class="vendor">{vendorSays(u.vendor)}</p> : null}
      <Limits of={u.limits ?? []} />
      <Facts of={facts(u)} />
      {u.saved && u.saved.calls > 0 ? <p class="saved">Held {plural(u.saved.calls, 'call')} through {plural(u.saved.outages, 'outage')} this week.</p> : null}
      <p class="acts">
        <Pausing of={u} />
        {u.waiting > 0 && accepts(u, 'now') ? <Act label="Try now" busy="Asking…" act={actOn(u.name, 'now')} name={`Try now: ${nameOf(u.name)}`} /> : null}
      </p>
    </article>
  )
}

// State is the word for a state, and its end where that is known.
function State({ of: u }: { of: Received<Upstream> }) {
  if (u.state === 'waiting' && u.until) return <>Waiting until {moment(u.until)}</>
  return <>{wordOf(u.state)}</>
}

function Reason({ of: u }: { of: Received<Upstream> }) {
  const left = u.untilMs ?? 0
  const why = u.reason ?? reasonOf(u)
  if (u.waiting === 0 || (u.state !== 'waiting' && u.state !== 'degraded') || left <= 0) return <>{why}</>
  return <>{why.replace(/\.$/, '')} — tried again <Countdown due={u.received + left} at={u.until} /></>
}

// reasonOf returns a reason where the server has none.
function reasonOf(u: Upstream): string {
  const o = u.outages[0]
  if (u.state === 'paused') return `Paused since ${clock(u.pausedSince ?? '')}`
  if (u.state === 'no-data') return 'No request yet'
  return o ? `${capital(causeOf(o))} since ${clock(o.since)}: ${o.message ?? ''}` : ''
}

function facts(u: Upstream): [string, string | undefined | preact.ComponentChild][] {
  const o = u.outages.find((x) => !x.recovering)
  return [
    ['Waiting', u.waiting > 0 ? <a href="#/now">{plural(u.waiting, 'call')}</a> : 'none'],
    ['Last success', u.lastSuccess ? dated(u.lastSuccess) : 'none yet'],
    ['First token', u.firstTokenMs === undefined ? undefined : roughly(u.firstTokenMs) + (u.firstTokenBeforeMs ? `, usually ${roughly(u.firstTokenBeforeMs)}` : '')],
    ['First byte within, learned', firstBytes(u)],
    ['Answers, last hour', u.samples ? count(u.samples) : undefined],
    ['Retries that helped, this week', u.saved?.retries ? count(u.saved.retries) : undefined],
    ['Failed probes', o?.probes ? String(o.probes) : undefined],
    ['Failing', failing(u)],
    ['Used by', u.source === 'conversations' ? 'conversations' : 'programs'],
    ['Address', u.base && <span class="address">{u.base}</span>],
  ]
}

// firstBytes names the learned limits on the first byte. Without one it is that of the configuration.
function firstBytes(u: Upstream): string | undefined {
  const all = u.firstByte ?? []
  const named = all.slice(0, 4).map((f) => `${f.model || 'no model'} ${roughly(f.limitMs)}`).join(', ')
  return all.length > 4 ? `${named}, ${plural(all.length - 4, 'more', 'more')}` : named || undefined
}

// failing names what fails.
function failing(u: Upstream): string | undefined {
  const o = u.outages.find((x) => !x.recovering)
  if (o?.level === 'host' && !o.model) return 'the whole upstream'
  if (o?.level === 'credential') return ['credential', o.model].filter(Boolean).join(' ')
  const models = (u.failing ?? []).filter(Boolean).join(', ')
  return models ? `model ${models}` : undefined
}

const cellWidth = 10 // its gap included
const height = 36

// Strip draws the last 24 hours, a quarter of an hour in each cell. A low bar: all calls passed; a middle
// one: tries failed; a full one: calls were lost; a dot: no data.
function Strip({ cells, name }: { cells: Cell[]; name: string }) {
  if (cells.length === 0) return null
  return (
    <figure class="strip">
      <svg viewBox={`0 0 ${cells.length * cellWidth} ${height}`} preserveAspectRatio="none" role="img" aria-label={summary(cells, name)}>
        {cells.map((c, i) => <Bar key={i} of={c} x={i * cellWidth} tip={tip(c, cells.length - i)} />)}
      </svg>
      <figcaption><span>24 h ago</span><span class="legend"><i class="good" />passed<i class="amber" />tries failed<i class="bad" />calls lost<i class="mute" />no data</span><span>now</span></figcaption>
    </figure>
  )
}

function Bar({ of: c, x, tip: words }: { of: Cell; x: number; tip: string }) {
  const tone = !c.ok && !c.failed && !c.lost ? 'mute' : c.lost ? 'bad' : c.failed || c.retried ? 'amber' : 'good'
  const barHeight = { mute: 3, good: 14, amber: 24, bad: height }[tone]
  return (
    <g>
      <rect x={x} y="0" width={cellWidth} height={height} class="catch" />
      <rect x={x + 1} y={height - barHeight} width={cellWidth - 2} height={barHeight} class={tone} />
      <title>{words}</title>
    </g>
  )
}

function tip(c: Cell, ago: number): string {
  const when = ago === 1 ? 'the last quarter of an hour' : `${roughly(ago * 900_000)} ago`
  if (!c.ok && !c.failed && !c.lost) return `${when}: no data`
  const first = c.firstTokenMs ? `, first token ${roughly(c.firstTokenMs)}` : ''
  return `${when}: ${c.ok ?? 0} passed, ${c.retried ?? 0} after retries, ${c.failed ?? 0} tries failed, ${c.lost ?? 0} calls lost${first}`
}

// summary describes the strip for screen readers.
function summary(cells: Cell[], name: string): string {
  const sum = (of: (c: Cell) => number | undefined) => cells.reduce((n, c) => n + (of(c) ?? 0), 0)
  const bad = cells.filter((c) => c.failed).length
  const none = cells.filter((c) => !c.ok && !c.failed && !c.lost).length
  return `${name}, last 24 hours: ${sum((c) => c.ok)} passed, ${sum((c) => c.retried)} calls after retries, ${sum((c) => c.failed)} tries failed, ${sum((c) => c.lost)} calls lost; ` +
    `failures in ${bad} of ${cells.length} quarters of an hour, no data in ${none}`
}

// Spark draws the time to the first token over the same hours, with gaps where there is no data.
function Spark({ cells }: { cells: Cell[] }) {
  const known = cells.map((c) => c.firstTokenMs ?? 0).filter(Boolean)
  if (known.length < 2) return null // a dot says less than the number beside it
  const longest = Math.max(...known)
  let pen = 'M'
  let path = ''
  cells.forEach((c, i) => {
    if (c.firstTokenMs === undefined) return void (pen = 'M')
    const [x, y] = [i * cellWidth + cellWidth / 2, height - 3 - (c.firstTokenMs / longest) * (height - 8)]
    path += `${pen}${x.toFixed(0)} ${y.toFixed(1)}`
    if (pen === 'M') path += `h.1` // a single value is a dot
    pen = 'L'
  })
  return (
    <figure class="spark">
      <svg viewBox={`0 0 ${cells.length * cellWidth} ${height}`} preserveAspectRatio="none" role="img" aria-label={`Time to the first token, ${roughly(longest)} at most`}>
        <path d={path} />
      </svg>
      <figcaption>First token, up to {roughly(longest)}</figcaption>
    </figure>
  )
}
