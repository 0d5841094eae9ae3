// The view that is shown, by the fragment of the address: #/now, #/chat/ID.
import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  if (!location.hash.startsWith('#token=')) hash.value = location.hash // a token is not a view
})

// names are the views in the order of the navigation.
export const names = ['now', 'traffic', 'upstreams', 'incidents', 'chat', 'council', 'policy'] as const
export type Name = (typeof names)[number]

// parts are the parts of the fragment after #/.
const parts = computed(() => hash.value.replace(/^#\/?/, '').split('/'))

// view is the view that is shown; the first for an unknown one.
export const view = computed<Name>(() => names.find((n) => n === parts.value[0]) ?? 'now')

// selected is the id that the view shows; "": none.
export const selected = computed(() => decode(parts.value[1] ?? ''))

export const go = (to: string): void => void (location.hash = '#/' + to)

// decode returns a part of an address without its escapes; one with invalid escapes as it is.
export function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
