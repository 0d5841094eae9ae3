// The headroom of an upstream.
import type { Limit } from '../api'
import { clock, moment } from '../time'
import { count } from '../words'

// Limits shows what is left of the limits that the upstream states.
export function Limits({ of: limits }: { of: Limit[] }) {
  if (limits.length === 0) return null
  const several = new Set(limits.map((l) => l.credential)).size > 1
  return (
    <ul class="limits" aria-label="What is left of its limits">
      {limits.map((l) => {
        const left = 100 - l.usedPercent
        return (
          <li key={`${l.credential} ${l.model ?? ''} ${l.name}`}>
            <span>{[l.name, l.model, several ? (l.credential === 'own' ? 'own key' : `key ${l.credential}`) : ''].filter(Boolean).join(' · ')}</span>
            <svg class="left" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
              <rect width="100" height="6" class="mute" />
              <rect width={left} height="6" class={left <= 5 ? 'bad' : left <= 20 ? 'amber' : 'good'} />
            </svg>
            <span class="aside">{left} % left{l.limit ? ` of ${count(l.limit)}` : ''}{l.resetAt ? `, all at ${(l.resetMs ?? 0) < 3_600_000 ? moment(l.resetAt) : clock(l.resetAt)}` : ''}</span>
          </li>
        )
      })}
    </ul>
  )
}
