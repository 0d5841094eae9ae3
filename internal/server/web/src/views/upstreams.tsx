// Upstreams: the state of each, and what waiting has saved.
import { useState } from 'preact/hooks'

import type { Upstream } from '../api'
import { alike } from '../groups'
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
  const shown = alike(keys.filter((k) => !unused.includes(k)), failsWith)
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Upstreams</h1>
        <p>{lostAt.value === null ? 'Measured on the requests that pass through; no request is sent only to measure.' : 'As they were when last seen.'}</p>
      </header>
      {keys.length === 0 && loaded.value ? <Empty title="No upstream is configured" /> : null}
      {shown.map((s) => (typeof s === 'string' ? null : <Alike key={s.reason} reason={s.reason} of={s.of} />))}
      <div class="cards">{shown.map((s) => (typeof s === 'string' ? <Card key={s} name={s} /> : null))}</div>
      {unused.length > 0 ? (
        <section class="unused" aria-labelledby="unused">
          <h2 id="unused">No request so far</h2>
          <ul>{unused.map((k) => <Unused key={k} name={k} />)}</ul>
        </section>
      ) : null}
    </>
  )
}

// failsWith returns the state and the reason of an upstream that fails, to find others like it; "": it does not.
function failsWith(name: string): string {
  const u = upstreams.peek(name)
  const o = u?.outages.find((x) => !x.recovering)
  return u && o && (u.state === 'waiting' || u.state === 'down') ? `${wordOf(u.state)}: ${causeOf(o)}` : ''
}

// Alike is many upstreams that fail for one reason: a line each, until it is opened.
function Alike({ reason, of: names }: { reason: string; of: string[] }) {
  return (
    <section class={`alike ${upstreams.peek(names[0] ?? '')?.state}`} aria-label={`${plural(names.length, 'upstream')}: ${reason}`}>
      <h2><Mark state={upstreams.peek(names[0] ?? '')?.state ?? 'waiting'} /><span>{plural(names.length, 'upstream')} <span class="aside">{reason}</span></span></h2>
      <ul>{names.map((name) => <AlikeRow key={name} name={name} />)}</ul>
    </section>
  )
}

function AlikeRow({ name }: { name: string }) {
  const [open, set] = useState(false)
  const u = upstreams.row(name)?.value
  if (!u) return null
  return (
    <li>
      <details open={open} onToggle={(e) => set(e.currentTarget.open)}>
        <summary><b>{nameOf(name)}</b><span><State of={u} /></span><span class="aside">{plural(u.waiting, 'call')}</span></summary>
        {open ? <Card name={name} /> : null}
      </details>
    </li>
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
      {u.vendor ? <p class="vendor">{vendorSays(u.vendor)}</p> : null}
      <Limits of={u.limits ?? []} />
      <Facts of={facts(u)} />
      {u.saved && u.saved.outages > 0 ? <p class="saved">Held {plural(u.saved.calls, 'call')} through {plural(u.saved.outages, 'outage')} in the last day.</p> : null}
      <p class="acts">
        <Pausing of={u} />
        {u.waiting > 0 && accepts(u, 'now') ? <Act label="Retry now" busy="Asking…" act={actOn(u.name, 'now')} name={`Retry now: ${nameOf(u.name)}`} /> : null}
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
    ['Retries that helped, last day', u.saved?.retries ? count(u.saved.retries) : undefined],
    ['Failed probes', o?.probes ? String(o.probes) : undefined],
    ['Failing', failing(u)],
    ['Used by', u.source === 'conversations' ? 'conversations' : u.provider ? 'programs and conversations' : 'programs'],
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
