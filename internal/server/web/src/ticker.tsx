// Countdowns: one timer for all of them, and only for those in view.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

import { lostAt } from './store'
import { moment, nextChange, until } from './time'

type Callback = (inView: boolean) => void

const watchers = new WeakMap<Element, Callback>()
const observer = new IntersectionObserver(
  (entries) => {
    for (const e of entries) watchers.get(e.target)?.(e.isIntersecting)
  },
  { rootMargin: '25%' },
)

// observe calls back whenever an element comes into view or leaves it, until the returned function is called.
export function observe(element: Element, call: Callback): () => void {
  watchers.set(element, call)
  observer.observe(element)
  return () => (observer.unobserve(element), watchers.delete(element))
}

interface Target {
  due: number // on the page's own monotonic clock
  at: string | undefined // the same on the server's clock, to show
  brief: boolean
  format: ((left: number) => string) | undefined
}

const targets = new Map<HTMLElement, { current: Target }>()
const shortestTick = 200 // ms between two ticks, however many countdowns there are
let timer: ReturnType<typeof setTimeout> | undefined
let isSoon = false // timer is for a tick at once

// soon makes one tick follow, for all countdowns that change now.
function soon(): void {
  if (isSoon) return
  isSoon = true
  clearTimeout(timer)
  timer = setTimeout(tick)
}

// tick updates all countdowns, and runs again when the next one changes.
function tick(): void {
  const now = performance.now()
  let next = Infinity
  isSoon = false
  for (const [node, { current: t }] of targets) {
    const left = t.due - now
    write(node, textOf(t, left))
    next = Math.min(next, nextChange(left))
  }
  clearTimeout(timer)
  timer = next === Infinity || document.hidden ? undefined : setTimeout(tick, Math.max(shortestTick, next + 5))
}

// textOf returns the text of a countdown. Without its server it counts nothing down: what was due is shown.
function textOf(t: Target, left: number): string {
  if (t.format) return t.format(left)
  if (lostAt.peek() === null) return until(left, t.at, t.brief)
  return t.at ? `at ${moment(t.at)}` : 'as last seen'
}

function write(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text
}

document.addEventListener('visibilitychange', tick)
lostAt.subscribe(() => tick())

// Countdown is the "in 5s" of "retrying in 5s…". due is on the page's clock, at is the same on the server's;
// a brief one shows the time of day alone. format replaces the text for other uses.
export function Countdown({ due, at, brief = false, format }: { due: number; at?: string | undefined; brief?: boolean; format?: (left: number) => string }) {
  const ref = useRef<HTMLSpanElement>(null)
  const target = useRef<Target>({ due, at, brief, format })
  useLayoutEffect(() => { // before it is painted: a countdown is never empty
    const node = ref.current
    const t = (target.current = { due, at, brief, format })
    if (node) write(node, textOf(t, due - performance.now()))
    if (node && targets.has(node)) soon()
  }, [due, at, brief, format])
  useEffect(() => {
    const node = ref.current
    if (!node) return
    const stop = observe(node, (inView) => {
      if (inView) targets.set(node, target)
      else targets.delete(node)
      if (inView) soon()
    })
    return () => {
      stop()
      targets.delete(node)
    }
  }, [])
  return <span ref={ref} class="timer" role="timer" />
}
