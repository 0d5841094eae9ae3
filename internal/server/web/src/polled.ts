// Answers that the page asks for again and again, for as long as it shows them.
import { useEffect, useState } from 'preact/hooks'

import { get } from './call'
import { link } from './store'

// usePolled returns the latest answer of a path below /-/, asked for again after so many milliseconds; null: there is
// none yet. After a failure the one before stays: the state of the connection is shown elsewhere.
export function usePolled<T>(path: string, after: number): T | null {
  const [answer, set] = useState<T | null>(null)
  useEffect(() => {
    let over = false
    let asking = false
    const ask = async () => {
      if (asking || document.hidden || link.value === 'denied') return
      asking = true
      const value = await get<T>(path).catch(() => null)
      asking = false
      if (!over && value) set(value)
    }
    void ask()
    const timer = setInterval(ask, after)
    document.addEventListener('visibilitychange', ask)
    return () => {
      over = true
      clearInterval(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [path, after])
  return answer
}
