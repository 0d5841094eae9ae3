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
    return waits.length === programs.length && waits.some((x) => x.remainingMs > 20_000) && (await w.get(`conversations/${c.id}`)).wait?.remainingMs > 20_000
  })
  return { w, c }
}

// periods are what was measured in the latest steps of a time, at a scale.
function periods(began, steps, stepMs, scale) {
  const last = Math.floor(began / stepMs)
  return Array.from({ length: steps }, (_, slot) => {
    const ago = (((last - slot) % steps) + steps) % steps
    const requests = Math.round(scale * (1.5 + Math.sin(ago / steps * 9) + 0.4 * Math.sin(ago * 1.7)))
    const fails = ago > steps * 0.55 && ago < steps * 0.65
    const size = 118 + Math.round(8 * Math.sin(ago / 4)) + (fails ? 10 : 0) // of a histogram: a twelfth of an octave above 1 ms
    return {
      n: last - ago, requests, ok: requests, first: [{ s: size, n: requests }, { s: size + 14, n: Math.ceil(requests / 15) }],
      added: [{ s: 0, n: requests }, { s: 24, n: Math.ceil(requests / 8) }, ...(fails ? [{ s: 150, n: 3 }] : [])],
      ...(fails ? { failed: 4, retried: 1, retries: 4, waited: 540e9, kinds: { overloaded: 3, 'unavailable/network': 1 } } : {}),
    }
  })
}

// day is the history of a day that had one outage.
export function day() {
  const began = Date.now()
  const passed = (day, hour) => ({
    strip: { quarters: periods(began, 96, 900_000, day) }, hour: { quarters: periods(began, 60, 60_000, hour) },
    saved: { shares: null }, last: new Date(began).toISOString(),
  })
  const [from, to] = [began - 15 * 3_600_000, began - 15 * 3_600_000 + 9_660_000].map((at) => new Date(at).toISOString())
  return {
    v: 1, born: new Date(began - 3 * 86_400_000).toISOString(), upstreams: { anthropic: passed(60, 5), openai: passed(25, 2) },
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
