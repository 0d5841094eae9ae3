// Incidents: failures in a row, as one period.
import { useEffect, useRef, useState } from 'preact/hooks'

import type { Course, Incident } from '../api'
import { ask, get, part } from '../call'
import { selected } from '../route'
import { incidents, loaded, lostAt } from '../store'
import { clock, dated, roughly } from '../time'
import { capital, causeOf, plural } from '../words'
import { CourseView } from './course'
import { Act, Copy, Empty, Facts, Mark, nameOf } from './parts'

export function Incidents() {
  const keys = incidents.keys.value
  const unknown = loaded.value && selected.value !== '' && !keys.includes(selected.value)
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Incidents</h1>
        <p>Failures in a row, grouped. A single failed call is not an incident.</p>
      </header>
      {unknown ? <div role="alert"><Empty title="No incident has this address">The latest 200 are kept.</Empty></div> : null}
      {keys.length === 0 && loaded.value && !unknown ? <Empty title="No incident yet">When a provider fails several times in a row, it is recorded here.</Empty> : null}
      <ul class="incidents">{keys.map((k) => <Entry key={k} id={k} />)}</ul>
    </>
  )
}

const isOpen = (i: Incident): boolean => i.open ?? !i.ended

function Entry({ id }: { id: string }) {
  const i = incidents.row(id)?.value
  const chosen = selected.value === id
  const [opened, open] = useState(chosen)
  const ref = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!chosen) return
    open(true)
    ref.current?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  if (!i) return null
  const why = i.kinds.map((k) => `${capital(causeOf(k))}${k.count > 1 ? ` × ${k.count}` : ''}`).join(', ')
  return (
    <li ref={ref} class={isOpen(i) ? 'open' : ''}>
      <details open={opened} onToggle={(e) => open(e.currentTarget.open)}>
        <summary>
          <Mark state={isOpen(i) ? (i.partial ? 'degraded' : 'waiting') : i.recoveredMs === undefined ? 'no-data' : 'operational'} />
          <span class="what"><b>{nameOf(i.upstream)}</b> <span>{why}</span></span>
          <span class="span">{dated(i.began)}{i.ended ? `–${clock(i.ended, Date.parse(i.began))}` : ''}</span>
          <span class="long">{isOpen(i) ? (lostAt.value === null ? 'in progress' : 'in progress when last seen') : i.recoveredMs === undefined ? 'no request since' : `recovered in ${roughly(i.recoveredMs)}`}</span>
        </summary>
        {opened ? <Details of={i} /> : null}
      </details>
    </li>
  )
}

function Details({ of: i }: { of: Incident }) {
  const at = `incidents/${part(i.id)}`
  const report = (kind: string) => async () => (await ask('GET', at, undefined, kind)).text()
  return (
    <>
      {i.message ? <p class="words">{i.message}</p> : null}
      <Went of={i} />
      <Facts
        of={[
          ['Models', (i.models ?? []).filter(Boolean).join(', ') + (i.partial ? '; others were answered' : '')],
          ['Tries', String(i.tries)],
          ['Failures', String(i.failures)],
          ['Callers', String(i.callers)],
          ['Held and answered', plural(i.held, 'call')],
          ['Lost', plural(i.lost, 'call')],
          ['Still waiting', isOpen(i) ? plural(Math.max(0, i.calls - i.held - i.lost), 'call') : ''],
          ['Programs', (i.clients ?? []).map((c) => `${c.client} (${c.calls})`).join(', ')],
          ['Gateways', (i.replicas ?? []).join(', ')],
        ]}
      />
      <p class="acts">
        <a class="button quiet" href={'#/' + at}>Link to this incident</a>
        <Copy label="Copy as text" text={report('text/plain')} />
        <Act always kind="quiet" label="Save as Markdown" act={async () => save(`incident-${i.id}.md`, await report('text/markdown')())} />
        <Act always kind="quiet" label="Save as JSON" act={async () => save(`incident-${i.id}.json`, JSON.stringify(await get(at), null, 2) + '\n')} />
      </p>
    </>
  )
}

const courseTime = 5000 // ms between two requests for the course of an open incident

// Went shows the course. That of an open incident is asked for again when it has changed.
function Went({ of: i }: { of: Incident }) {
  const [course, set] = useState<Course | null>(null)
  const [failed, fail] = useState('')
  const asked = useRef(0)
  const lost = lostAt.value !== null
  const state = `${lost} ${i.id} ${i.failures} ${i.calls} ${i.held} ${i.lost} ${i.ended ?? ''}`
  useEffect(() => {
    if (lost) return
    const load = () => {
      asked.current = performance.now()
      get<{ course: Course }>(`incidents/${part(i.id)}`).then((v) => (set(v.course), fail('')), (e: Error) => fail(e.message))
    }
    const timer = setTimeout(load, asked.current === 0 ? 0 : Math.max(0, asked.current + courseTime - performance.now()))
    return () => clearTimeout(timer)
  }, [state])
  if (course) return <CourseView of={i} course={course} />
  if (lost) return <p class="aside">Its course is loaded when the connection is back.</p>
  return failed ? <p class="failed">Its course could not be loaded: {failed}.</p> : <p class="aside">Loading…</p>
}

// save downloads a text as a file.
function save(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
