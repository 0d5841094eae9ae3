// Now: who waits, for what, until when, and the two buttons.
import { computed } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

import { part, post } from '../call'
import { announce, result } from '../say'
import type { TurnWait, Upstream, Wait } from '../shapes'
import { caller, ends, known, turns, unlisted, upstreams, waiting, waits } from '../store'
import type { Told } from '../table'
import { Countdown, seen } from '../ticker'
import { clock, dated, roughly, until } from '../time'
import { attempt, capital, causeOf, plural } from '../words'
import { Act, Mark, named, wordOf } from './parts'

// Group is all that waits for one upstream.
interface Group {
  name: string
  calls: readonly number[]
  turns: readonly string[]
  first: Told<Wait | TurnWait> // that is tried next
}

let before: readonly Group[] = []

// groups sorts what waits by whom it waits for. One that has not changed stays
// the same object, so that nothing is drawn again for it.
const groups = computed(() => {
  void waits.version.value
  void turns.version.value
  const by = new Map<string, { calls: number[]; turns: string[]; first: Told<Wait | TurnWait> }>()
  const at = (name: string, w: Told<Wait | TurnWait>) => {
    const g = by.get(name) ?? { calls: [], turns: [], first: w }
    if (sooner(w, g.first)) g.first = w
    by.set(name, g)
    return g
  }
  for (const w of waits.all()) at(w.upstream, w).calls.push(w.id)
  for (const t of turns.all()) at(t.upstream ?? t.provider, t).turns.push(t.conversation)
  before = [...by].map(([name, g]) => settled({ name, ...g }))
  return before
})

function settled(g: Group): Group {
  const old = before.find((o) => o.name === g.name)
  if (!old) return g
  const same = (a: readonly unknown[], b: readonly unknown[]) => a.length === b.length && a.every((v, i) => v === b[i])
  const calls = same(old.calls, g.calls) ? old.calls : g.calls
  const tasks = same(old.turns, g.turns) ? old.turns : g.turns
  return calls === old.calls && tasks === old.turns && old.first === g.first ? old : { ...g, calls, turns: tasks }
}

const dueOf = (w: Told<Wait | TurnWait>): number => (w.state === 'waiting' && w.due ? w.told + w.remainingMs : Infinity)

// Next is the next try of all that wait for an upstream: that of a call, or one
// with which the gateway finds out earlier whether it is back.
interface Next {
  due: number
  at: string | undefined
}

function nextOf(w: Told<Wait | TurnWait>, u: Told<Upstream> | undefined): Next {
  const own = { due: dueOf(w), at: w.due }
  const probe = u?.untilMs === undefined ? Infinity : u.told + u.untilMs
  return probe < own.due ? { due: probe, at: u?.until } : own
}

const sooner = (a: Told<Wait | TurnWait>, b: Told<Wait | TurnWait>): boolean => dueOf(a) < dueOf(b)

export function Now() {
  const all = groups.value
  const n = waiting.value
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>{n > 0 ? `${plural(n, 'call')} ${n === 1 ? 'waits' : 'wait'}` : known.value ? 'Nothing waits' : 'Looking…'}</h1>
        <p>{n > 0 ? 'Nothing is lost: each goes on by itself when its provider answers.' : known.value ? <Calm /> : ''}</p>
      </header>
      {all.map((g) => <Waiting key={g.name} of={g} />)}
      {unlisted.value > 0 ? <p class="aside">And {plural(unlisted.value, 'more conversation waits', 'more conversations wait')}, which are not listed.</p> : null}
      <Lately />
    </>
  )
}

// Calm says how the upstreams are where nobody waits for them.
function Calm() {
  const bad = upstreams.keys.value.map((k) => upstreams.row(k)?.value).filter((u) => u && u.state !== 'operational' && u.state !== 'no-data')
  if (bad.length === 0) return <>Requests pass. When a provider fails, who waits for it is shown here.</>
  return <>{bad.map((u) => u && <a class="pill" href="#/upstreams" key={u.name}><Mark state={u.state} />{named(u.name)}: {wordOf(u.state).toLowerCase()}</a>)}</>
}

const bound = 100 // rows that are shown before somebody asks for all

function Waiting({ of: g }: { of: Group }) {
  const [whole, show] = useState(false)
  const n = g.calls.length + g.turns.length
  const calls = whole ? g.calls : g.calls.slice(0, bound)
  const tasks = whole ? g.turns : g.turns.slice(0, bound)
  const more = n - calls.length - tasks.length
  return (
    <section class="held" aria-label={`Waiting for ${named(g.name)}`}>
      <Head of={g} n={n} />
      <ul class="rows">
        {tasks.map((id) => <TurnRow key={id} id={id} />)}
        {calls.map((id) => <CallRow key={id} id={id} />)}
      </ul>
      {more > 0 && <p class="more"><button type="button" onClick={() => show(true)}>Show {plural(more, 'more', 'more')}</button></p>}
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
    const when = Number.isFinite(left) ? `, retrying ${until(left, next.at)}` : ''
    const who = n > 1 ? `${plural(n, 'call')} wait for ${named(g.name)}` : `1 call waits for ${named(g.name)}`
    announce(g.name, `${n > 1} ${w.retries} ${u?.state ?? ''}`, `${who}: ${causeOf(w)}${when} (${attempt(w)}).`)
  })
  return (
    <header>
      <h2><Mark state={u && u.state !== 'operational' && u.state !== 'no-data' ? u.state : 'waiting'} />{named(g.name)}</h2>
      <p class="sentence"><Sentence of={w} n={n} upstream={u} /></p>
      {w.message && <p class="words">{w.message}</p>}
      <p class="acts">{u ? <UpstreamActs of={u} n={n} /> : null}</p>
    </header>
  )
}

function Sentence({ of: w, n, upstream: u }: { of: Told<Wait | TurnWait>; n: number; upstream: Told<Upstream> | undefined }) {
  if (u?.state === 'paused') return <>Paused — {n === 1 ? 'it waits' : `${plural(n, 'call')} wait`} until somebody resumes it</>
  if (u?.state === 'recovering') return <>Back again — who waited goes out, one after the other</>
  const { due, at } = nextOf(w, u)
  return (
    <>
      {capital(causeOf(w))} — {Number.isFinite(due) ? <>retrying <Countdown due={due} at={at} />…</> : <>{stateWords[w.state]}…</>}
      {n === 1 ? <span class="aside"> ({attempt(w)})</span> : <span class="aside"> ({plural(n, 'call')})</span>}
    </>
  )
}

const stateWords = { waiting: 'waiting', trying: 'trying now', queued: 'waiting behind the one that is tried', paused: 'paused' }

// may tells whether something can be done for all that wait for an upstream.
export const may = (u: Upstream, what: string): boolean => u.actions?.includes(what) ?? true

export const actOn = (u: string, what: string) => () => post(`upstreams/${part(u)}`, { do: what })

// UpstreamActs are what can be done for all that wait for an upstream.
function UpstreamActs({ of: u, n }: { of: Upstream; n: number }) {
  const all = n > 1 ? ' all' : ''
  return (
    <>
      {u.state === 'paused' && may(u, 'resume') ? <Act kind="first" label="Resume" busy="Resuming…" act={actOn(u.name, 'resume')} name={`Resume ${named(u.name)}`} /> : null}
      <Act kind={u.state === 'paused' ? 'quiet' : 'first'} label={`Retry${all} now`} busy="Asking…" act={actOn(u.name, 'now')} name={`Retry${all} now for ${named(u.name)}`} />
      <Act label={`Give up${all}`} busy="Giving up…" act={actOn(u.name, 'give-up')} name={`Give up${all} for ${named(u.name)}`} {...(n > 1 ? { sure: `Give up ${plural(n, 'call')}?` } : {})} />
      {u.state !== 'paused' && may(u, 'hold') ? <Act kind="quiet" label="Pause" act={actOn(u.name, 'hold')} name={`Pause ${named(u.name)}`} /> : null}
    </>
  )
}

// useRow gives a row, drawn again as it changes while it is in view.
function useRow<V>(row: { value: V; peek: () => V } | undefined) {
  const ref = useRef<HTMLLIElement>(null)
  const [inView, set] = useState(true)
  useEffect(() => (ref.current ? seen(ref.current, set) : undefined), [])
  return [ref, inView ? row?.value : row?.peek()] as const
}

function CallRow({ id }: { id: number }) {
  const [ref, w] = useRow(waits.row(id))
  if (!w) return null
  const who = caller(w)
  const act = (what: string) => () => post(`waits/${id}`, { do: what })
  return (
    <li ref={ref}>
      <When of={w} />
      <span class="who"><b>{who}</b>{w.session && w.session !== who ? <span class="session" title={w.session}>{w.session.slice(0, 8)}</span> : null}</span>
      <span class="model">{w.model}</span>
      <Spent of={w} />
      <span class="acts">
        <Act label="Retry now" busy="Asking…" act={act('now')} name={`Retry now: ${who}, request ${id}`} />
        <Act kind="quiet" label="Give up" busy="Giving up…" act={act('give-up')} name={`Give up: ${who}, request ${id}`} />
      </span>
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

// When says when a row is tried next.
function When({ of: w }: { of: Told<Wait | TurnWait> }) {
  const due = dueOf(w)
  if (!Number.isFinite(due)) return <span class="when">{w.state === 'queued' ? 'queued' : stateWords[w.state]}</span>
  return <span class="when"><Countdown due={due} at={w.due} brief /></span>
}

const day = 24 * 3_600_000

// Spent says how often a row was tried, since when it waits, and what it still
// has; the cause, where it is another one than that of the group, is a title.
function Spent({ of: w }: { of: Told<Wait | TurnWait> }) {
  const now = w.due ? Date.parse(w.due) - w.remainingMs : Date.parse(w.began) + w.waitedMs // by the server's clock
  const left = w.deadline ? Date.parse(w.deadline) - now : 0
  return (
    <span class="spent" title={w.message}>
      <span>{causeOf(w)}</span>
      <span>retry {w.retries + 1}{w.maxRetries ? ` of ${w.maxRetries}` : ''}</span>
      <span>since {dated(w.began)}</span>
      {left > 0 ? <span>gives up {(left < day ? clock : dated)(w.deadline ?? '')} ({roughly(left)} left)</span> : null}
    </span>
  )
}

// Lately is what has come to its end since the page was opened.
function Lately() {
  if (ends.value.length === 0) return null
  return (
    <section class="lately" aria-labelledby="lately">
      <h2 id="lately">Lately</h2>
      <ol>
        {ends.value.map((e) => (
          <li key={e.n} class={e.how}>
            <span class="glyph" aria-hidden="true">{e.how === 'recovered' ? '✓' : e.how === 'failed' ? '✗' : '·'}</span>
            <time dateTime={e.at}>{clock(e.at)}</time>
            <span>{result(e)}</span>
            <span class="aside">{named(e.upstream)}{e.calls === 1 ? ' · ' : ''}{e.calls > 1 ? '' : e.conversation ? <a href={`#/chat/${part(e.conversation)}`}>{e.who}</a> : e.who}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
