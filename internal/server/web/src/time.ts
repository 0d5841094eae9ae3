// Durations and instants as text. Nothing here reads a clock: remaining times are arguments, and instants are
// the server's.

const second = 1000
const minute = 60 * second

// longWait is the wait above which the clock time says more than the seconds.
export const longWait = 5 * minute

// seconds rounds a remaining time up, as the terminal does: "5s", "1m30s", and above five minutes "2h31m".
export function seconds(ms: number): string {
  if (ms <= 0) return 'now'
  const unit = unitOf(ms)
  return hours(Math.ceil(ms / unit) * unit, unit === second)
}

const unitOf = (ms: number): number => (ms > longWait ? minute : second)

// whole returns a duration to the second.
export const whole = (ms: number): string => hours(Math.max(second, Math.round(ms / second) * second), true)

function hours(ms: number, exact: boolean): string {
  const [h, m, s] = [Math.floor(ms / (60 * minute)), Math.floor(ms / minute) % 60, Math.floor(ms / second) % 60]
  const all = (h > 0 ? h + 'h' : '') + (h > 0 || m > 0 ? m + 'm' : '') + (exact ? s + 's' : '')
  return all.replace(/m0s$/, 'm').replace(/h0m$/, 'h')
}

// roughly returns a duration in its two largest units: "850ms", "12s", "3m20s", "7h20m", "2d3h".
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
  return n + unit + (rest > 0 ? rest + lesser : '')
}

// until returns when the next try comes, to follow "retrying": "in 5s", never "in 0s". due is the server's
// instant; a brief text has the time of day alone.
export function until(left: number, due: string | undefined, brief = false): string {
  if (left <= 0) return 'now'
  if (left <= longWait || !due) return 'in ' + seconds(left)
  const at = 'at ' + clock(due, Date.parse(due) - left)
  return brief ? at : `${at}, in ${seconds(left)}`
}

// nextChange is the number of milliseconds until the text of until changes.
export const nextChange = (left: number): number => (left <= 0 ? Infinity : left % unitOf(left) || unitOf(left))

// The clock and the calendar are written here: a list of a thousand waits has thousands of them, and the browser's
// formats take longer than all else that is done for a row.
const digits = (n: number): string => String(n).padStart(2, '0')
const timeOf = (d: Date): string => `${digits(d.getHours())}:${digits(d.getMinutes())}`
const dateOf = (d: Date): string => `${d.toDateString().slice(4, 7)} ${d.getDate()}`

// clock returns an instant in the reader's time zone: "15:04", with the day where it is another one and more
// than twelve hours away. now is only asked for its day.
export function clock(at: string, now = Date.now()): string {
  const then = new Date(at)
  const isNear = Math.abs(then.getTime() - now) < 12 * 60 * minute || then.toDateString() === new Date(now).toDateString()
  return isNear ? timeOf(then) : `${timeOf(then)} on ${dateOf(then)}`
}

// moment is clock with seconds.
export function moment(at: string): string {
  const then = new Date(at)
  return `${timeOf(then)}:${digits(then.getSeconds())}`
}

// dated is clock with the day where it is not today. now is only asked for its day.
export function dated(at: string, now = new Date()): string {
  const then = new Date(at)
  const day = then.toDateString()
  return day === now.toDateString() ? timeOf(then) : `${day.slice(0, 3)}, ${dateOf(then)}, ${timeOf(then)}`
}
