// What to do before the first request: point a program here.
import type { Setup as Answer } from '../api'
import { usePolled } from '../polled'
import { Copy, Missing } from './parts'

export function Setup() {
  const [answer, failed] = usePolled<Answer>('setup')
  if (!answer) return <Missing what="How to use the gateway" failed={failed} />
  return (
    <section class="setup" aria-labelledby="setup">
      <h2 id="setup">Point a program here</h2>
      <p>No request has arrived yet. The gateway is at <code>{location.origin}</code>, and that address is all a program needs.{answer.token ? ' This gateway needs a token: put it where the program has its key.' : ''}</p>
      {answer.programs.map((p, i) => <Program key={p.name} of={p} open={i === 0} />)}
    </section>
  )
}

function Program({ of: p, open }: { of: Answer['programs'][number]; open: boolean }) {
  const here = (s: string) => s.replaceAll('{url}', location.origin).trim()
  const text = here(p.text)
  return (
    <details open={open}>
      <summary>{p.name}</summary>
      <div class="code">
        <p><span>{p.file ?? 'in a shell'}</span><Copy text={() => text} label={<>Copy<span class="sr"> for {p.name}</span></>} /></p>
        <pre tabIndex={0} role="region" aria-label={`For ${p.name}`}>{text}</pre>
      </div>
      {p.also ? <p class="aside">{here(p.also)}</p> : null}
    </details>
  )
}
