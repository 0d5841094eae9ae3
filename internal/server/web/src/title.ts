// The title and icon of the tab show that something waits, also while another tab is shown.
import { effect } from '@preact/signals'

import { link, waiting } from './store'

const icons = { calm: 'icon.svg', waiting: 'icon-waiting.svg', offline: 'icon-offline.svg' }

// updateTitle keeps the title and the icon up to date.
export function updateTitle(): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  effect(() => {
    const off = link.value === 'offline'
    const n = waiting.value
    document.title = (off ? 'offline — ' : n > 0 ? `(${n}) ▲ waiting — ` : '') + 'ridethrough'
    const file = icons[off ? 'offline' : n > 0 ? 'waiting' : 'calm']
    if (icon && icon.getAttribute('href') !== file) icon.href = file
  })
}
