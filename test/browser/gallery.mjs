// Takes pictures of every view of the page, of servers that are well, in trouble, new and gone, at three widths,
// light and dark, and a sheet of each view's: scripts/screenshots FOLDER runs it. They are to be looked at.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { fake, wait } from './fake.mjs'
import { answer, calm, day, outage } from './scenes.mjs'
import { browser, close, shown, until, world } from './world.mjs'

const undoing = []
const t = { after: (undo) => undoing.push(undo) }
const out = process.argv[2]
const only = process.argv[3] ?? '' // how the names begin of the pictures that are taken
mkdirSync(out, { recursive: true })

const widths = [390, 768, 1440]
const schemes = ['light', 'dark']
const views = ['now', 'requests', 'upstreams', 'incidents', 'chat', 'council', 'policy']

// sheet shows the pictures of one view beside each other.
async function sheet(name) {
  const scale = 0.62
  const cell = (scheme, width) => `<img src="${name}-${width}-${scheme}.png" style="width:${width * scale}px">`
  const rows = schemes.map((s) => `<div>${widths.map((w) => cell(s, w)).join('')}</div>`)
  const path = join(out, `${name}.html`)
  writeFileSync(path, `<!doctype html><style>body{margin:4px;background:#888}div{display:flex;align-items:start;gap:4px;margin-bottom:4px}</style>${rows.join('')}`)
  const page = await (await browser()).newPage({ viewport: { width: Math.ceil(widths.reduce((a, b) => a + b) * scale) + 20, height: 200 } })
  await page.goto('file://' + path)
  await page.screenshot({ path: join(out, `sheet-${name}.png`), fullPage: true })
  await page.close()
}

// each opens a page in every size and colour, and has it shown one view after the other. act runs once in each.
async function each(address, act) {
  for (const width of widths) {
    for (const colorScheme of schemes) {
      const context = await (await browser()).newContext({ viewport: { width, height: 800 }, colorScheme })
      const page = await context.newPage()
      await page.goto(address)
      await until('the page has an answer', () => page.locator('.link.live, .link.denied').isVisible())
      await act(page, `${width}-${colorScheme}`)
      await context.close()
    }
  }
}

// take takes the pictures of a server's views: [name, address, what to do before].
async function take(state, address, all, before = async () => {}) {
  const taken = all.filter(([name]) => `${state}-${name}`.startsWith(only))
  if (taken.length === 0) return
  await each(address, async (page, size) => {
    await before(page)
    for (const [name, to, act] of taken) {
      await page.evaluate((hash) => (location.hash = hash), `#/${to}`)
      await page.waitForTimeout(500)
      await act?.(page)
      const [width] = size.split('-')
      await page.setViewportSize({ width: Number(width), height: 800 })
      const height = await page.evaluate(() => document.documentElement.scrollHeight) // all of it is in view: rows out of view are not drawn
      await page.setViewportSize({ width: Number(width), height: Math.max(800, height) })
      await page.evaluate(() => scrollTo(0, 0))
      await page.waitForTimeout(250)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (wide > 0) console.log(`${state}-${name}-${size}: ${wide} pixels too wide`)
      await page.screenshot({ path: join(out, `${state}-${name}-${size}.png`) })
    }
  })
  for (const [name] of taken) await sheet(`${state}-${name}`)
}

const plain = (names) => names.map((v) => [v, v])
const opened = (page) => page.evaluate(() => document.querySelectorAll('main details').forEach((d) => (d.open = true))).then(() => page.waitForTimeout(400))
const refused = async (page) => {
  await page.getByLabel('Token').fill('not the token')
  await page.getByRole('button', { name: 'Open' }).click()
  await shown(page, /does not accept/)
}
const attached = async (page) => {
  const picture = async (name) => ({ name, mimeType: 'image/png', buffer: await page.screenshot() })
  await page.locator('input[type=file]').setInputFiles([await picture('the attic.png'), await picture('a-picture-of-the-cellar-with-a-very-long-name-of-its-own.png'), { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no') }])
  await shown(page, /Not attached/)
}
const begins = (state) => state.startsWith(only.slice(0, state.length)) || only === ''

if (begins('well')) {
  const w = await calm(t, { then: `think:"Let me look."+say:${JSON.stringify(answer)}` })
  const c = await w.post('conversations', { title: 'What is in the attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'What is in the attic?' })
  await w.turnEnds(c.id)
  const [incident] = (await w.get('incidents')).incidents
  await take('well', w.page, [
    ...plain(views), ['policy-open', 'policy', opened],
    ['incident', `incidents/${incident.id}`, opened], ['conversation', `chat/${c.id}`, opened], ['attached', `chat/${c.id}`, attached],
  ])
}

if (begins('new')) await take('new', (await world(t)).page, [...plain(views), ['unknown-incident', 'incidents/none'], ['unknown-conversation', 'chat/none']])

if (begins('locked')) await take('locked', (await world(t, { token: 'a-token-of-sixteen' })).page, [['now', 'now'], ['refused', 'now', refused]])

if (begins('trouble') || begins('gone')) {
  const programs = ['claude-cli/2.1.329', 'claude-cli/2.1.329', 'claude-cli/2.1.329', 'claude-cli/2.1.329', 'claude-cli/2.1.329', 'codex_cli_rs/0.169.0', 'python-httpx/0.28']
  const { w, c } = await outage(t, programs, { measured: day(), provider: ['--limits', 'requests:600,tokens:450k'] })
  await w.post('upstreams/openai', { do: 'pause' })
  void fetch(w.url + '/v1/chat/completions', { method: 'POST', headers: { 'Content-Type': 'application/json', authorization: 'Bearer test', 'User-Agent': 'opencode/1.18.33' }, body: JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: 'Hi' }] }) }).catch(() => {})
  const incident = (await w.get('incidents')).incidents.find((i) => i.open)
  const all = [...plain(views.filter((v) => v !== 'council')), ['now-open', 'now', opened], ['incident', `incidents/${incident.id}`, opened], ['conversation', `chat/${c.id}`]]
  await take('trouble', w.page, all)
  const council = async (page) => {
    await page.getByLabel('Question').fill('Why is the sky blue, and not violet?')
    await page.getByLabel(/^Models/).fill('anthropic/claude-opus-4-5\nopenai/gpt-5')
    await page.getByRole('button', { name: 'Ask the council' }).click()
    await page.waitForTimeout(1500)
  }
  await take('trouble', w.page, [['council', 'council', council]])
  const first = ([name]) => (name === 'conversation' ? 0 : 1) // it is loaded before the connection is lost, and not again
  await take('gone', w.page, all.toSorted((a, b) => first(a) - first(b)), async (page) => { // from the page: the server is needed for the next one
    await page.evaluate((hash) => (location.hash = hash), `#/chat/${c.id}`)
    await shown(page, 'And in the cellar?')
    await page.context().setOffline(true)
    await shown(page, /Connection to the gateway lost/)
  })
}

if (begins('rare')) {
  const soon = (ms) => new Date(Date.now() + ms).toISOString()
  const long = 'an-organisation/with-a-very-long-name-of-its-own/claude-sonnet-4-5-20260929-preview'
  const lists = () => ({
    hello: { version: 'test', boot: 'b', replica: 'gw-0-k2v9x0aq', conversations: true },
    warnings: [{ text: 'The store of conversations has lost 3 records of 1 conversation: see ridethrough doctor.' }],
    waits: [
      wait(1, { afterContent: true, next: 'spare' }), wait(2, { cachedUntil: soon(240_000), cacheTokens: 182_000, client: 'codex_cli_rs/0.169.0' }),
      wait(3, { state: 'paused', client: 'python-httpx/0.28', session: undefined }), wait(4, { state: 'queued', limit: 'a place', client: undefined, session: 'nightly' }),
      wait(5, { kind: 'quota', cause: 'usage limit', opensAt: soon(3 * 3_600_000), remainingMs: 3 * 3_600_000, client: 'opencode/1.18.33', upstream: 'openai' }),
      wait(6, { model: long, client: 'a-program-with-a-very-long-name-of-its-own/2026.11.23', replica: 'gw-1-bbbbbbbb', upstream: 'openai', message: 'HTTP 503: ' + 'no capacity '.repeat(30) }),
      wait(7, { upstream: 'gemini', client: 'gemini', retries: 41, remainingMs: 31 * 60_000 }),
    ],
    turns: [{ ...wait(8), conversation: 'c1', turn: 't1', title: 'A conversation whose title is as long as a first message can be before it is cut off', provider: 'anthropic', upstream: 'conversations:anthropic' }],
    upstreams: [
      { name: 'anthropic', state: 'degraded', base: 'https://api.anthropic.com', outages: [], failing: ['claude-opus-4-5'], waiting: 4, vendor: { says: 'Elevated errors on Claude Opus', fine: false, readAt: soon(-60_000), tries: 40, failures: 31 } },
      { name: 'openai', state: 'slow', base: 'https://api.openai.com/v1', outages: [], waiting: 2, firstTokenMs: 9200, firstTokenBeforeMs: 800, firstByte: [{ model: long, limitMs: 41_000 }], limits: [{ credential: 'own', name: 'requests', unit: 'requests', limit: 600, remaining: 12, usedPercent: 98, resetAt: soon(20_000), resetMs: 20_000 }, { credential: '1f3a', model: long, name: 'tokens', unit: 'tokens', limit: 450_000, remaining: 300_000, usedPercent: 33 }] },
      { name: 'gemini', state: 'recovering', outages: [], waiting: 1 }, { name: 'spare', state: 'down', outages: [], waiting: 0, reason: 'Server overloaded at the last request; nothing waits for it.' },
    ],
    incidents: [], conversations: [{ id: 'c1', title: 'A conversation whose title is as long as a first message can be', model: long, created: soon(0), changed: soon(0), turnId: 't1', waiting: true }],
  })
  const s = await fake({ lists })
  t.after(s.stop)
  await take('rare', s.url, plain(['now', 'upstreams']))
}

await close()
for (const undo of undoing) await undo()
