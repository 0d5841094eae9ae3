// The stream that keeps the page up to date. It is read with fetch, which can send the token. A lost stream
// is reconnected after growing delays, and at once when the machine wakes, the network is back or the page is
// shown.
//
// A browser opens six connections to a server without HTTP/2, for all tabs together, and each stream holds
// one. So a page that was hidden for a minute closes its stream and polls now and then, to keep its title
// true.
import { type Failure, failure } from './call'
import { eventParser, type ServerEvent } from './sse'
import { apply, denial, link, listEvents, lostAt } from './store'
import { headers } from './token'

const restAfter = 60_000 // how long a page is hidden before it closes its stream
const pollTime = 15_000 // between two polls of a resting page
const silenceTimeout = 40_000 // the server sends something every 15 s
const longestDelay = 30_000 // between two attempts to connect
const deniedDelay = 600_000 // the same without a valid token: the user has to enter one
const batchTime = 30

// Subscription is the conversation whose events the stream carries as well.
export interface Subscription {
  conversation: string
  after: () => number // the number of the last event that was received
  receive: (events: ServerEvent[], now: number) => void
  reconnected: () => void // transient events were missed
}

let subscription: Subscription | null = null
let pending: (ServerEvent & { of: Subscription | null })[] = []
let attempt = new AbortController() // ends the current stream, or the delay before the next
let failures = 0
let hiddenSince = document.hidden ? -Infinity : Infinity // a page that was opened in the background rests at once
let lastReceived = 0
let seen = Date.now() // when the server was last there
let lastCheck = Date.now()

// connect connects, and stays connected for as long as the page is open.
export function connect(): void {
  addEventListener('online', reconnect)
  addEventListener('offline', reconnect)
  document.addEventListener('visibilitychange', onVisibility)
  setInterval(check, 5000)
  void run()
}

// subscribe makes the stream carry a conversation; null: none.
export function subscribe(s: Subscription | null): void {
  if (s === subscription) return
  subscription = s
  reconnect()
}

// reconnect ends the current stream or delay and connects at once.
export function reconnect(): void {
  failures = 0
  attempt.abort()
}

function onVisibility(): void {
  hiddenSince = document.hidden ? performance.now() : Infinity
  if (!document.hidden && link.value !== 'live') reconnect()
}

const isResting = (): boolean => performance.now() - hiddenSince > restAfter

// check finds what no event reports: a machine that slept, a connection that died silently, a page that was
// hidden for long.
function check(): void {
  const slept = Date.now() - lastCheck > 20_000 && !document.hidden // a hidden page's timers are late anyway
  lastCheck = Date.now()
  const silent = link.value === 'live' && performance.now() - lastReceived > silenceTimeout
  if (slept || silent || (link.value === 'live' && isResting())) reconnect()
}

async function run(): Promise<void> {
  for (;;) {
    attempt = new AbortController()
    const poll = isResting()
    const ended = await stream(attempt.signal, poll)
    if (ended === 'lost' && link.value === 'live' && !attempt.signal.aborted) seen = Date.now()
    if (ended === 'denied') link.value = 'denied'
    else if (poll && ended === 'complete') link.value = 'resting'
    else if (failures > 0) link.value = 'offline'
    lostAt.value = link.value === 'offline' ? (lostAt.value ?? seen) : null
    await sleep(delay(ended, poll) * (0.8 + 0.4 * Math.random()), attempt.signal)
  }
}

// delay is the time until the next attempt.
function delay(ended: Ended, poll: boolean): number {
  if (ended === 'denied') return deniedDelay
  if (poll && ended === 'complete') return pollTime
  const n = failures++
  return n === 0 ? 0 : Math.min(longestDelay, 500 * 2 ** n)
}

type Ended = 'complete' | 'lost' | 'denied'

// refusal is how an attempt without an answer has ended.
function refusal(why: Failure): Ended {
  if (![401, 403, 429].includes(why.status)) return 'lost'
  denial.value = why.status === 401 && why.message.startsWith('the server needs') ? '' : why.message
  return 'denied'
}

// stream reads until the stream ends; a poll reads until all lists with waits have arrived.
async function stream(signal: AbortSignal, poll: boolean): Promise<Ended> {
  const s = poll ? null : subscription
  try {
    const answer = await fetch(address(s), { headers: headers({ Accept: 'text/event-stream' }), signal, cache: 'no-store' })
    if (!answer.ok || !answer.body) return refusal(await failure(answer))
    s?.reconnected()
    const body = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    const parse = eventParser()
    for (;;) {
      const chunk = await body.read()
      if (chunk.done) return 'lost'
      seen = Date.now()
      if (!poll) [link.value, lostAt.value] = ['live', null]
      failures = 0
      const events = parse(chunk.value)
      receive(events, s)
      if (poll && events.some((e) => e.event === 'upstreams')) {
        void body.cancel()
        return 'complete'
      }
    }
  } catch {
    return 'lost' // the connection broke or was aborted
  }
}

function address(s: Subscription | null): string {
  return '../live' + (s ? `?conversation=${encodeURIComponent(s.conversation)}&after=${s.after()}` : '')
}

// receive batches events: a burst arrives in many pieces and is shown as one update.
function receive(events: ServerEvent[], s: Subscription | null): void {
  lastReceived = performance.now()
  if (events.length === 0) return
  if (pending.length === 0) setTimeout(flush, batchTime, lastReceived)
  for (const e of events) pending.push({ ...e, of: s })
}

function flush(now: number): void {
  const all = pending
  pending = []
  const lists = all.filter((e) => listEvents.has(e.event))
  const rest = all.filter((e) => !listEvents.has(e.event) && e.of === subscription)
  if (lists.length > 0) apply(lists, now)
  if (rest.length > 0) subscription?.receive(rest, now)
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
}
