// The token of the server, where it wants one. It comes in the fragment of an
// address, which no server sees, is out of it at once, and is kept for as long
// as the tab is.

import { plain } from './route'

const place = 'ridethrough-token'

// adopt takes the token out of the address; false: there is none in it.
export function adopt(): boolean {
  const match = /^#token=(.*)$/.exec(location.hash)
  if (!match) return false
  keep(plain(match[1] ?? ''))
  history.replaceState(null, '', location.pathname + location.search)
  return true
}

// keep remembers a token; "": none.
export function keep(token: string): void {
  if (token) sessionStorage.setItem(place, token)
  else sessionStorage.removeItem(place)
}

// headers are those of every request.
export function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(place)
  return token ? { ...more, 'X-Ridethrough-Token': token } : more
}
