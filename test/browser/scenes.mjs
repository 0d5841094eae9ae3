// The servers that are in the pictures: during an outage, and on a day on which all was well but for one.
import { until, world } from './world.mjs'

export const answer = 'There are **two files** in `attic/`:\n\n1. `letters.txt`, which is from 1987\n2. `map.png`\n\n```sh\nls -l attic/\n```'

// outage is an outage that is over, a conversation that has an answer, and an outage that lasts, for the turn after
// it and for calls of some programs.
export async function outage(t, programs, more = {}) {
  const w = await world(t, {
    replies: `529*2, ok, ok, think:"Let me look."+say:${JSON.stringify(answer)}`, then: '529',
    wait: '1s,1s,1s,45s,2m', ...more,
  })
  await w.call('early')
  await w.call('and again')
  const c = await w.post('conversations', { title: 'What is in the attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'What is in the attic?' })
  await w.turnEnds(c.id)
  await w.post(`conversations/${c.id}/turns`, { text: 'And in the cellar?' })
  await w.post(`conversations/${c.id}/turns`, { text: 'Then look into the garden.' })
  programs.forEach((program, i) => void w.call(`call ${i}`, null, program).catch(() => {}))
  await until('all wait long', async () => {
    const waits = (await w.get('waits')).waits
    return waits.length === programs.length + 1 && waits.some((x) => x.remainingMs > 20_000) // the turn is one of them
  })
  return { w, c }
}

// day is the history of a day that had one outage.
export function day() {
  const began = Date.now()
  const last = Math.floor(began / 900_000)
  const quarters = (requests) => Array.from({ length: 96 }, (_, slot) => {
    const ago = (((last - slot) % 96) + 96) % 96
    const fails = ago > 52 && ago < 62
    const size = 118 + (fails ? 10 : 0) // of a histogram: a twelfth of an octave above 1 ms
    return { n: last - ago, ok: requests, first: [{ s: size, n: requests }], ...(fails ? { calls: 1, retries: 4, waited: 540e9 } : {}) }
  })
  const upstream = (requests) => ({ day: quarters(requests), last: new Date(began).toISOString() })
  const [from, to] = [began - 15 * 3_600_000, began - 15 * 3_600_000 + 9_660_000].map((at) => new Date(at).toISOString())
  return {
    v: 1, born: new Date(began - 3 * 86_400_000).toISOString(), upstreams: { anthropic: upstream(60), openai: upstream(25) },
    incidents: [{ upstream: 'anthropic', began: from, ended: to, recovered: true, models: { 'claude-opus-4-5': false }, tries: 20, failures: 17, calls: 13, held: 13, kinds: { overloaded: 17 } }],
  }
}

// calm is that day, and its latest requests.
export async function calm(t, more = {}) {
  const w = await world(t, { replies: 'ok, 529*2, ok, ok, 401, ok', then: 'ok', wait: '300ms,500ms', measured: day(), ...more })
  for (const [program, stream] of [['claude-cli/2.1.329', true], ['codex_cli_rs/0.169.0', true], ['claude-cli/2.1.329', true], ['python-httpx/0.28', false], ['claude-cli/2.1.329', true], ['opencode/1.18.33', true]]) {
    await (await w.call('Hi', null, program, stream)).text()
  }
  return w
}
