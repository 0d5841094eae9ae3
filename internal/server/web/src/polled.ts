// Answers of the server that a view shows, asked for again for as long as it shows them.
import { useEffect, useState } from 'preact/hooks'

import { get } from './call'
import { link, lostAt } from './store'

const known = new Map<string, unknown>() // the latest answers by path, for a view that is opened again
const knownBound = 50

// usePolled returns the latest answer of a path below /-/, and why the last request for it has failed. It asks again
// after a time in milliseconds, Infinity: never, and when the server is back. Without an answer the old one stays.
export function usePolled<T>(path: string, after = Infinity): [answer: T | null, failed: string] {
  const [answer, set] = useState<T | null>((known.get(path) as T | undefined) ?? null)
  const [failed, fail] = useState('')
  const lost = lostAt.value !== null
  useEffect(() => {
    if (lost) return
    let over = false
    let asking = false
    const received = (value: T) => {
      known.delete(path)
      known.set(path, value)
      if (known.size > knownBound) known.delete([...known.keys()][0] ?? '')
      if (!over) (set(value), fail(''))
    }
    const ask = async () => {
      if (asking || document.hidden || link.value === 'denied') return
      asking = true
      await get<T>(path).then(received, (e: Error) => over || fail(e.message))
      asking = false
    }
    void ask()
    const timer = after === Infinity ? undefined : setInterval(ask, after)
    document.addEventListener('visibilitychange', ask)
    return () => {
      over = true
      clearInterval(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [path, after, lost])
  return [answer, failed]
}
