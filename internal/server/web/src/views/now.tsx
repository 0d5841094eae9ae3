// Now: the waits of each upstream, with their countdowns and buttons.
import { useEffect, useRef, useState } from 'preact/hooks'

import { announce, endText } from '../announce'
import type { Incident, Upstream } from '../api'
import { part, post } from '../call'
import { alike, conversationsOf, groups, type Fold, type Group, type Node } from '../groups'
import { nextOf, type AnyWait, type Next } from '../next'
import { callerOf, ends, hello, incidents, loaded, lostAt, serverNow, type End, turns, unlisted, upstreams, waiting, waits } from '../store'
import type { Received } from '../table'
import { Countdown, observe } from '../ticker'
import { clock, dated, until } from '../time'
import { afterContent, attempt, cached, capital, causeOf, held, plural, probeMeans, recoveryNotice, stateWords, vendorSays, verb, waitsFor } from '../words'
import { Move } from './move'
import { Act, Mark, nameOf, wordOf } from './parts'
import { TimeLine } from './now-line'
import { Healthy } from './requests'
import { Spark } from './traffic'
import { Usual } from './usual'

export function Now() {
  const n = waiting.value
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>{loaded.value ? headline(n) : 'Loading…'}</h1>
        <p>{loaded.value ? <Lead n={n} /> : ''}</p>
      </header>
      {loaded.value && n > 0 ? <TimeLine /> : null}
      {alike(groups.value, (g) => capital(reasonOf(g.first.wait))).map((g) => ('reason' in g ? <Alike key={g.reason} reason={g.reason} of={g.of} /> : <Waiting key={g.name} of={g} />))}
      {unlisted.value > 0 ? <p class="aside">And {plural(unlisted.value, 'more conversation waits', 'more conversations wait')}, which are not listed.</p> : null}
      {n > 0 ? <Recent /> : null}
      {n === 0 && loaded.value ? <Healthy strip={<><Strip />{lately() ? <TimeLine /> : null}<News /></>} /> : null}
    </>
  )
}

function headline(n: number): string {
  if (lostAt.value !== null) return n > 0 ? `${plural(n, 'call')} waited when last seen` : 'Nothing waited when last seen'
  return n > 0 ? `${plural(n, 'call')} ${n === 1 ? 'waits' : 'wait'}` : 'Nothing waits'
}

function Lead({ n }: { n: number }) {
  if (lostAt.value !== null) return <>What has happened since is not known here.</>
  return n > 0 ? <>Nothing is lost: each continues by itself when its provider answers.</> : <Calm />
}

// Calm shows the upstreams that are not operational, where nothing waits.
function Calm() {
  const asked = upstreams.keys.value.map((k) => upstreams.row(k)?.value).filter((u) => u && u.state !== 'no-data')
  const bad = asked.filter((u) => u?.state !== 'operational')
  if (bad.length === 0) return <>{asked.length > 0 ? 'Requests pass. ' : ''}When a provider fails, the calls that wait for it are shown here.</>
  return <>{bad.map((u) => u && <a class="pill" href="#/upstreams" key={u.name}><Mark state={u.state} />{nameOf(u.name)}: {wordOf(u.state).toLowerCase()}</a>)}</>
}

const rowsBound = 100 // rows that are shown before the user asks for all

// Alike is many upstreams whose calls wait for one reason: a line each, until it is opened.
function Alike({ reason, of: all }: { reason: string; of: Group[] }) {
  const calls = all.reduce((n, g) => n + g.calls, 0)
  const says = `${reason}: ${plural(calls, 'call')} wait for ${plural(all.length, 'upstream')}`
  useEffect(() => announce('alike ' + reason, says, says + '.'))
  return (
    <section class="alike" aria-label={says}>
      <h2><Mark state="waiting" /><span>{plural(all.length, 'upstream')}: {reason.toLowerCase()} <span class="aside">({plural(calls, 'call')})</span></span></h2>
      <ul>{all.map((g) => <AlikeRow key={g.name} of={g} />)}</ul>
    </section>
  )
}

function AlikeRow({ of: g }: { of: Group }) {
  const [open, set] = useState(false)
  return (
    <li>
      <details open={open} onToggle={(e) => set(e.currentTarget.open)}>
        <summary><b>{nameOf(g.name)}</b><When of={g.first.next} /><span class="aside">{plural(g.calls, 'call')}</span></summary>
        {open ? <Waiting of={g} /> : null}
      </details>
    </li>
  )
}

function Waiting({ of: g }: { of: Group }) {
  return (
    <section class={g.name.startsWith('conversations:') ? 'held of-turns' : 'held'} aria-label={`Waiting for ${nameOf(g.name)}`}>
      <Head of={g} />
      <Nodes of={g.nodes} />
    </section>
  )
}

// Nodes are rows; of a long list the first, until the user asks for all.
function Nodes({ of: nodes }: { of: Node[] }) {
  const [all, showAll] = useState(false)
  const listed = all ? nodes : nodes.slice(0, rowsBound)
  const more = nodes.length - listed.length
  return (
    <>
      <ul class="rows">
        {useElements(listed)}
      </ul>
      {more > 0 && <p class="more"><button type="button" onClick={() => showAll(true)}>Show {plural(more, 'more', 'more')}</button></p>}
    </>
  )
}

// useElements returns the rows of nodes. That of a call or a turn stays the same element: it is drawn again when it
// has changed, and not with its list.
function useElements(nodes: Node[]): preact.VNode[] {
  const kept = useRef(new Map<Node, preact.VNode>())
  const before = kept.current
  kept.current = new Map()
  return nodes.map((n) => {
    if (typeof n === 'object') return <FoldRow key={n.key} of={n} />
    const row = before.get(n) ?? (typeof n === 'number' ? <CallRow key={n} id={n} /> : <TurnRow key={n} id={n} />)
    kept.current.set(n, row)
    return row
  })
}

// FoldRow is many calls of one program or session, which are listed once it is opened.
function FoldRow({ of: f }: { of: Fold }) {
  const [open, set] = useState(false)
  const many = plural(f.calls, f.name === conversationsOf ? 'turn' : 'call') + (f.sessions > 1 ? ` in ${plural(f.sessions, 'session')}` : '')
  return (
    <li class="fold">
      <details open={open} onToggle={(e) => set(e.currentTarget.open)}>
        <summary>
          <When of={f.first.next} />
          <span class="who"><b>{f.name || 'session'}</b>{f.session ? <span class="session" title={f.session}>{f.session.slice(0, 8)}</span> : null}</span>
          <span class="model">{f.models.slice(0, 2).join(', ')}{f.models.length > 2 ? ` and ${plural(f.models.length - 2, 'more', 'more')}` : ''}</span>
          <span class="spent"><b>{many}</b><span>since {dated(f.began)}</span></span>
        </summary>
        {open ? <Nodes of={f.nodes} /> : null}
      </details>
    </li>
  )
}

function Head({ of: g }: { of: Group }) {
  const row = upstreams.keys.value.includes(g.name) ? upstreams.row(g.name) : undefined
  const u = row?.value
  const n = g.calls
  const { wait: w, next } = g.first
  useEffect(() => {
    if (lostAt.value !== null) return
    const left = next.due - performance.now()
    const when = Number.isFinite(left) ? `, ${verb(w)} ${until(left, next.at)}` : ''
    const subject = n > 1 ? `${plural(n, 'call')} wait for ${nameOf(g.name)}` : `1 call waits for ${nameOf(g.name)}`
    announce(g.name, `${n > 1} ${w.retries} ${when === ''}`, `${subject}: ${reasonOf(w)}${when}${w.kind ? ` (${attempt(w)})` : ''}.`)
  })
  return (
    <header>
      <h2><Mark state={u && u.state !== 'operational' && u.state !== 'no-data' ? u.state : 'waiting'} />{nameOf(g.name)}</h2>
      <p class="sentence"><Sentence of={w} next={next} n={n} upstream={u} /></p>
      {w.message && <p class="words">{w.message}</p>}
      {u?.vendor ? <p class="vendor">{vendorSays(u.vendor)}</p> : null}
      {w.opensAt || u?.state === 'paused' ? null : <Usual upstream={g.name} />}
      <p class="acts">{u ? <UpstreamActs of={u} n={n} /> : null}</p>
    </header>
  )
}

// reasonOf says why a call waits, in plain words. Before its first try it may wait for a place, or in a pause.
const reasonOf = (w: AnyWait): string => (w.kind ? causeOf(w) : 'not tried yet')

function Sentence({ of: w, next, n, upstream: u }: { of: AnyWait; next: Next; n: number; upstream: Received<Upstream> | undefined }) {
  if (lostAt.value !== null) return <>{u?.state === 'paused' ? 'Paused' : capital(reasonOf(w))}<span class="aside"> ({plural(n, 'call')})</span></>
  if (u?.state === 'paused') return <>Paused — {n === 1 ? 'it waits' : `${plural(n, 'call')} wait`} until it is resumed</>
  if (u?.state === 'recovering') return <>Recovered — the waiting calls are sent one after the other</>
  const { what, due, at } = next
  return (
    <>
      {capital(reasonOf(w))} — {Number.isFinite(due) ? <>{verb(w)} <Countdown due={due} at={at} />{w.opensAt ? '' : '…'}</> : <>{stateWords[what]}…</>}
      {n === 1 ? <span class="aside">{w.opensAt || !w.kind ? '' : ` (${attempt(w)})`}</span> : <span class="aside"> ({plural(n, 'call')})</span>}
    </>
  )
}

// accepts reports whether an upstream takes an action.
export const accepts = (u: Upstream, what: string): boolean => u.actions?.includes(what) ?? true

export const actOn = (u: string, what: string) => () => post(`upstreams/${part(u)}`, { do: what })

// UpstreamActs are the actions on all waits for an upstream.
function UpstreamActs({ of: u, n }: { of: Upstream; n: number }) {
  const all = n > 1 ? ' all' : ''
  return (
    <>
      {u.state === 'paused' && accepts(u, 'resume') ? <Act kind="first" label="Resume" busy="Resuming…" act={actOn(u.name, 'resume')} name={`Resume ${nameOf(u.name)}`} /> : null}
      <Act {...(u.state === 'paused' ? {} : { kind: 'first' })} label={`Retry${all} now`} busy="Asking…" act={actOn(u.name, 'now')} name={`Retry${all} now for ${nameOf(u.name)}`} />
      {u.state !== 'paused' && accepts(u, 'pause') ? <Act label="Pause" act={actOn(u.name, 'pause')} name={`Pause ${nameOf(u.name)}`} /> : null}
      <Act kind="quiet" label={`Give up${all}`} busy="Giving up…" act={actOn(u.name, 'give-up')} name={`Give up${all} for ${nameOf(u.name)}`} {...(n > 1 ? { sure: `Give up ${plural(n, 'call')}?` } : {})} />
    </>
  )
}

// useRow returns a row that is drawn again when it changes while in view.
function useRow<V>(row: { value: V; peek: () => V } | undefined) {
  const ref = useRef<HTMLLIElement>(null)
  const [inView, set] = useState(true)
  useEffect(() => (ref.current ? observe(ref.current, set) : undefined), [])
  return [ref, inView ? row?.value : row?.peek(), inView] as const
}

// comesNext returns what comes next for a row, which is drawn again when its upstream changes while it is in view.
function comesNext(w: AnyWait, upstream: string, inView: boolean): Next {
  if (!inView) return nextOf(w, upstreams.peek(upstream))
  void upstreams.keys.value
  return nextOf(w, upstreams.row(upstream)?.value)
}

function CallRow({ id }: { id: number }) {
  const [ref, w, inView] = useRow(waits.row(id))
  if (!w) return null
  const next = comesNext(w, w.upstream, inView)
  const caller = callerOf(w)
  const name = `: ${caller}, request ${id}`
  const act = (what: string) => () => post(`waits/${id}`, { do: what })
  return (
    <li ref={ref}>
      <When of={next} />
      <span class="who"><b>{caller}</b>{w.session && w.session !== caller ? <span class="session" title={w.session}>{w.session.slice(0, 8)}</span> : null}</span>
      <span class="model">{w.model}</span>
      <Spent of={w} next={next} replica={w.replica ?? hello.value?.replica} />
      <span class="acts">
        {w.state === 'paused' ? <Act label="Resume" act={act('resume')} name={`Resume${name}`} /> : null}
        <Act {...(w.state === 'paused' ? { kind: 'quiet' } : {})} label="Retry now" busy="Asking…" act={act('now')} name={`Retry now${name}`} />
        {w.next ? <Act kind="quiet" label={`Move to ${w.next}`} busy="Moving…" act={act('skip')} name={`Move to ${w.next}${name}`} /> : null}
        {w.state === 'paused' ? null : <Act kind="quiet" label="Pause" act={act('pause')} name={`Pause${name}`} />}
        <Act kind="quiet" label="Give up" busy="Giving up…" act={act('give-up')} name={`Give up${name}`} />
      </span>
      {w.afterContent ? <span class="cached">{afterContent}</span> : null}
      {w.cachedUntil ? <span class="cached" title={plural(w.cacheTokens ?? 0, 'token')}>{cached(w.cachedUntil)}</span> : null}
    </li>
  )
}

function TurnRow({ id }: { id: string }) {
  const [ref, t, inView] = useRow(turns.row(id))
  if (!t) return null
  const next = comesNext(t, t.upstream ?? t.provider, inView)
  const title = t.title || 'Conversation'
  const act = (what: string, body?: unknown) => () => post(`conversations/${part(t.conversation)}/${what}`, body)
  return (
    <li ref={ref}>
      <When of={next} />
      <span class="who"><a href={`#/chat/${part(t.conversation)}`}>{title}</a></span>
      <span class="model">{t.model}</span>
      <Spent of={t} next={next} />
      <span class="acts">
        {t.state === 'paused'
          ? <Act label="Resume" act={act('resume')} name={`Resume: ${title}`} />
          : <Act label="Retry now" busy="Asking…" act={act('now')} name={`Retry now: ${title}`} />}
        <Move conversation={t.conversation} title={title} />
        {t.state === 'paused' ? null : <Act kind="quiet" label="Pause" act={act('pause')} name={`Pause: ${title}`} />}
        <Act kind="quiet" label="Stop" busy="Stopping…" act={act('stop', { turnId: t.turn })} name={`Stop: ${title}`} />
      </span>
    </li>
  )
}

// When shows what comes next for a row.
function When({ of: { what, due, at } }: { of: Next }) {
  return <span class="when">{Number.isFinite(due) ? <Countdown due={due} at={at} brief /> : stateWords[what]}</span>
}

const day = 24 * 3_600_000

// Spent shows the retries of a row, how long it has waited, what is left of its budget, and which gateway of a fleet
// has it.
function Spent({ of: w, next, replica }: { of: AnyWait; next: Next; replica?: string | undefined }) {
  const now = w.due ? Date.parse(w.due) - w.remainingMs : Date.parse(w.began) + w.waitedMs // on the server's clock
  const left = w.deadline ? Date.parse(w.deadline) - now : 0
  return (
    <span class="spent" title={w.message}>
      <span>{reasonOf(w)}</span>
      {waitsFor[next.what] ? <span title={next.what === 'queued' ? undefined : probeMeans}>{waitsFor[next.what]}</span> : null}
      {w.kind ? <span>retry {w.retries + 1}{w.maxRetries ? ` of ${w.maxRetries}` : ''}</span> : null}
      <span>since {dated(w.began)}</span>
      {left > 0 ? <span>gives up {(left < day ? clock : dated)(w.deadline ?? '')}</span> : null}
      {replica ? <span>at {replica}</span> : null}
    </span>
  )
}

const lateness = 180_000 // ms after an incident in which its end is still drawn

// lately reports whether an incident ended a moment ago: the calls that it held fan out on the time line.
function lately(): boolean {
  void incidents.version.value
  return [...incidents.all()].some((i) => i.calls > 0 && serverNow() - Date.parse(i.ended ?? '') < lateness)
}

// stripState says how many of the upstreams that were asked answer.
function stripState(well: number, all: number): string {
  const did = lostAt.value === null ? (well === 1 ? 'answers' : 'answer') : 'answered when last seen'
  if (all === 0) return 'No upstream was asked lately'
  if (well < all) return `${well} of ${plural(all, 'upstream')} ${did}`
  return all === 1 ? `The upstream ${did}` : `All ${all} upstreams ${did}`
}

// Strip is what there is to see when all is well: the state, the traffic, and what was held.
function Strip() {
  void upstreams.version.value
  const asked = [...upstreams.all()].filter((u) => u.state !== 'no-data')
  const well = asked.filter((u) => u.state === 'operational')
  const state = asked.find((u) => u.state !== 'operational')?.state ?? (asked.length > 0 ? 'operational' : 'no-data')
  return (
    <section class="strip" aria-label="All in one line">
      <p class="state"><Mark state={state} />{stripState(well.length, asked.length)}</p>
      <Spark />
      <p class="saved">{held(asked.flatMap((u) => u.saved ?? []))}</p>
    </section>
  )
}

const newsShown = 3

// News are the last events: how waits ended, and the beginnings and ends of incidents.
function News() {
  void incidents.version.value
  const known = [...incidents.all()].slice(0, 10)
  const told = [
    ...ends.value.map((e) => ({ at: e.at, row: <EndRow key={'end' + e.n} of={e} /> })),
    ...known.map((i) => ({ at: i.began, row: <NewsRow key={'began' + i.id} of={i} at={i.began} says={`${nameOf(i.upstream)} fails: ${causeOf(i.kinds[0] ?? {})}`} how="failed" /> })),
    ...known.flatMap((i) => (i.ended && i.recoveredMs !== undefined ? [{ at: i.ended, row: <NewsRow key={'ended' + i.id} of={i} at={i.ended} says={recoveryNotice(i)} how="recovered" /> }] : [])),
  ].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, newsShown)
  return told.length === 0 ? null : (
    <section class="recent" aria-labelledby="recent">
      <h2 id="recent">The last events</h2>
      <ol>{told.map((e) => e.row)}</ol>
    </section>
  )
}

function NewsRow({ of: i, at, says, how }: { of: Incident; at: string; says: string; how: string }) {
  return (
    <li class={how}>
      <span class="glyph" aria-hidden="true">{how === 'recovered' ? '✓' : '▲'}</span>
      <time dateTime={at}>{dated(at)}</time>
      <a href={`#/incidents/${part(i.id)}`}>{says}</a>
    </li>
  )
}

function EndRow({ of: e }: { of: End }) {
  return (
    <li class={e.how}>
      <span class="glyph" aria-hidden="true">{e.how === 'recovered' ? '✓' : e.how === 'failed' ? '✗' : '·'}</span>
      <time dateTime={e.at}>{clock(e.at)}</time>
      <span>{endText(e)}</span>
      <span class="aside">{nameOf(e.upstream)}{e.calls === 1 ? ' · ' : ''}{e.calls > 1 ? '' : e.conversation ? <a href={`#/chat/${part(e.conversation)}`}>{e.caller}</a> : e.caller}</span>
    </li>
  )
}

// Recent shows the waits that have ended since the page was opened.
function Recent() {
  if (ends.value.length === 0) return null
  return (
    <section class="recent" aria-labelledby="recent">
      <h2 id="recent">Recently</h2>
      <ol>
        {ends.value.map((e) => <EndRow key={e.n} of={e} />)}
      </ol>
    </section>
  )
}
