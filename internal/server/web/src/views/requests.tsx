// Requests: what waiting has achieved, and the latest requests that have ended, to search and filter.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'

import type { Ended, Outcome } from '../api'
import { part } from '../call'
import { usePolled } from '../polled'
import { upstreams } from '../store'
import { dated, moment, roughly } from '../time'
import { capital, count, held, outcomes, plural } from '../words'
import { Missing, nameOf } from './parts'
import { Setup } from './setup'
import { Traffic } from './traffic'

const text = signal('')
const upstream = signal('')
const outcome = signal<Outcome | ''>('')

const shownAtFirst = 25
const bound = 1000 // that the server keeps
const typingTime = 250
const pollTime = 5000

// useSettled returns a value once it has not changed for a moment.
function useSettled(value: string): string {
  const [settled, set] = useState(value)
  useEffect(() => {
    const timer = setTimeout(set, typingTime, value)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

export function RequestsView() {
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Requests</h1>
        <p>The latest requests, how they ended and how long they took. Prompts and answers are not shown.</p>
      </header>
      <Healthy />
    </>
  )
}

// Healthy is the view without its title. When nothing waits, the first view has it below a strip.
export function Healthy({ strip }: { strip?: preact.ComponentChildren }) {
  void upstreams.version.value
  const [any, failed] = usePolled<{ all: number }>('requests?limit=1', pollTime)
  if (!any) return <Missing what="The latest requests" failed={failed} />
  const all = [...upstreams.all()]
  if (any.all === 0 && all.every((u) => !u.lastSuccess)) return <Setup />
  return (
    <>
      {strip ?? <><p class="saved lead">{held(all.flatMap((u) => u.saved ?? []))}</p><Traffic /></>}
      <Latest upstreams={all.filter((u) => u.lastSuccess || u.state !== 'no-data').map((u) => u.name)} />
    </>
  )
}

function Latest({ upstreams }: { upstreams: string[] }) {
  const [all, showAll] = useState(false)
  const query = new URLSearchParams({ limit: String(all ? bound : shownAtFirst) })
  const words = useSettled(text.value.trim())
  for (const [name, value] of [['text', words], ['upstream', upstream.value], ['outcome', outcome.value]] as const) if (value) query.set(name, value)
  const [answer, failed] = usePolled<{ all: number; requests: Ended[] }>(`requests?${query}`, pollTime)
  const shown = answer?.requests ?? []
  const more = (answer?.all ?? 0) - shown.length
  return (
    <section class="requests" aria-labelledby="requests">
      <h2 id="requests">Recent requests</h2>
      <form class="filters" role="search" aria-label="Recent requests" onSubmit={(e) => e.preventDefault()}>
        <label>Search<input type="search" placeholder="program, session, model or cause" value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} /></label>
        <Choice label="Upstream" of={upstreams.map((u) => [u, nameOf(u)])} value={upstream.value} choose={(v) => (upstream.value = v)} />
        <Choice label="Outcome" of={Object.entries(outcomes).map(([o, words]) => [o, capital(words)])} value={outcome.value} choose={(v) => (outcome.value = v as Outcome | '')} />
      </form>
      {answer ? null : <Missing what="The latest requests" failed={failed} />}
      {answer && shown.length === 0 ? <p class="aside">{query.size > 1 ? 'No request matches.' : 'None so far.'}</p> : null}
      {shown.length > 0 ? <Listed of={shown} /> : null}
      {more > 0 && !all ? <p><button type="button" onClick={() => showAll(true)}>Show {plural(more, 'more', 'more')}</button></p> : null}
    </section>
  )
}

function Choice({ label, of, value, choose }: { label: string; of: [string, string][]; value: string; choose: (v: string) => void }) {
  return (
    <label>{label}
      <select value={value} onChange={(e) => choose(e.currentTarget.value)}>
        <option value="">All</option>
        {of.map(([v, name]) => <option key={v} value={v}>{name}</option>)}
      </select>
    </label>
  )
}

const glyphs: Record<Outcome, string> = { answered: '✓', failed: '✗', 'broke-off': '✗', left: '·' }

function Listed({ of: all }: { of: Ended[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Requests that have ended">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th><th scope="col">Outcome</th><th scope="col">Program</th><th scope="col">Model</th><th scope="col">Upstream</th>
            <th scope="col" class="number">Tries</th><th scope="col" class="number">Waited</th><th scope="col" class="number">Took</th><th scope="col" class="number">Tokens in, out</th>
          </tr>
        </thead>
        <tbody>{all.map((r) => <Row key={`${r.turn ?? r.id} ${r.began}`} of={r} />)}</tbody>
      </table>
    </div>
  )
}

const today = new Date().toDateString()

function Row({ of: r }: { of: Ended }) {
  return (
    <tr>
      <th scope="row">{new Date(r.began).toDateString() === today ? moment(r.began) : dated(r.began)}</th>
      <td class={r.outcome}><span class="glyph" aria-hidden="true">{glyphs[r.outcome]}</span> {outcomes[r.outcome]}{r.cause ? `: ${r.cause}` : r.outcome === 'failed' && r.status ? `: ${r.status}` : ''}</td>
      <td class="who"><Caller of={r} /></td>
      <td>{r.model}</td>
      <td>{nameOf(r.upstream)}</td>
      <td class="number">{r.tries}</td>
      <td class="number">{r.waitedMs ? roughly(r.waitedMs) : ''}</td>
      <td class="number">{r.tookMs > 0 ? roughly(r.tookMs) : '< 1ms'}</td>
      <td class="number">{r.inputTokens || r.outputTokens ? `${count(r.inputTokens ?? 0)}, ${count(r.outputTokens ?? 0)}` : ''}</td>
    </tr>
  )
}

// Caller names who asked: a program and the beginning of its session, or the conversation of a turn.
function Caller({ of: r }: { of: Ended }) {
  if (r.turn && r.session) return <a href={`#/chat/${part(r.session)}`}>{r.client}</a>
  return <>{r.client || 'unnamed'}{r.session ? <span class="session" title={r.session}>{r.session.slice(0, 8)}</span> : null}</>
}
