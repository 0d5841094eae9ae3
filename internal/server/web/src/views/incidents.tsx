// Incidents: failures in a row, as one period.
import { useEffect, useRef, useState } from 'preact/hooks'

import type { Ended, Incident, Outage } from '../api'
import { ask, get, part } from '../call'
import { countTicks, heldOver, threadOf, timeTicks, valueAt, type Thread } from '../chart'
import { pictureOf } from '../picture'
import { usePolled } from '../polled'
import { selected } from '../route'
import { incidents, loaded, lostAt, serverNow, upstreams, waitingThreads } from '../store'
import { asMarkdown, heldIn, isElsewhere, isOpen, metBy, story, timeOf, type Sentence } from '../story'
import { clock, dated, moment, roughly } from '../time'
import { capital, causeOf, count, percent, plural } from '../words'
import { Act, Copy, Empty, Facts, Mark, nameOf } from './parts'
import { Plot } from './plot'
import { Usual } from './usual'

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
  const why = isElsewhere(i) ? `At ${(i.elsewhere ?? []).map((e) => e.replica).join(', ')}` : i.kinds.map((k) => `${capital(causeOf(k))}${k.count > 1 ? ` × ${k.count}` : ''}`).join(', ')
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
  const [answer] = usePolled<{ requests: Ended[] }>(`requests?limit=1000&upstream=${part(i.upstream)}`, isOpen(i) ? 5000 : Infinity)
  const requests = answer?.requests ?? []
  const told = story(i, requests, outageOf(i))
  const threads = [...heldIn(i, requests).map(threadOf), ...(isOpen(i) ? waitingThreads().filter((t) => t.upstream === i.upstream) : [])]
  const self = useRef<HTMLDivElement>(null)
  const report = async () => asMarkdown(i, told, await (await ask('GET', at, undefined, 'text/markdown')).text())
  const picture = async () => {
    const chart = self.current?.querySelector('svg')
    if (!chart) throw new Error('there is no chart')
    save(`incident-${i.id}.png`, await pictureOf(chart, [`${nameOf(i.upstream)}, ${dated(i.began)}`, ...told.map((s) => `${timeOf(s, told)} ${s.says}`.trim())]))
  }
  return (
    <>
      <ol class="story" aria-label="What happened">{told.map((s, n) => <li key={n}>{Number.isNaN(s.at) ? null : <time dateTime={new Date(s.at).toISOString()}>{timeOf(s, told)}</time>}<span>{s.says}</span></li>)}</ol>
      {isOpen(i) ? <Usual upstream={i.upstream} /> : null}
      {threads.length > 0 ? <div ref={self}><Course of={i} threads={threads} told={told} /></div> : null}
      {threads.length === 0 && i.calls > 0 && answer ? <p class="aside">The requests of that time are not listed any more, so there is no chart.</p> : null}
      {i.message ? <p class="words">{i.message}</p> : null}
      <Facts
        of={[
          ['Began', dated(i.began)],
          ['Ended', i.ended ? clock(i.ended, Date.parse(i.began)) + (i.recoveredMs === undefined ? ' or later: no request since' : ', with an answer') : 'not yet'],
          ['Lasted', i.ended ? roughly(Date.parse(i.ended) - Date.parse(i.began)) + (i.recoveredMs === undefined ? ' or longer' : '') : ''],
          ['Calls that had to wait', count(i.calls)],
          ['Held and answered', plural(i.held, 'call')],
          ['Lost', plural(i.lost, 'call')],
          ['Still waiting', isOpen(i) ? plural(Math.max(0, i.calls - i.held - i.lost), 'call') : ''],
          ['Tries', `${count(i.tries)}, of which ${count(i.failures)} failed`],
          ['Causes', i.kinds.map((k) => `${k.cause} ${percent(k.count, i.failures)} %`).join(', ')],
          ['Models', (i.models ?? []).filter(Boolean).join(', ') + (i.partial ? '; others were answered' : '')],
          ['Callers', count(i.callers)],
          ['Programs', (i.clients ?? []).map((c) => `${c.client} (${c.calls})`).join(', ')],
          ['Other gateways', (i.elsewhere ?? []).map(metBy).join('; ')],
        ]}
      />
      <p class="acts">
        <a class="button quiet" href={'#/' + at}>Link to this incident</a>
        <Copy label="Copy as Markdown" text={report} />
        <Act always kind="quiet" label="Save as Markdown" act={async () => save(`incident-${i.id}.md`, await report())} />
        {threads.length > 0 ? <Act always kind="quiet" label="Save as a picture" act={picture} /> : null}
        <Act always kind="quiet" label="Save as JSON" act={async () => save(`incident-${i.id}.json`, JSON.stringify(await get(at), null, 2) + '\n')} />
      </p>
    </>
  )
}

// outageOf returns the outage of an incident that lasts.
const outageOf = (i: Incident): Outage | undefined =>
  isOpen(i) ? upstreams.row(i.upstream)?.value.outages.find((o) => !o.recovering) : undefined

// Course draws how many calls were held over time.
function Course({ of: i, threads, told }: { of: Incident; threads: readonly Thread[]; told: readonly Sentence[] }) {
  const began = Date.parse(i.began)
  const ended = i.ended ? Math.max(Date.parse(i.ended), ...threads.map((t) => t.ended ?? 0)) : serverNow()
  const around = Math.max(5000, (ended - began) * 0.06)
  const [from, to] = [began - around, isOpen(i) ? ended : ended + around]
  const points = heldOver(threads, from, to)
  const most = Math.max(...points.map(([, n]) => n))
  const counts = countTicks(most)
  const says = (at: number): string => `${to - from < 600_000 ? moment(new Date(at).toISOString()) : clock(new Date(at).toISOString(), began)}: ${plural(valueAt(points, at), 'call')} held`
  return (
    <Plot label={`Calls that were held: ${most} at most, from ${clock(i.began, began)}${i.ended ? ` to ${clock(i.ended, began)}` : ' on'}`} height={200} from={from} to={to} ticks={(n) => timeTicks(from, to, n)} counts={counts}
      read={says} says={`Calls that were held at ${nameOf(i.upstream)}: ${most} at most`}>
      {(s) => (
        <>
          <rect class="outage" x={s.x(began)} y={s.top} width={Math.max(1, s.x(i.ended ? Date.parse(i.ended) : to) - s.x(began))} height={s.bottom - s.top} />
          <path class="area" d={`M${s.x(from)} ${s.bottom}` + points.map(([at, n]) => `H${s.x(at)}V${s.y(n)}`).join('') + `V${s.bottom}z`} />
          {told.filter((one) => !Number.isNaN(one.at)).map((one) => <path key={one.says} class="wall" d={`M${s.x(one.at)} ${s.top}V${s.bottom}`} />)}
        </>
      )}
    </Plot>
  )
}

// save downloads a file.
function save(name: string, content: string | Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(typeof content === 'string' ? new Blob([content], { type: 'text/plain' }) : content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
