// Usual: how long the outages of an upstream lasted, where there were enough of them.
import { usual } from '../chart'
import { incidents, serverNow } from '../store'
import { roughly } from '../time'

export function Usual({ upstream }: { upstream: string }) {
  void incidents.version.value
  const known = usual(upstream, incidents.all(), serverNow())
  return known ? <p class="usual">Usually over in {roughly(known.ms)} ({known.n} outages in 30 days)</p> : null
}
