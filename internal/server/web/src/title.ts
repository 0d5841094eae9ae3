// The tab itself says that something waits, for those who look at another one.
import { effect } from '@preact/signals'

import { link, waiting } from './store'

const icons = { calm: 'icon.svg', waiting: 'icon-waiting.svg', offline: 'icon-offline.svg' }

// label keeps the title and the icon true.
export function label(): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  effect(() => {
    const off = link.value === 'offline'
    const n = waiting.value
    document.title = (off ? 'offline — ' : n > 0 ? `(${n}) ▲ waiting — ` : '') + 'ridethrough'
    const file = icons[off ? 'offline' : n > 0 ? 'waiting' : 'calm']
    if (icon && icon.getAttribute('href') !== file) icon.href = file
  })
}
