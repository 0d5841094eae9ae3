// Now: the waits of each upstream, with their countdowns and buttons.
import { computed } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

import { announce, endText } from '../announce'
import type { CallWait, TurnWait, Upstream } from '../api'
import { part, post } from '../call'
import { callerOf, ends, loaded, turns, unlisted, upstreams, waiting, waits } from '../store'
import type { Received } from '../table'
import { Countdown, observe } from '../ticker'
import { clock, dated, roughly, until } from '../time'
import { afterContent, afterContentMeans, attempt, cached, capital, causeOf, plural, vendorSays, verb } from '../words'
import { Act, Mark, nameOf, wordOf } from './parts'

type AnyWait = Received<CallWait | TurnWait>

// Group is all waits for one upstream.
interface Group {
  name: string
  calls: readonly number[]
  turns: readonly string[]
  first: AnyWait // with the next try
}

let before: readonly Group[] = []

// groups are the waits by upstream. An unchanged group stays the same object and is not drawn again.
const groups = computed(() => {
  void waits.version.value
  void turns.version.value
  const byName = new Map<string, { calls: number[]; turns: string[]; first: AnyWait }>()
  const add = (name: string, w: AnyWait) => {
    const g = byName.get(name) ?? { calls: [], turns: [], first: w }
    if (sooner(w, g.first)) g.first = w
    byName.set(name, g)
    return g
  }
  for (const w of waits.all()) add(w.upstream, w).calls.push(w.id)
  for (const t of turns.all()) add(t.upstream ?? t.provider, t).turns.push(t.conversation)
  before = [...byName].map(([name, g]) => unchanged({ name, ...g }))
  return before
})

// unchanged returns the group before if it is equal.
function unchanged(g: Group): Group {
  const old = before.find((o) => o.name === g.name)
  if (!old) return g
  const same = (a: readonly unknown[], b: readonly unknown[]) => a.length === b.length && a.every((v, i) => v === b[i])
  const calls = same(old.calls, g.calls) ? old.calls : g.calls
  const groupTurns = same(old.turns, g.turns) ? old.turns : g.turns
  return calls === old.calls && groupTurns === old.turns && old.first === g.first ? old : { ...g, calls, turns: groupTurns }
}

const dueOf = (w: AnyWait): number => (w.state === 'waiting' && w.due ? w.received + w.remainingMs : Infinity)

// NextTry is the next try at an upstream: that of a wait, or an earlier probe of the gateway.
interface NextTry {
  due: number
  at: string | undefined
}

function nextOf(w: AnyWait, u: Received<Upstream> | undefined): NextTry {
  const own = { due: dueOf(w), at: w.due }
  if (w.opensAt) return own // what asks before that is of no interest
  const probe = u?.untilMs === undefined ? Infinity : u.received + u.untilMs
  return probe < own.due ? { due: probe, at: u?.until } : own
}

const sooner = (a: AnyWait, b: AnyWait): boolean => dueOf(a) < dueOf(b)

export function Now() {
  const all = groups.value
  const n = waiting.value
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>{n > 0 ? `${plural(n, 'call')} ${n === 1 ? 'waits' : 'wait'}` : loaded.value ? 'Nothing waits' : 'Loading…'}</h1>
        <p>{n > 0 ? 'Nothing is lost: each continues by itself when its provider answers.' : loaded.value ? <Calm /> : ''}</p>
      </header>
      {all.map((g) => <Waiting key={g.name} of={g} />)}
      {unlisted.value > 0 ? <p class="aside">And {plural(unlisted.value, 'more conversation waits', 'more conversations wait')}, which are not listed.</p> : null}
      <Recent />
    </>
  )
}

// Calm shows the upstreams that are not operational, where nothing waits.
function Calm() {
  const bad = upstreams.keys.value.map((k) => upstreams.row(k)?.value).filter((u) => u && u.state !== 'operational' && u.state !== 'no-data')
  if (bad.length === 0) return <>Requests pass. When a provider fails, the calls that wait for it are shown here.</>
  return <>{bad.map((u) => u && <a class="pill" href="#/upstreams" key={u.name}><Mark state={u.state} />{nameOf(u.name)}: {wordOf(u.state).toLowerCase()}</a>)}</>
}

const rowsBound = 100 // rows that are shown before the user asks for all

function Waiting({ of: g }: { of: Group }) {
  const [all, showAll] = useState(false)
  const n = g.calls.length + g.turns.length
  const calls = all ? g.calls : g.calls.slice(0, rowsBound)
  const listed = all ? g.turns : g.turns.slice(0, rowsBound)
  const more = n - calls.length - listed.length
  return (
    <section class="held" aria-label={`Waiting for ${nameOf(g.name)}`}>
      <Head of={g} n={n} />
      <ul class="rows">
        {listed.map((id) => <TurnRow key={id} id={id} />)}
        {calls.map((id) => <CallRow key={id} id={id} />)}
      </ul>
      {more > 0 && <p class="more"><button type="button" onClick={() => showAll(true)}>Show {plural(more, 'more', 'more')}</button></p>}
    </section>
  )
}

function Head({ of: g, n }: { of: Group; n: number }) {
  const row = upstreams.keys.value.includes(g.name) ? upstreams.row(g.name) : undefined
  const u = row?.value
  const w = g.first
  useEffect(() => {
    const next = nextOf(w, u)
    const left = next.due - performance.now()
    const when = Number.isFinite(left) ? `, ${verb(w)} ${until(left, next.at)}` : ''
    const subject = n > 1 ? `${plural(n, 'call')} wait for ${nameOf(g.name)}` : `1 call waits for ${nameOf(g.name)}`
    announce(g.name, `${n > 1} ${w.retries} ${when === ''}`, `${subject}: ${causeOf(w)}${when} (${attempt(w)}).`)
  })
  return (
    <header>
      <h2><Mark state={u && u.state !== 'operational' && u.state !== 'no-data' ? u.state : 'waiting'} />{nameOf(g.name)}</h2>
      <p class="sentence"><Sentence of={w} n={n} upstream={u} /></p>
      {w.message && <p class="words">{w.message}</p>}
      {u?.vendor ? <p class="vendor">{vendorSays(u.vendor)}</p> : null}
      <p class="acts">{u ? <UpstreamActs of={u} n={n} /> : null}</p>
    </header>
  )
}

function Sentence({ of: w, n, upstream: u }: { of: AnyWait; n: number; upstream: Received<Upstream> | undefined }) {
  if (u?.state === 'paused') return <>Paused — {n === 1 ? 'it waits' : `${plural(n, 'call')} wait`} until it is resumed</>
  if (u?.state === 'recovering') return <>Recovered — the waiting calls are sent one after the other</>
  const { due, at } = nextOf(w, u)
  return (
    <>
      {capital(causeOf(w))} — {Number.isFinite(due) ? <>{verb(w)} <Countdown due={due} at={at} />{w.opensAt ? '' : '…'}</> : <>{stateWords[w.state]}…</>}
      {n === 1 ? <span class="aside">{w.opensAt ? '' : ` (${attempt(w)})`}</span> : <span class="aside"> ({plural(n, 'call')})</span>}
    </>
  )
}

const stateWords = { waiting: 'waiting', trying: 'trying now', queued: 'waiting behind the probe', paused: 'paused' }

// accepts reports whether an upstream takes an action.
export const accepts = (u: Upstream, what: string): boolean => u.actions?.includes(what) ?? true

export const actOn = (u: string, what: string) => () => post(`upstreams/${part(u)}`, { do: what })

// UpstreamActs are the actions on all waits for an upstream.
function UpstreamActs({ of: u, n }: { of: Upstream; n: number }) {
  const all = n > 1 ? ' all' : ''
  return (
    <>
      {u.state === 'paused' && accepts(u, 'resume') ? <Act kind="first" label="Resume" busy="Resuming…" act={actOn(u.name, 'resume')} name={`Resume ${nameOf(u.name)}`} /> : null}
      <Act kind={u.state === 'paused' ? 'quiet' : 'first'} label={`Retry${all} now`} busy="Asking…" act={actOn(u.name, 'now')} name={`Retry${all} now for ${nameOf(u.name)}`} />
      <Act label={`Give up${all}`} busy="Giving up…" act={actOn(u.name, 'give-up')} name={`Give up${all} for ${nameOf(u.name)}`} {...(n > 1 ? { sure: `Give up ${plural(n, 'call')}?` } : {})} />
      {u.state !== 'paused' && accepts(u, 'pause') ? <Act kind="quiet" label="Pause" act={actOn(u.name, 'pause')} name={`Pause ${nameOf(u.name)}`} /> : null}
    </>
  )
}

// useRow returns a row that is drawn again when it changes while in view.
function useRow<V>(row: { value: V; peek: () => V } | undefined) {
  const ref = useRef<HTMLLIElement>(null)
  const [inView, set] = useState(true)
  useEffect(() => (ref.current ? observe(ref.current, set) : undefined), [])
  return [ref, inView ? row?.value : row?.peek()] as const
}

function CallRow({ id }: { id: number }) {
  const [ref, w] = useRow(waits.row(id))
  if (!w) return null
  const caller = callerOf(w)
  const act = (what: string) => () => post(`waits/${id}`, { do: what })
  return (
    <li ref={ref}>
      <When of={w} />
      <span class="who"><b>{caller}</b>{w.session && w.session !== caller ? <span class="session" title={w.session}>{w.session.slice(0, 8)}</span> : null}</span>
      <span class="model">{w.model}</span>
      <Spent of={w} />
      <span class="acts">
        <Act label="Retry now" busy="Asking…" act={act('now')} name={`Retry now: ${caller}, request ${id}`} />
        {w.next ? <Act kind="quiet" label={`Use ${w.next}`} busy="Switching…" act={act('skip')} name={`Use ${w.next}: ${caller}, request ${id}`} /> : null}
        <Act kind="quiet" label="Give up" busy="Giving up…" act={act('give-up')} name={`Give up: ${caller}, request ${id}`} />
      </span>
      {w.afterContent ? <span class="cached" title={afterContentMeans}>{afterContent}</span> : null}
      {w.cachedUntil ? <span class="cached" title={plural(w.cacheTokens ?? 0, 'token')}>{cached(w.cachedUntil)}</span> : null}
    </li>
  )
}

function TurnRow({ id }: { id: string }) {
  const [ref, t] = useRow(turns.row(id))
  if (!t) return null
  const title = t.title ?? t.conversation
  const act = (what: string, body?: unknown) => () => post(`conversations/${part(t.conversation)}/${what}`, body)
  return (
    <li ref={ref}>
      <When of={t} />
      <span class="who"><a href={`#/chat/${part(t.conversation)}`}>{title}</a></span>
      <span class="model">{t.model}</span>
      <Spent of={t} />
      <span class="acts">
        <Act label="Retry now" busy="Asking…" act={act('now')} name={`Retry now: ${title}`} />
        <Act kind="quiet" label="Give up" busy="Giving up…" act={act('stop', { turnId: t.turn })} name={`Give up: ${title}`} />
      </span>
    </li>
  )
}

// When shows the next try of a row.
function When({ of: w }: { of: AnyWait }) {
  const due = dueOf(w)
  if (!Number.isFinite(due)) return <span class="when">{w.state === 'queued' ? 'queued' : stateWords[w.state]}</span>
  return <span class="when"><Countdown due={due} at={w.due} brief /></span>
}

const day = 24 * 3_600_000

// Spent shows the retries of a row, how long it has waited, and what is left of its budget.
function Spent({ of: w }: { of: AnyWait }) {
  const now = w.due ? Date.parse(w.due) - w.remainingMs : Date.parse(w.began) + w.waitedMs // on the server's clock
  const left = w.deadline ? Date.parse(w.deadline) - now : 0
  return (
    <span class="spent" title={w.message}>
      <span>{causeOf(w)}{w.opensAt && Number.isFinite(dueOf(w)) ? <>, {verb(w)} <Countdown due={dueOf(w)} at={w.due} /></> : null}</span>
      <span>retry {w.retries + 1}{w.maxRetries ? ` of ${w.maxRetries}` : ''}</span>
      <span>since {dated(w.began)}</span>
      {left > 0 ? <span>gives up {(left < day ? clock : dated)(w.deadline ?? '')} ({roughly(left)} left)</span> : null}
    </span>
  )
}

// Recent shows the waits that have ended since the page was opened.
function Recent() {
  if (ends.value.length === 0) return null
  return (
    <section class="recent" aria-labelledby="recent">
      <h2 id="recent">Recently</h2>
      <ol>
        {ends.value.map((e) => (
          <li key={e.n} class={e.how}>
            <span class="glyph" aria-hidden="true">{e.how === 'recovered' ? '✓' : e.how === 'failed' ? '✗' : '·'}</span>
            <time dateTime={e.at}>{clock(e.at)}</time>
            <span>{endText(e)}</span>
            <span class="aside">{nameOf(e.upstream)}{e.calls === 1 ? ' · ' : ''}{e.calls > 1 ? '' : e.conversation ? <a href={`#/chat/${part(e.conversation)}`}>{e.caller}</a> : e.caller}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
