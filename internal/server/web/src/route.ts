// The view that is shown, by the fragment of the address: #/now, #/chat/ID.
import { computed, signal } from '@preact/signals'

const isToken = (): boolean => location.hash.startsWith('#token=') // which is not a view
const hash = signal(isToken() ? '' : location.hash)
addEventListener('hashchange', () => {
  if (!isToken()) hash.value = location.hash
})

// names are the views in the order of the navigation.
export const names = ['now', 'requests', 'upstreams', 'incidents', 'chat', 'council', 'policy'] as const
export type Name = (typeof names)[number]

// parts are the parts of the fragment after #/.
const parts = computed(() => hash.value.replace(/^#\/?/, '').split('/'))

// view is the view that is shown: the first one without an address, null for an unknown address.
export const view = computed<Name | null>(() => (parts.value[0] ? (names.find((n) => n === parts.value[0]) ?? null) : 'now'))

// address is what the view is shown for, for messages.
export const address = computed(() => hash.value)

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
