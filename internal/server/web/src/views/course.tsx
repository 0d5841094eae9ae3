// The course of an incident: its faults by cause, and the calls that waited.
import type { Course, Incident } from '../api'
import { clock, dated, moment, roughly } from '../time'
import { count, faultsInWords, percent, plural, waitingInWords } from '../words'

const width = 10 // of a step
const height = 56
const named = 4 // causes with a colour of their own

// perMinute returns a number of a step as one of a minute.
const perMinute = (n: number, stepMs: number): number => (n * 60_000) / stepMs

const sum = (all: number[]): number => all.reduce((a, b) => a + b, 0)

export function CourseView({ of: i, course: c }: { of: Incident; course: Course }) {
  const causes = i.kinds.map((k) => k.cause)
  const faults = c.points.map((p) => sum(Object.values(p.faults ?? {})))
  const waits = c.points.map((p) => p.waiting ?? 0)
  const at = (n: number) => new Date(Date.parse(i.began) + n * c.stepMs).toISOString()
  const most = Math.max(...faults, 0)
  const longest = Math.max(...waits, 0)
  const recorded = most + longest > 0 // courses were not kept at all times
  return (
    <figure class="course">
      {recorded ? <div class="plot" style={{ maxWidth: `${Math.max(12, c.points.length)}rem` }}>
        <p class="aside">Faults per minute, up to {roundly(perMinute(most, c.stepMs))}</p>
        <svg viewBox={`0 0 ${c.points.length * width} ${height}`} preserveAspectRatio="none" role="img" aria-label={faultsInWords(faults.map((n) => perMinute(n, c.stepMs)), at)}>
          {c.points.map((p, n) => <Stack key={n} faults={p.faults ?? {}} causes={causes} x={n * width} most={most} />)}
        </svg>
        <p class="aside">Calls waiting, up to {count(longest)}</p>
        <svg viewBox={`0 0 ${c.points.length * width} ${height}`} preserveAspectRatio="none" role="img" aria-label={waitingInWords(waits, at)}>
          <path class="area" d={`M0 ${height}` + waits.map((n, x) => `V${(height - (n / Math.max(1, longest)) * (height - 4)).toFixed(1)}H${(x + 1) * width}`).join('') + `V${height}Z`} />
        </svg>
        <p class="aside span"><time dateTime={i.began}>{dated(i.began)}</time><span>{i.ended ? clock(i.ended, Date.parse(i.began)) : 'now'}</span></p>
      </div> : null}
      <figcaption>
        <ul class="shares" aria-label="Share of the faults">
          {i.kinds.map((k, n) => <li key={k.cause}><i class={`k${Math.min(n, named - 1)}`} />{k.cause} {percent(k.count, i.failures)} %<span class="aside"> ({count(k.count)})</span></li>)}
        </ul>
      </figcaption>
      {recorded ? <details class="numbers">
        <summary>The numbers, in steps of {roughly(c.stepMs)}</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="The numbers">
          <table>
            <thead><tr><th scope="col">From</th><th scope="col">Faults</th><th scope="col">Calls waiting</th></tr></thead>
            <tbody>{c.points.map((p, n) => <tr key={n}><td>{(c.stepMs % 60_000 ? moment : clock)(at(n))}</td><td>{causes.filter((f) => p.faults?.[f]).map((f) => `${count(p.faults?.[f] ?? 0)} ${f}`).join(', ') || '0'}</td><td>{count(p.waiting ?? 0)}</td></tr>)}</tbody>
          </table>
        </div>
      </details> : null}
    </figure>
  )
}

const roundly = (n: number): string => (n < 10 ? String(Math.round(n * 10) / 10) : count(Math.round(n)))

// Stack draws the faults of a step, the most frequent cause of the incident at the bottom.
function Stack({ faults, causes, x, most }: { faults: Record<string, number>; causes: string[]; x: number; most: number }) {
  let y = height
  return (
    <>
      {causes.filter((c) => faults[c]).map((c) => {
        const h = ((faults[c] ?? 0) / most) * (height - 4)
        y -= h
        return <rect key={c} class={`k${Math.min(causes.indexOf(c), named - 1)}`} x={x + 0.5} y={y} width={width - 1} height={h}><title>{plural(faults[c] ?? 0, 'fault')}: {c}</title></rect>
      })}
    </>
  )
}
