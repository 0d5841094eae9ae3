// Incidents: failures in a row, as one period.
import type { Incident } from '../api'
import { ask, part } from '../call'
import { incidents, loaded } from '../store'
import { clock, dated, roughly } from '../time'
import { capital, causeOf, plural } from '../words'
import { Act, Copy, Empty, Facts, Mark, nameOf } from './parts'

export function Incidents() {
  const keys = incidents.keys.value
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Incidents</h1>
        <p>Failures in a row, grouped. A single failed call is not an incident.</p>
      </header>
      {keys.length === 0 && loaded.value ? <Empty title="No incident yet">When a provider fails several times in a row, it is recorded here.</Empty> : null}
      <ul class="incidents">{keys.map((k) => <Entry key={k} id={k} />)}</ul>
    </>
  )
}

const isOpen = (i: Incident): boolean => i.open ?? !i.ended

function Entry({ id }: { id: string }) {
  const i = incidents.row(id)?.value
  if (!i) return null
  const text = async () => (await ask('GET', `incidents/${part(id)}`, undefined, 'text/plain')).text()
  const why = i.kinds.map((k) => `${capital(causeOf(k))}${k.count > 1 ? ` × ${k.count}` : ''}`).join(', ')
  return (
    <li class={isOpen(i) ? 'open' : 'over'}>
      <details>
        <summary>
          <Mark state={isOpen(i) ? (i.partial ? 'degraded' : 'waiting') : i.recoveredMs === undefined ? 'no-data' : 'operational'} />
          <span class="what"><b>{nameOf(i.upstream)}</b> <span>{why}</span></span>
          <span class="span">{dated(i.began)}{i.ended ? `–${clock(i.ended)}` : ''}</span>
          <span class="long">{isOpen(i) ? 'in progress' : i.recoveredMs === undefined ? 'no request since' : `recovered in ${roughly(i.recoveredMs)}`}</span>
        </summary>
        {i.message ? <p class="words">{i.message}</p> : null}
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
          ]}
        />
        <p class="acts">
          <Copy label="Copy as text" text={text} />
          <Act kind="quiet" label="Save as text" act={async () => save(`incident-${id}.txt`, await text())} />
        </p>
      </details>
    </li>
  )
}

// save downloads a text as a file.
function save(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
