// Notices on the desktop: of an outage, of its end, and of a usage window that is spent. The browser is asked for
// its permission by a click only, and nothing is shown while the page is looked at.
import { effect, signal } from '@preact/signals'

import type { Incident } from './api'
import { incidents, loaded, turns, waits } from './store'
import { outageNotice, recoveryNotice, windowNotice } from './words'

const storageKey = 'ridethrough-notices'

// notices says whether notices are shown; 'never': the browser lacks them here, or refuses them.
export const notices = signal<'on' | 'off' | 'never'>('off')

// toggleNotices turns them on, if the browser permits it, or off.
export async function toggleNotices(): Promise<void> {
  const on = notices.value === 'off' && (await Notification.requestPermission()) === 'granted'
  localStorage.setItem(storageKey, on ? 'on' : 'off')
  notices.value = state()
}

function state(): 'on' | 'off' | 'never' {
  if (!('Notification' in globalThis) || !isSecureContext || Notification.permission === 'denied') return 'never'
  return Notification.permission === 'granted' && localStorage.getItem(storageKey) === 'on' ? 'on' : 'off'
}

const known = new Map<string, boolean>() // incidents that were seen, and whether they were open
const opens = new Set<string>() // windows that were told
let ready = false // what there was at first is no news

// watchNotices shows notices for as long as the page is open.
export function watchNotices(): void {
  notices.value = state()
  effect(() => {
    void [incidents.version.value, waits.version.value, turns.version.value]
    if (!loaded.value) return
    for (const i of incidents.all()) watchIncident(i)
    for (const w of [...waits.all(), ...turns.all()]) if (w.opensAt) watchWindow(w.upstream ?? '', w.opensAt)
    ready = true
  })
}

function watchIncident(i: Incident): void {
  const open = !i.ended
  const was = known.get(i.id)
  known.set(i.id, open)
  if (was === open) return
  if (open) tell(i.upstream, outageNotice(i))
  else if (was && i.recoveredMs !== undefined) tell(i.upstream, recoveryNotice(i))
}

function watchWindow(upstream: string, opensAt: string): void {
  const key = upstream + opensAt
  if (opens.has(key)) return
  opens.add(key)
  tell(upstream, windowNotice(upstream, opensAt))
}

// tell shows a notice in the place of the last one about the upstream.
function tell(upstream: string, text: string): void {
  if (!ready || notices.peek() !== 'on' || (!document.hidden && document.hasFocus())) return
  try {
    const n = new Notification('ridethrough', { body: text, tag: 'ridethrough ' + upstream, icon: 'icon.svg' })
    n.onclick = () => (window.focus(), n.close())
  } catch {
    notices.value = 'never' // a phone's browser shows those of service workers only
  }
}
