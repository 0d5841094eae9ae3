// The one stream that keeps the page up. It is read with fetch, which can send
// the token. Lost, it is taken up again after growing waits, and at once when
// the machine wakes, the network is back or somebody looks at the page again.
//
// A browser opens six connections to a server without HTTP/2, for all tabs
// together, and each stream holds one. So a page that was hidden for a minute
// gives its own up, and looks only now and then, to keep its title true.
import { failure } from './call'
import { apply, link, own } from './store'
import { reader, type Sent } from './sse'
import { headers } from './token'

const rest = 60_000 // hidden for that long, a page gives its stream up
const look = 15_000 // between two looks of a page that rests
const silence = 40_000 // the server says something every 15 s
const longest = 30_000 // between two attempts to connect
const locked = 600_000 // the same without a right token: somebody has to bring one

// Follow is the conversation that the stream is to tell of as well.
export interface Follow {
  conversation: string
  after: () => number // what has been seen of it
  hear: (sent: Sent[], now: number) => void
  attached: () => void // the stream is anew: what had passed by was missed
}

const blink = 30

let follow: Follow | null = null
let pending: (Sent & { of: Follow | null })[] = []
let cut = new AbortController() // of the stream under way, or of the wait for the next
let misses = 0
let hiddenSince = document.hidden ? -Infinity : Infinity // one that was opened behind others has never been looked at
let heard = 0
let beat = Date.now()

// begin connects, and stays connected for as long as the page is there.
export function begin(): void {
  addEventListener('online', again)
  addEventListener('offline', again)
  document.addEventListener('visibilitychange', turned)
  setInterval(watch, 5000)
  void run()
}

// talk makes the stream tell of a conversation; null: of none.
export function talk(f: Follow | null): void {
  if (f === follow) return
  follow = f
  again()
}

// again connects at once, whatever it is that is under way.
export function again(): void {
  misses = 0
  cut.abort()
}

function turned(): void {
  hiddenSince = document.hidden ? performance.now() : Infinity
  if (!document.hidden && link.value !== 'live') again()
}

const resting = (): boolean => performance.now() - hiddenSince > rest

// watch finds what no event tells: a machine that slept, a connection that died
// without a word, a page that nobody has looked at for long.
function watch(): void {
  const slept = Date.now() - beat > 20_000 && !document.hidden // a hidden page's timers are late anyway
  beat = Date.now()
  const silent = link.value === 'live' && performance.now() - heard > silence
  if (slept || silent || (link.value === 'live' && resting())) again()
}

async function run(): Promise<void> {
  for (;;) {
    cut = new AbortController()
    const brief = resting()
    const ended = await stream(cut.signal, brief)
    if (ended === 'denied') link.value = 'denied'
    else if (brief && ended === 'enough') link.value = 'resting'
    else if (misses > 0) link.value = 'offline'
    await wait(pause(ended, brief) * (0.8 + 0.4 * Math.random()), cut.signal)
  }
}

// pause gives how long it is until the next attempt.
function pause(ended: Ended, brief: boolean): number {
  if (ended === 'denied') return locked
  if (brief && ended === 'enough') return look
  const n = misses++
  return n === 0 ? 0 : Math.min(longest, 500 * 2 ** n)
}

type Ended = 'enough' | 'lost' | 'denied'

// stream reads until the stream ends; a brief one only until all lists of what
// waits have come.
async function stream(signal: AbortSignal, brief: boolean): Promise<Ended> {
  const f = brief ? null : follow
  try {
    const answer = await fetch(address(f), { headers: headers({ Accept: 'text/event-stream' }), signal, cache: 'no-store' })
    if (!answer.ok || !answer.body) return (await failure(answer)).status === 401 ? 'denied' : 'lost'
    f?.attached()
    const body = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    const events = reader()
    for (;;) {
      const piece = await body.read()
      if (piece.done) return 'lost'
      if (!brief) link.value = 'live'
      misses = 0
      const sent = events(piece.value)
      hand(sent, f)
      if (brief && sent.some((e) => e.event === 'upstreams')) {
        void body.cancel()
        return 'enough'
      }
    }
  } catch {
    return 'lost' // a connection that broke off, or was given up
  }
}

function address(f: Follow | null): string {
  return '../live' + (f ? `?conversation=${encodeURIComponent(f.conversation)}&after=${f.after()}` : '')
}

// hand takes in what came. What comes within a blink is shown together: a burst
// arrives in many pieces, and is one change to whoever looks.
function hand(sent: Sent[], f: Follow | null): void {
  heard = performance.now()
  if (sent.length === 0) return
  if (pending.length === 0) setTimeout(show, blink, heard)
  for (const e of sent) pending.push({ ...e, of: f })
}

function show(now: number): void {
  const all = pending
  pending = []
  const lists = all.filter((e) => own.has(e.event))
  const talk = all.filter((e) => !own.has(e.event) && e.of === follow)
  if (lists.length > 0) apply(lists, now)
  if (talk.length > 0) follow?.hear(talk, now)
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
}
