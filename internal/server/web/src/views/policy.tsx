// Policy: the retries of each policy and its end, as pictures on one logarithmic time scale.
import type { Policy } from '../api'
import { usePolled } from '../polled'
import { roughly } from '../time'
import { causes, plural } from '../words'
import { Missing } from './parts'
import { Plot } from './plot'

export function Policies() {
  const [answer, failed] = usePolled<{ policies: Policy[] }>('policies')
  const all = answer?.policies
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Policy</h1>
        <p>When a call is retried if every try fails. Each dot is a retry; the time scale is logarithmic.</p>
      </header>
      {all ? null : <Missing what="The policies" failed={failed} />}
      {all ? <Group title="In use here" of={all.filter(used)} all={all} /> : null}
      {all ? <Group title="Presets" of={all.filter((p) => !used(p))} all={all} /> : null}
    </>
  )
}

const used = (p: Policy): boolean => p.source === 'configuration' || (p.usedBy ?? []).length > 0

function Group({ title, of, all }: { title: string; of: Policy[]; all: Policy[] }) {
  if (of.length === 0) return null
  const longest = Math.max(60_000, ...all.map(endOf))
  return (
    <section class="policies">
      <h2>{title}</h2>
      {of.map((p) => <Row key={p.name} of={p} longest={longest} />)}
    </section>
  )
}

const endOf = (p: Policy): number => Math.max(p.totalMs, p.retries.at(-1)?.atMs ?? 0)

function Row({ of: p, longest }: { of: Policy; longest: number }) {
  return (
    <article class="policy">
      <h3>{p.name}</h3>
      <p class="aside">{p.usedBy?.length ? `for ${p.usedBy.map((u) => (u === 'supervisor' ? 'turns whose worker failed' : u)).join(', ')}` : ''}</p>
      <p>{p.sentence}</p>
      <Picture of={p} longest={longest} />
      {p.retries.length > 0 ? <details>
        <summary>The numbers</summary>
        <Numbers of={p} />
      </details> : null}
    </article>
  )
}

const marks = [1000, 10_000, 60_000, 600_000, 3_600_000, 8 * 3_600_000, 24 * 3_600_000, 7 * 24 * 3_600_000]

const scale = (ms: number, longest: number): number => Math.log1p(ms / 500) / Math.log1p(longest / 500)
const unscaled = (part: number, longest: number): number => Math.expm1(part * Math.log1p(longest / 500)) * 500

// Picture draws a policy's retries over time.
function Picture({ of: p, longest }: { of: Policy; longest: number }) {
  const label = `${p.name}: ${plural(p.retries.length, 'retry', 'retries')}${p.unlimited ? ' and more' : ''}, ${ending(p)}`
  const nearest = (at: number): string => {
    const r = p.retries.reduce<Policy['retries'][number] | undefined>((best, r) => (best && Math.abs(scale(best.atMs, longest) - scale(at, longest)) <= Math.abs(scale(r.atMs, longest) - scale(at, longest)) ? best : r), undefined)
    return r ? `Retry ${r.n} after ${roughly(r.atMs)}, having waited ${roughly(r.waitMs)}` : ''
  }
  const fitting = (most: number) => marks.filter((m) => m <= longest).filter((_, i) => most > 5 || i % 2 === 0)
  return (
    <Plot label={label} height={64} from={0} to={longest} place={(ms) => 0.02 + 0.94 * scale(ms, longest)} unplace={(x) => unscaled(Math.max(0, (x - 0.02) / 0.94), longest)} ticks={(most) => fitting(most).map((m) => [m, roughly(m)])} read={nearest}>
      {(s) => {
        const [y, end] = [(s.top + s.bottom) / 2, s.x(endOf(p))]
        return (
          <>
            <path class="run" d={`M${s.x(0)} ${y}H${end}`} />
            <path class="call" d={`M${s.x(0)} ${y - 8}v16`} />
            {p.retries.map((r) => <circle key={r.n} cx={s.x(r.atMs)} cy={y} r="3.5" />)}
            {p.unlimited ? <path class="on" d={`M${end + 6} ${y - 6}l7 6-7 6`} /> : <path class="end" d={`M${end + 6} ${y - 6}h12v12h-12z`} />}
          </>
        )
      }}
    </Plot>
  )
}

// ending describes when a policy gives up.
function ending(p: Policy): string {
  if (p.ends === 'never' || p.unlimited) return 'does not give up by itself'
  const after = `after ${roughly(p.totalMs)} of waiting`
  if (p.ends === 'retries') return `gives up when ${plural(p.retries.length, 'retry has', 'retries have')} failed, ${after}`
  return p.ends === 'max-total-wait' ? `gives up when its budget of waiting is spent, ${after}` : `gives up at its deadline, ${after}`
}

const rowsBound = 60

function Numbers({ of: p }: { of: Policy }) {
  const rest = p.retries.length - rowsBound
  return (
    <>
      <p>{p.retryOn?.length ? `Retried after: ${[...new Set(p.retryOn.map((k) => causes[k] ?? k))].join(', ')}. ` : ''}{p.maxRetryAfterMs ? `A wait that the provider asks for is obeyed up to ${roughly(p.maxRetryAfterMs)}.` : ''}</p>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Retries of ${p.name}`}>
        <table>
          <thead><tr><th scope="col" class="number">Retry</th><th scope="col" class="number">Wait</th><th scope="col" class="number">With jitter</th><th scope="col" class="number">In all</th></tr></thead>
          <tbody>
            {p.retries.slice(0, rowsBound).map((r) => (
              <tr key={r.n}><th scope="row" class="number">{r.n}</th><td class="number">{roughly(r.waitMs)}</td><td class="number">{r.leastMs === r.mostMs ? '' : `${roughly(r.leastMs)}–${roughly(r.mostMs)}`}</td><td class="number">{roughly(r.atMs)}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
      {rest > 0 ? <p class="aside">…and {plural(rest, 'more', 'more')}, the last after {roughly(endOf(p))}.</p> : null}
    </>
  )
}
