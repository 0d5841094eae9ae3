// The title and icon of the tab show which view it is and how many calls wait, also while another tab is shown.
import { effect } from '@preact/signals'

import { conversation } from './chat'
import { selected, view, type Name } from './route'
import { conversations, incidents, link, waiting } from './store'
import { dated } from './time'
import { shownName } from './words'

// titles are the views' names.
export const titles: Record<Name, string> = {
  now: 'Now', requests: 'Requests', upstreams: 'Upstreams', incidents: 'Incidents', chat: 'Chat', council: 'Council', policy: 'Policy',
}

// shows names what the tab shows; "": the first view.
function shows(): string {
  if (view.value === null) return 'No such view'
  const id = selected.value
  if (view.value === 'chat' && id) return conversation.value?.title || conversations.row(id)?.value.title || 'Conversation'
  const incident = view.value === 'incidents' ? incidents.row(id)?.value : undefined
  if (incident) return `Incident at ${shownName(incident.upstream)}, ${dated(incident.began)}`
  return view.value === 'now' ? '' : titles[view.value]
}

// updateTitle keeps the title and the icon up to date.
export function updateTitle(): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  effect(() => {
    const off = link.value === 'offline'
    const n = waiting.value
    document.title = [off ? 'offline' : n > 0 ? `(${n}) ▲ waiting` : '', shows(), 'ridethrough'].filter(Boolean).join(' — ')
    const file = off ? 'icon-offline.svg' : n > 0 ? counted(n) : 'icon.svg'
    if (icon && icon.getAttribute('href') !== file) icon.href = file
  })
}

// counted draws the number of waiting calls, which fits into 16 pixels up to two digits.
function counted(n: number): string {
  const text = n > 99 ? '99+' : String(n)
  const size = [26, 22, 15][text.length - 1]
  return 'data:image/svg+xml,' + encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="1" y="1" width="30" height="30" rx="7" fill="#f0a30a" stroke="#8a4b00" stroke-width="1.6"/>` +
      `<text x="16" y="16" dy=".36em" text-anchor="middle" font-family="system-ui,sans-serif" font-weight="700" font-size="${size}" fill="#3b2100">${text}</text></svg>`)
}
