// The server's token. It comes in the fragment of the address, which is not sent, is removed from there at
// once, and is kept until the tab is closed.

import { decode } from './route'

const storageKey = 'ridethrough-token'

// takeToken moves the token from the address to the storage; false: the address has no token.
export function takeToken(): boolean {
  const match = /^#token=(.*)$/.exec(location.hash)
  if (!match) return false
  storeToken(decode(match[1] ?? ''))
  history.replaceState(null, '', location.pathname + location.search)
  return true
}

// storeToken keeps a token; "": none.
export function storeToken(token: string): void {
  if (token) sessionStorage.setItem(storageKey, token)
  else sessionStorage.removeItem(storageKey)
}

// headers are the headers of every request.
export function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(storageKey)
  return token ? { ...more, 'X-Ridethrough-Token': token } : more
}
