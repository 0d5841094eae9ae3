// Durations and instants as people read them. Nothing here looks at a clock:
// what is left comes in, and an instant of the server's is only formatted.

const second = 1000
const minute = 60 * second

// seconds rounds up to whole seconds, as the terminal does: "5s", "1m30s".
export function seconds(ms: number): string {
  const s = Math.ceil(Math.max(0, ms) / second)
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60]
  return (h > 0 ? h + 'h' : '') + (h > 0 || m > 0 ? m + 'm' : '') + (s % 60) + 's'
}

// roughly gives a duration in its two largest units: "850ms", "12s", "3m 20s",
// "7h 20m", "2d 3h".
export function roughly(ms: number): string {
  if (ms < second) return Math.round(ms) + 'ms'
  if (ms < 10 * second && ms % second >= 50) return (ms / second).toFixed(1) + 's'
  const s = Math.round(ms / second)
  if (s < 60) return s + 's'
  if (s < 3600) return two(Math.floor(s / 60), 'm', s % 60, 's')
  const m = Math.round(s / 60)
  if (m < 24 * 60) return two(Math.floor(m / 60), 'h', m % 60, 'm')
  const h = Math.round(m / 60)
  return two(Math.floor(h / 24), 'd', h % 24, 'h')
}

function two(n: number, unit: string, rest: number, lesser: string): string {
  return n + unit + (rest > 0 ? ' ' + rest + lesser : '')
}

// longWait is from where on the clock says more than the seconds that are left.
export const longWait = 5 * minute

// until says when the next try comes, behind "retrying": never in 0s.
export function until(left: number, due: string | undefined, brief = false): string {
  if (left <= 0) return 'now'
  if (left <= longWait || !due) return 'in ' + seconds(left)
  return `at ${clock(due)}` + (brief ? '' : ` (${Math.ceil(left / minute)} min)`)
}

// changes gives in how many milliseconds until would say something else.
export function changes(left: number): number {
  if (left <= 0) return Infinity
  if (left <= longWait) return left % second || second
  return left % minute || minute
}

const forms = {
  clock: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  moment: { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  day: { weekday: 'short', day: 'numeric', month: 'short' },
} as const

// clock gives an instant of the server's on the reader's clock: "15:04".
export const clock = (at: string): string => new Date(at).toLocaleTimeString('en', forms.clock)

// moment is clock with seconds.
export const moment = (at: string): string => new Date(at).toLocaleTimeString('en', forms.moment)

// dated is clock with the day where that is not today's; now is only asked which
// day it is.
export function dated(at: string, now = new Date()): string {
  const then = new Date(at)
  const today = then.toDateString() === now.toDateString()
  return today ? clock(at) : then.toLocaleDateString('en', forms.day) + ', ' + clock(at)
}
