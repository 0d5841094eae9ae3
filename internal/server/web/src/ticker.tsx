// Numbers that tick: one timer for all of them, and only for those in view.
import { useEffect, useRef } from 'preact/hooks'

import { changes, until } from './time'

type Seen = (inView: boolean) => void

const watchers = new WeakMap<Element, Seen>()
const observer = new IntersectionObserver(
  (entries) => {
    for (const e of entries) watchers.get(e.target)?.(e.isIntersecting)
  },
  { rootMargin: '25%' },
)

// seen calls back whenever an element comes into view or leaves it. It gives
// the way to end that.
export function seen(element: Element, call: Seen): () => void {
  watchers.set(element, call)
  observer.observe(element)
  return () => (observer.unobserve(element), watchers.delete(element))
}

interface Ticking {
  due: number // on the page's own monotonic clock
  at: string | undefined // the same by the server's clock, to be shown
  brief: boolean
  words: ((left: number) => string) | undefined
}

const ticking = new Map<HTMLElement, Ticking>()
const least = 200 // ms between two ticks, however many numbers there are
let timer: ReturnType<typeof setTimeout> | undefined

// tick writes what has changed, and comes again when something changes next.
function tick(): void {
  const now = performance.now()
  let next = Infinity
  for (const [node, t] of ticking) {
    const left = t.due - now
    write(node, say(t, left))
    next = Math.min(next, changes(left))
  }
  clearTimeout(timer)
  timer = next === Infinity || document.hidden ? undefined : setTimeout(tick, Math.max(least, next + 5))
}

const say = (t: Ticking, left: number): string => t.words?.(left) ?? until(left, t.at, t.brief)

function write(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text
}

document.addEventListener('visibilitychange', tick)

// Countdown is the number in "retrying in 5s…". due is the moment on the page's
// clock, at the server's instant; a brief one has the clock without the minutes.
// Where it is no instant that is counted to, words says what is left.
export function Countdown({ due, at, brief = false, words }: { due: number; at?: string | undefined; brief?: boolean; words?: (left: number) => string }) {
  const ref = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const node = ref.current
    if (!node) return
    const t = { due, at, brief, words }
    const unsee = seen(node, (inView) => {
      if (inView) ticking.set(node, t)
      else ticking.delete(node)
      if (inView) tick()
    })
    write(node, say(t, due - performance.now()))
    return () => {
      unsee()
      ticking.delete(node)
    }
  }, [due, at, brief, words])
  return <span ref={ref} class="timer" role="timer" />
}
