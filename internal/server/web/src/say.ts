// What is said to people who listen to the page instead of looking at it: a
// sentence for each retry, and none for each second.
import { effect, signal } from '@preact/signals'

import { ends, type End } from './store'
import { plural, recovered } from './words'

const gap = 1500 // ms between two announcements, so that none cuts off another

// said is the sentence in the page's live region.
export const said = signal('')

const told = new Map<string, string>()
let queue: string[] = []
let timer: ReturnType<typeof setTimeout> | undefined

// announce says a sentence unless it is about the same retry as the last one
// with this key.
export function announce(key: string, retry: string, sentence: string): void {
  if (told.get(key) === retry) return
  told.set(key, retry)
  queue = [...queue.filter((s) => s !== sentence), sentence].slice(-3) // what is older is out of date
  timer ??= setTimeout(speak, 50)
}

function speak(): void {
  said.value = queue.join(' ')
  queue = []
  timer = setTimeout(() => {
    timer = undefined
    if (queue.length > 0) speak()
  }, gap)
}

// listen says how waits end.
export function listen(): void {
  effect(() => {
    const [end] = ends.value
    if (end) announce('end', `${end.n} ${end.calls}`, result(end) + '.')
  })
}

// result tells an end in words.
export function result(e: End): string {
  const who = e.calls > 1 ? plural(e.calls, 'call') + ': ' : ''
  if (e.how === 'recovered') return who + recovered(e.retries, e.waitedMs)
  if (e.how === 'failed') return who + `Failed after ${plural(e.retries, 'retry attempt')}`
  return who + (e.how === 'left' ? 'Left or stopped while it waited' : 'Waits no more')
}
