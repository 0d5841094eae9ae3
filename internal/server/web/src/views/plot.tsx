// Plot is the frame of every chart: its axes, and the value under the pointer. It is drawn as large as it is shown, so
// that its text can be read.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

// Scale places values in a plot.
export interface Scale {
  x: (at: number) => number
  y: (n: number) => number
  left: number
  right: number
  top: number
  bottom: number
}

interface Props {
  label: string // what is seen in it, for those who do not see it
  height: number
  from: number
  to: number
  place?: (at: number) => number // between 0 and 1; left out: evenly
  unplace?: (part: number) => number // the inverse
  ticks: (most: number) => [at: number, label: string][]
  counts?: number[] // ticks of the axis for numbers; left out: no such axis
  read?: (at: number) => string // what is shown for the moment under the pointer
  says?: string // shown without a pointer
  children: (s: Scale) => ComponentChildren
}

const margin = { left: 34, bare: 2, right: 8, top: 8, bottom: 22 }
const tickWidth = 76 // px

export function Plot({ label, height, from, to, place, unplace, ticks, counts, read, says = '', children }: Props) {
  const self = useRef<HTMLElement>(null)
  const [width, measure] = useState(0)
  const [at, point] = useState<number | null>(null)
  useEffect(() => {
    if (!self.current) return
    const sized = new ResizeObserver(([e]) => e && measure(Math.floor(e.contentRect.width)))
    sized.observe(self.current)
    return () => sized.disconnect()
  }, [])
  const left = counts ? margin.left : margin.bare
  const right = Math.max(left + 1, width - margin.right)
  const [top, bottom] = [margin.top, height - margin.bottom]
  const most = counts?.at(-1) ?? 1
  const part = place ?? ((t: number) => (t - from) / Math.max(1, to - from))
  const s: Scale = { x: (t) => round(left + part(t) * (right - left)), y: (n) => round(bottom - (n / most) * (bottom - top)), left, right, top, bottom }
  const onMove = (e: PointerEvent) => {
    const box = self.current?.querySelector('svg')?.getBoundingClientRect()
    if (box) point(Math.min(right, Math.max(left, e.clientX - box.left)))
  }
  const moment = at === null ? null : unplace ? unplace((at - left) / (right - left)) : from + ((at - left) / (right - left)) * (to - from)
  return (
    <figure class="plot" ref={self}>
      {width > 0 ? (
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} {...(read ? { onPointerMove: onMove, onPointerLeave: () => point(null) } : {})}>
          {counts?.map((n) => <g key={n}><path class="grid" d={`M${left} ${s.y(n)}H${right}`} /><text class="count-tick" x={left - 6} y={s.y(n) + 3.5}>{n}</text></g>)}
          {ticks(Math.max(2, Math.floor((right - left) / tickWidth))).map(([t, words]) => (
            <g key={t}><path class="grid" d={`M${s.x(t)} ${top}V${bottom + 4}`} /><text class={`tick ${s.x(t) > right - 14 ? 'last' : s.x(t) < left + 14 ? 'begin' : ''}`} x={s.x(t)} y={height - 4}>{words}</text></g>
          ))}
          {children(s)}
          {at === null || moment === null ? null : <path class="cursor" d={`M${round(at)} ${top}V${bottom}`} />}
        </svg>
      ) : <div class="unsized" />}
      {read ? <figcaption>{moment === null ? says : read(moment)}</figcaption> : null}
    </figure>
  )
}

const round = (n: number): number => Math.round(n * 10) / 10

// Ranges are buttons that choose how much time a chart shows.
export function Ranges<R extends string>({ of, chosen, choose }: { of: readonly R[]; chosen: R; choose: (r: R) => void }) {
  return (
    <div class="ranges" role="group" aria-label="Time that is shown">
      {of.map((r) => <button key={r} type="button" class="quiet" aria-pressed={r === chosen} onClick={() => choose(r)}>{r}</button>)}
    </div>
  )
}
