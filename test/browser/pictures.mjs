// Takes the pictures of docs/page.md; scripts/screenshots runs it.
import { join } from 'node:path'

import { browser, close, shown, until, world } from './world.mjs'

const undoing = []
const t = { after: (undo) => undoing.push(undo) }
const out = process.argv[2]

const answer = 'There are **two files** in `attic/`:\n\n1. `letters.txt`, which is from 1987\n2. `map.png`\n\n```sh\nls -l attic/\n```'
const w = await world(t, {
  replies: `529*2, ok, ok, think:"Let me look."+say:${JSON.stringify(answer)}`, then: '529',
  wait: '1s,1s,1s,45s,2m',
})

// Something has been, and something is: an outage that is over, a conversation,
// and an outage that lasts.
await w.call('early')
await w.call('and again')
const c = await w.post('conversations', { title: 'What is in the attic' })
await w.post(`conversations/${c.id}/turns`, { text: 'What is in the attic?' })
await until('the first turn ends', async () => (await w.get(`conversations/${c.id}`)).turnId === undefined)
await w.post(`conversations/${c.id}/turns`, { text: 'And in the cellar?' })
await w.post(`conversations/${c.id}/turns`, { text: 'Then look into the garden.' })
for (const [who, what] of [['claude-cli/2.1.329', 'one'], ['codex_cli_rs/0.169.0', 'two'], ['python-httpx/0.28', 'three']]) void w.call(what, null, who).catch(() => {})
await until('all wait long', async () => {
  const waits = (await w.get('waits')).waits
  return waits.length === 3 && waits.some((x) => x.remainingMs > 20_000) && (await w.get(`conversations/${c.id}`)).wait?.remainingMs > 20_000
})

const views = [['now', 'now'], ['upstreams', 'upstreams'], ['incidents', 'incidents'], ['chat', `chat/${c.id}`], ['policy', 'policy']]
const wide = { width: 1100, height: 760 }
const narrow = { width: 320, height: 640 }
const takes = [
  ...views.map(([name, to]) => [name, to, { viewport: wide }]),
  ['now-dark', 'now', { viewport: wide, colorScheme: 'dark' }],
  ['chat-dark', `chat/${c.id}`, { viewport: wide, colorScheme: 'dark' }],
  ['now-320', 'now', { viewport: narrow }],
  ['chat-320', `chat/${c.id}`, { viewport: narrow }],
]
for (const [name, to, options] of takes) {
  const context = await (await browser()).newContext(options)
  const page = await context.newPage()
  await page.goto(`${w.page}#/${to}`)
  await until('the page is live', () => page.locator('.link.live').isVisible())
  if (name === 'incidents') await page.locator('summary').first().click()
  if (to.startsWith('chat/')) await shown(page, 'Then look into the garden.')
  await page.waitForTimeout(600)
  await page.screenshot({ path: join(out, name + '.png') })
  await context.close()
}

// A day on which all was well but for an outage, and its latest requests.
const began = Date.now()
const periods = (steps, stepMs, scale) => Array.from({ length: steps }, (_, slot) => {
  const last = Math.floor(began / stepMs)
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
const passed = (day, hour) => ({ strip: { quarters: periods(96, 900_000, day) }, hour: { quarters: periods(60, 60_000, hour) }, saved: { shares: null }, last: new Date(began).toISOString() })
const calm = await world(t, {
  replies: 'ok, 529*2, ok, ok, 401, ok', then: 'ok', wait: '300ms,500ms',
  measured: {
    v: 1, born: new Date(began - 3 * 86_400_000).toISOString(), upstreams: { anthropic: passed(60, 5), openai: passed(25, 2) },
    incidents: [{ upstream: 'anthropic', began: new Date(began - 15 * 3_600_000).toISOString(), ended: new Date(began - 15 * 3_600_000 + 9_660_000).toISOString(), recovered: true, models: { 'claude-opus-4-5': false }, tries: 20, failures: 17, calls: 13, held: 13, kinds: { overloaded: 17 } }],
  },
})
for (const [program, stream] of [['claude-cli/2.1.329', true], ['codex_cli_rs/0.169.0', true], ['claude-cli/2.1.329', true], ['python-httpx/0.28', false], ['claude-cli/2.1.329', true], ['opencode/1.18.33', true]]) await (await calm.call('Hi', null, program, stream)).text()
const fresh = await world(t)
for (const [name, of, options] of [['traffic', calm, { viewport: { width: 1100, height: 1000 } }], ['traffic-dark', calm, { viewport: { width: 1100, height: 1000 }, colorScheme: 'dark' }], ['traffic-390', calm, { viewport: { width: 390, height: 1100 } }], ['setup', fresh, { viewport: wide }]]) {
  const context = await (await browser()).newContext(options)
  const page = await context.newPage()
  await page.goto(of.page + (of === calm ? '#/traffic' : ''))
  await shown(page, of === calm ? 'Recent requests' : 'Point a program here')
  await page.waitForTimeout(600)
  await page.screenshot({ path: join(out, name + '.png') })
  await context.close()
}

// A council, in which one member waits for its provider and one has failed.
const said = (words) => `say:${JSON.stringify(words)}`
const k = await world(t, {
  replies: `${said('Rayleigh scattering: air scatters short waves more than long ones.')}, 429;retry-after=12, 401, ${said('It is blue because blue light is scattered most.')}`,
  then: said('Air scatters **short waves** far more than long ones, so blue light reaches us from all over the sky.\n\nViolet is scattered even more, but there is less of it in sunlight, and our eyes are less open to it.'),
})
const context = await (await browser()).newContext({ viewport: { width: 1100, height: 860 } })
const page = await context.newPage()
await page.goto(k.page + '#/council')
await page.getByLabel('Question').fill('Why is the sky blue, and not violet?')
await page.getByLabel(/^Models/).fill('anthropic/claude-opus-4-5\nopenai/gpt-5\nanthropic/claude-sonnet-4-5')
await page.getByRole('button', { name: 'Ask the council' }).click()
await until('one waits and two have ended', async () => (await page.locator('.member.waiting').count()) === 1 && (await page.locator('.member.failed, .member.answered').count()) === 2)
await page.waitForTimeout(600)
await page.screenshot({ path: join(out, 'council.png') })
await shown(page, 'The council has answered')
await page.setViewportSize(narrow)
await page.emulateMedia({ colorScheme: 'dark' })
await page.locator('#council').evaluate((e) => e.scrollIntoView())
await page.waitForTimeout(300)
await page.screenshot({ path: join(out, 'council-320.png') })
await context.close()
await close()
for (const undo of undoing) await undo()
