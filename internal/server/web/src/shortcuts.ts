// Keys that act anywhere outside a field: j and k go through the rows, r retries, / searches, ? lists them.
// They can be turned off: a speech program may type them by mistake.
import { effect, signal } from '@preact/signals'

const key = 'ridethrough-shortcuts'

// shortcuts says whether they act.
export const shortcuts = signal(localStorage.getItem(key) !== 'off')

// help is whether their list is shown.
export const help = signal(false)

// listed are the keys and what they do.
export const listed: [key: string, does: string][] = [
  ['j, k', 'next, previous row'], ['r', 'Retry now: the row with the focus, or the first one'], ['/', 'search'], ['?', 'this list'],
]

// rows are what j and k go through.
const rows = 'main :is(summary, .rows > li:not(.fold), .conversations li a, .requests tbody tr, .card, .policy, .turn)'

export function watchKeys(): void {
  effect(() => localStorage.setItem(key, shortcuts.value ? 'on' : 'off'))
  addEventListener('keydown', (e) => {
    const at = e.target as HTMLElement
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || at.matches('input, textarea, select')) return
    if (e.key === '?') help.value = !help.value // the list has the switch
    else if (!shortcuts.value || help.value || !press(e.key)) return
    e.preventDefault()
  })
}

// press does what a key does; false: nothing.
function press(pressed: string): boolean {
  if (pressed === 'j' || pressed === 'k') return step(pressed === 'j' ? 1 : -1)
  if (pressed === '/') return focus(document.querySelector<HTMLElement>('main input[type=search]'))
  if (pressed !== 'r') return false
  const row = document.activeElement?.closest('.rows > li, .held, .card, .turn, .member')
  const button = [...(row ?? document).querySelectorAll<HTMLElement>('main button')].find((b) => /^Retry( all)? now/.test(b.textContent ?? ''))
  button?.click()
  return button !== undefined
}

// step moves the focus to the next row, or the one before.
function step(by: number): boolean {
  const all = [...document.querySelectorAll<HTMLElement>(rows)].filter((e) => e.checkVisibility())
  const now = document.activeElement
  const at = all.findLastIndex((e) => e === now || e.contains(now))
  return focus(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by] ?? null)
}

function focus(e: HTMLElement | null): boolean {
  if (e && e.tabIndex < 0) e.tabIndex = -1 // Tab skips rows: their buttons are enough
  e?.focus()
  e?.scrollIntoView({ block: 'nearest' })
  return e !== null
}
