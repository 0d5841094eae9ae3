// Durations and instants as people read them. Nothing here looks at a clock:
// what is left comes in, and an instant of the server's is only formatted.

const second = 1000
const minute = 60 * second

// longWait is from where on the clock says more than the seconds that are left.
export const longWait = 5 * minute

// seconds rounds a time that is left up, as the terminal does: "5s", "1m30s",
// and of more than five minutes no seconds: "2h31m".
export function seconds(ms: number): string {
  if (ms <= 0) return 'now'
  const unit = unitOf(ms)
  return hours(Math.ceil(ms / unit) * unit, unit === second)
}

const unitOf = (ms: number): number => (ms > longWait ? minute : second)

// whole writes out a duration to the second.
export const whole = (ms: number): string => hours(Math.max(second, Math.round(ms / second) * second), true)

function hours(ms: number, exact: boolean): string {
  const [h, m, s] = [Math.floor(ms / (60 * minute)), Math.floor(ms / minute) % 60, Math.floor(ms / second) % 60]
  return (h > 0 ? h + 'h' : '') + (h > 0 || m > 0 ? m + 'm' : '') + (exact ? s + 's' : '')
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

// until says when the next try comes, behind "retrying": never in 0s. due is the
// server's instant; a brief one has the time of day alone.
export function until(left: number, due: string | undefined, brief = false): string {
  if (left <= 0) return 'now'
  if (left <= longWait || !due) return 'in ' + seconds(left)
  const at = 'at ' + clock(due, Date.parse(due) - left)
  return brief ? at : `${at}, in ${seconds(left)}`
}

// changes gives in how many milliseconds until would say something else.
export const changes = (left: number): number => (left <= 0 ? Infinity : left % unitOf(left) || unitOf(left))

const forms = {
  clock: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  moment: { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  date: { day: 'numeric', month: 'short' },
  day: { weekday: 'short', day: 'numeric', month: 'short' },
} as const

// clock gives an instant of the server's on the reader's clock: "15:04", with the
// day where that is another one and far off. now is only asked which day it is.
export function clock(at: string, now = Date.now()): string {
  const then = new Date(at)
  const time = then.toLocaleTimeString('en', forms.clock)
  const near = then.toDateString() === new Date(now).toDateString() || Math.abs(then.getTime() - now) < 12 * 60 * minute
  return near ? time : `${time} on ${then.toLocaleDateString('en', forms.date)}`
}

// moment is clock with seconds.
export const moment = (at: string): string => new Date(at).toLocaleTimeString('en', forms.moment)

// dated is clock with the day where that is not today's; now is only asked which
// day it is.
export function dated(at: string, now = new Date()): string {
  const then = new Date(at)
  const today = then.toDateString() === now.toDateString()
  const time = then.toLocaleTimeString('en', forms.clock)
  return today ? time : then.toLocaleDateString('en', forms.day) + ', ' + time
}
