// Where in the page somebody is, as the fragment of the address says:
// #/now, #/chat/ID.
import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  if (!location.hash.startsWith('#token=')) hash.value = location.hash // that is no place
})

// names are the views in the order of the navigation.
export const names = ['now', 'upstreams', 'incidents', 'chat', 'council', 'policy'] as const
export type Name = (typeof names)[number]

// parts are those of the address behind #/.
const parts = computed(() => hash.value.replace(/^#\/?/, '').split('/'))

// view is the one that is shown; an address that is none shows the first.
export const view = computed<Name>(() => names.find((n) => n === parts.value[0]) ?? 'now')

// chosen is what is looked at within the view; "": nothing in particular.
export const chosen = computed(() => plain(parts.value[1] ?? ''))

export const go = (to: string): void => void (location.hash = '#/' + to)

// plain undoes the escapes of a part of an address, if they are any.
export function plain(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
