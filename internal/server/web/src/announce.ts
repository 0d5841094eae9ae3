// Announcements for screen readers: a sentence for each retry, and none for each second.
import { effect, signal } from '@preact/signals'

import { ends, type End } from './store'
import { plural, recovered } from './words'

const gap = 1500 // ms between two announcements, so that none interrupts another

// announcement is the text of the page's live region.
export const announcement = signal('')

const announced = new Map<string, string>()
let queue: string[] = []
let timer: ReturnType<typeof setTimeout> | undefined

// announce announces a sentence, unless the last one with this key was about the same retry.
export function announce(key: string, retry: string, sentence: string): void {
  if (announced.get(key) === retry) return
  announced.set(key, retry)
  queue = [...queue.filter((s) => s !== sentence), sentence].slice(-3) // older ones are out of date
  timer ??= setTimeout(flush, 50)
}

function flush(): void {
  announcement.value = queue.join(' ')
  queue = []
  timer = setTimeout(() => {
    timer = undefined
    if (queue.length > 0) flush()
  }, gap)
}

// announceEnds announces how waits end.
export function announceEnds(): void {
  effect(() => {
    const [end] = ends.value
    if (end) announce('end', `${end.n} ${end.calls}`, endText(end) + '.')
  })
}

// endText is the end of a wait in words.
export function endText(e: End): string {
  const calls = e.calls > 1 ? plural(e.calls, 'call') + ': ' : ''
  if (e.how === 'recovered') return calls + recovered(e.retries, e.waitedMs)
  if (e.how === 'failed') return calls + (e.retries > 0 ? `Failed after ${plural(e.retries, 'retry attempt')}` : 'Failed before its first retry')
  return calls + (e.how === 'left' ? 'Left or stopped while it waited' : 'No longer waiting')
}
