// Paths of small charts: the values of a span of time, the oldest first. undefined is a step without a value.

export type Values = readonly (number | undefined)[]

export const stepWidth = 4
export const plotHeight = 40

const margin = 1.5 // above the largest value and below a line at 0

// most returns the largest value; 0: there is none.
export const most = (values: Values): number => values.reduce<number>((n, v) => Math.max(n, v ?? 0), 0)

const y = (value: number, largest: number, base: number): string => (base - (value / largest) * (base - margin)).toFixed(1)

// bars draws a bar for each value above 0, on a scale up to the largest.
export function bars(values: Values, largest: number): string {
  return values.map((v, i) => (v ? `M${i * stepWidth} ${plotHeight}V${y(v, largest, plotHeight)}h${stepWidth - 1}V${plotHeight}` : '')).join('')
}

// line draws a line through the values, with gaps where there is none. A single value is a dash.
export function line(values: Values, largest: number): string {
  let path = ''
  values.forEach((v, i) => {
    if (v === undefined) return
    const at = y(v, largest, plotHeight - margin)
    path += values[i - 1] === undefined ? `M${i * stepWidth} ${at}h${stepWidth / 2}` : `L${(i + 0.5) * stepWidth} ${at}`
    if (values[i + 1] === undefined) path += `h${stepWidth / 2}`
  })
  return path
}
