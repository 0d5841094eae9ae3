// The page during an outage.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { close, countdown, open, shown, text, until, world } from './world.mjs'

after(close)

/** The status of a last error for Claude Code, which would send a 529 again. */
const final = 400

const lost = /^Connection to the gateway lost at \d\d:\d\d; what waited there is shown as last seen\.$/
const waitsForProbe = 'waits for the next probe'

test('an outage shows, counts down and ends', async (t) => {
  const w = await world(t, { replies: '529*2', wait: '5s' })
  const page = await open(t, w.page)
  await shown(page, 'Nothing waits')
  const answer = w.call()
  await shown(page, '1 call waits')
  await shown(page, 'Server overloaded — retrying')
  await shown(page, 'attempt 1/60')
  assert.match(await text(page, '.held header .words'), /^HTTP 529: /)
  assert.match(await text(page, '.rows .who'), /^claude-cli\/2\.1\.329/)
  const seen = new Set()
  await until('the number ticks', async () => {
    const words = (await page.locator('.held [role=timer]').first().textContent({ timeout: 1000 }).catch(() => '')) ?? ''
    if (words) seen.add(words)
    return seen.size >= 3
  })
  for (const words of seen) assert.match(words, /^(in [1-9]\d*s|now)$/)
  assert.equal(await page.title(), '(1) ▲ waiting — ridethrough')
  assert.match(decodeURIComponent(await page.getAttribute('link[rel=icon]', 'href')), /^data:image\/svg\+xml,.*>1<\/text>/)
  assert.match(await text(page, '[role=status]'), /^1 call waits for anthropic: server overloaded, retrying (in \ds|now) \(attempt 1\/60\)\.$/)
  await shown(page, 'attempt 2/60')
  assert.equal((await answer).status, 200)
  await shown(page, 'Nothing waits')
  assert.equal(await page.title(), 'ridethrough')
  assert.equal(await page.getAttribute('link[rel=icon]', 'href'), 'icon.svg')
  await shown(page, /Recovered after 2 retries \(waited 1\ds\)/)
  await page.goto(w.page + '#/upstreams')
  await shown(page, 'Operational')
})

test('the countdown is the server\'s, whatever the clock of the reader says', async (t) => {
  const w = await world(t, { then: '529', wait: '30s' })
  const page = await open(t, 'about:blank')
  await page.addInitScript(() => {
    const real = Date.now
    Date.now = () => real() + 7_200_000 // two hours ahead
  })
  void w.call().catch(() => {})
  await page.goto(w.page)
  await shown(page, 'retrying')
  const left = countdown(await text(page, '.held [role=timer]'))
  assert.ok(left > 0 && left <= 30, String(left))
})

test('a call is retried at once, and given up', async (t) => {
  const w = await world(t, { replies: '529', then: '529', wait: '10m' })
  const page = await open(t, w.page)
  const answer = w.call()
  await shown(page, 'attempt 1/60')
  assert.match(await text(page, '.held [role=timer]'), /^at \d\d:\d\d, in 10m$/)
  await page.getByRole('button', { name: /^Retry now: claude-cli/ }).click()
  const failed = () => w.failures()
  await until('it is tried, which costs no attempt', async () => (await failed()) === 2 && (await text(page, '.sentence')).includes('attempt 1/60'))
  await page.getByRole('button', { name: /^Give up: claude-cli/ }).click()
  assert.equal((await answer).status, final)
  await shown(page, 'Nothing waits')
  await shown(page, 'Failed before its first retry')
})

test('all waits for an upstream are retried, paused and given up, after a confirmation', async (t) => {
  const w = await world(t, { then: '529', wait: '10m' })
  const page = await open(t, w.page)
  const answers = [w.call('one'), w.call('two'), w.call('three')]
  await shown(page, '3 calls wait')
  await page.getByRole('button', { name: 'Pause anthropic' }).click()
  await shown(page, /Paused — 3 calls wait until it is resumed/)
  await page.getByRole('button', { name: 'Resume anthropic' }).click()
  await page.getByRole('button', { name: 'Give up all for anthropic' }).click()
  await page.getByRole('button', { name: 'No', exact: true }).click()
  await shown(page, '3 calls wait')
  await page.getByRole('button', { name: 'Give up all for anthropic' }).click()
  await page.getByRole('button', { name: 'Yes', exact: true }).click()
  assert.deepEqual((await Promise.all(answers)).map((a) => a.status), [final, final, final])
  await shown(page, 'Nothing waits')
})

test('a button whose request fails shows why', async (t) => {
  const w = await world(t, { then: '529', wait: '10m' })
  const page = await open(t, w.page, { expects: /404|ERR_/ })
  void w.call().catch(() => {})
  await shown(page, 'attempt 1/60')
  await page.route('**/-/waits/*', (route) => route.fulfill({ status: 404, contentType: 'application/problem+json', body: '{"title":"Not Found","status":404,"code":"not-found","detail":"no request 1 waits"}' }))
  await page.getByRole('button', { name: /^Retry now: claude-cli/ }).click()
  await shown(page, 'Not done: no request 1 waits')
  await page.unroute('**/-/waits/*')
  await page.route('**/-/waits/*', (route) => route.abort())
  await page.getByRole('button', { name: /^Retry now: claude-cli/ }).click()
  await shown(page, 'Not done: the server did not answer')
})

test('a page without its server says so, claims nothing, and reconnects by itself', async (t) => {
  const w = await world(t, { then: '529', wait: '1m' })
  const page = await open(t, w.page, { expects: /ERR_|Failed to load/ })
  void w.call().catch(() => {})
  await shown(page, '1 call waits')
  await page.waitForTimeout(3000) // until it is written
  await w.down('SIGKILL')
  await shown(page, lost)
  assert.equal(await page.title(), 'offline — ridethrough')
  assert.equal(await page.locator('.held').count(), 1) // what was known stays
  assert.equal(await text(page, 'h1'), '1 call waited when last seen')
  assert.equal(await text(page, '.sentence'), 'Server overloaded (1 call)')
  assert.match(await text(page, '.rows [role=timer]'), /^at \d\d:\d\d:\d\d$/) // what was due, and no countdown
  assert.equal(await page.locator('.held button, nav .count').count(), 0)
  assert.equal(await page.locator('.link.offline').evaluate((e) => getComputedStyle(e).borderTopStyle), 'none') // the banner's frame is not its
  const banner = await text(page, 'div.lost b')
  await page.waitForTimeout(2500)
  assert.equal(await text(page, 'div.lost b'), banner)
  await w.up()
  await shown(page, 'Nothing waits')
  assert.equal(await page.locator('div.lost').count(), 0)
  await shown(page, 'The gateway was ended while 1 call waited. Their clients have sent 0 again since; not yet: 1 of claude-cli/2.1.329.')
  void w.call().catch(() => {})
  await until('it is sent again', async () => (await page.locator('.warnings').count()) === 0)
})

test('the head of an upstream and its rows show one time', async (t) => {
  const w = await world(t, { then: '529', wait: '1m' })
  const page = await open(t, w.page)
  for (let i = 0; i < 3; i++) void w.call(`call ${i}`).catch(() => {})
  for (let i = 3; i < 6; i++) void w.call(`call ${i}`, null, 'codex_cli/1').catch(() => {})
  await shown(page, '6 calls wait')
  await shown(page, waitsForProbe)
  for (let i = 0; i < 40; i++) {
    const [head, ...rows] = await page.locator('.held').evaluate((e) => [e.querySelector('.sentence'), ...e.querySelectorAll('.rows .when')].map((x) => x.textContent))
    const seconds = rows.map(countdown).filter((s) => !Number.isNaN(s))
    const first = countdown(/(in \S+)…/.exec(head)?.[1] ?? '')
    if (!Number.isNaN(first)) assert.equal(Math.min(...seconds), first, `${head}: ${rows}`)
    await page.waitForTimeout(200)
  }
  const all = await w.get('waits')
  const u = await w.get('upstreams/anthropic')
  assert.deepEqual([...new Set(all.waits.map((v) => v.outage ?? 'none'))].filter((n) => n !== 'none'), [u.outages[0].name])
})

test('a call that was never tried is not said to have failed', async (t) => {
  const w = await world(t)
  await w.post('upstreams/anthropic', { do: 'pause' })
  void w.call().catch(() => {})
  const page = await open(t, w.page, { expects: /ERR_|Failed to load/ })
  await shown(page, 'Paused — it waits until it is resumed')
  assert.match(await text(page, '.rows .spent'), /^not tried yetsince/)
  await page.context().setOffline(true)
  await shown(page, lost)
  assert.equal(await text(page, '.sentence'), 'Paused (1 call)')
})

test('a view that is opened without the server is loaded once it is back', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page, { expects: /ERR_|Failed to load/ })
  await shown(page, 'Point a program here')
  await page.context().setOffline(true)
  await shown(page, lost)
  await page.getByRole('link', { name: 'Policy' }).click()
  await shown(page, 'It is tried again when the connection is back.')
  await page.getByRole('link', { name: 'Requests' }).click()
  await shown(page, 'Point a program here') // as last seen
  await page.getByRole('link', { name: 'Policy' }).click()
  await page.context().setOffline(false)
  await shown(page, 'In use here')
})

test('a lost and restored network is noticed at once', async (t) => {
  const w = await world(t, { replies: '529', then: '529', wait: '10m' })
  const page = await open(t, w.page, { expects: /ERR_|Failed to load/ })
  void w.call().catch(() => {})
  await shown(page, '1 call waits')
  await page.context().setOffline(true)
  await shown(page, lost)
  await page.context().setOffline(false)
  await page.locator('div.lost').waitFor({ state: 'detached' })
  await shown(page, '1 call waits')
})

test('two tabs show the same and follow each other', async (t) => {
  const w = await world(t, { then: '529', wait: '10m' })
  const one = await open(t, w.page)
  const two = await open(t, w.page, { in: one.context() })
  const answer = w.call()
  await shown(one, 'attempt 1/60')
  await shown(two, 'attempt 1/60')
  await two.getByRole('button', { name: /^Give up: claude-cli/ }).click()
  assert.equal((await answer).status, final)
  await shown(one, 'Nothing waits')
})

test('a page that is loaded during a wait shows the rest of the wait', async (t) => {
  const w = await world(t, { then: '529', wait: '4m' })
  const page = await open(t, w.page)
  void w.call().catch(() => {})
  await shown(page, 'attempt 1/60')
  const left = async () => countdown(await text(page, '.held .rows [role=timer]'))
  await until('it counts down', async () => (await left()) < 239)
  const before = await left()
  await page.reload()
  await shown(page, 'attempt 1/60')
  const after = await left()
  assert.ok(after > 0 && after <= before, `${after} s left after the reload, ${before} s before it`)
  await page.getByRole('button', { name: /^Give up: claude-cli/ }).click()
  await shown(page, 'Nothing waits')
})

test('the token is taken from the fragment and removed from it', async (t) => {
  const w = await world(t, { then: '529', wait: '10m', token: 'a-long-enough-token' })
  const page = await open(t, w.page + '#token=a-long-enough-token', { expects: /401/ })
  await shown(page, 'Nothing waits')
  assert.equal(new URL(page.url()).hash, '')
  await page.reload()
  await shown(page, 'Nothing waits')
  const other = await open(t, w.page, { expects: /401/ })
  await shown(other, 'This server needs a token')
  assert.equal(await other.locator('nav, .notices').count(), 0) // nothing there can be seen
  await other.getByLabel('Token').fill('a-long-enough-token')
  await other.getByRole('button', { name: 'Open' }).click()
  await shown(other, 'Nothing waits')
})

test('a token in a later address of the open page is taken and removed', async (t) => {
  const w = await world(t, { token: 'a-long-enough-token' })
  const page = await open(t, w.page + '#token=wrong', { expects: /401/ })
  await shown(page, 'This server needs a token')
  await page.getByLabel('Token').fill('wrong again')
  await page.keyboard.press('Enter')
  await shown(page, 'The server does not accept this token.')
  await page.evaluate(() => (location.hash = '#token=a-long-enough-token'))
  await shown(page, 'Nothing waits')
  assert.equal(new URL(page.url()).hash, '')
  await page.goBack().catch(() => {})
  assert.ok(!page.url().includes('long-enough'))
})

test('a turn leaves the list when it ends, and its end is shown', async (t) => {
  const w = await world(t, { replies: '529', then: '529', wait: '10m' })
  const page = await open(t, w.page)
  const c = await w.post('conversations', { title: 'The attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'Hello' })
  await shown(page, '1 call waits')
  await page.getByRole('button', { name: 'Stop: The attic' }).press('Enter')
  await shown(page, 'Nothing waits')
  assert.equal(await page.locator('.rows > li').count(), 0)
  await shown(page, 'Left or stopped while it waited')
  await until('the focus is caught', () => page.evaluate(() => document.activeElement?.tagName === 'H1'))
})

test('a waiting turn is moved to another model', async (t) => {
  const w = await world(t, { replies: '529', then: 'say:"From another."', wait: '10m' })
  const page = await open(t, w.page, { expects: /422|400/ })
  const c = await w.post('conversations', { title: 'The attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'Hello' })
  await shown(page, '1 call waits')
  const button = page.getByRole('button', { name: 'Move to another model: The attic' })
  const model = page.getByLabel('Model to move to: The attic')
  await button.click()
  await until('the field has the focus', () => model.evaluate((e) => e === document.activeElement))
  await model.press('Escape')
  await until('the button has it again', () => button.evaluate((e) => e === document.activeElement))
  await button.click()
  await model.fill('none/large')
  await page.getByRole('button', { name: 'Move: The attic' }).click()
  await shown(page, /Not done: .*none/)
  await model.fill('openai/gpt-5')
  await model.press('Enter')
  await shown(page, 'Nothing waits')
  await page.goto(`${w.page}#/chat/${c.id}`)
  await shown(page, 'From another.')
  assert.equal((await w.get('requests')).requests[0].model, 'gpt-5')
})

test('a turn that has waited recovers, and then another one waits in the same conversation', async (t) => {
  const w = await world(t, { replies: '529, ok', then: '529', wait: '10m' })
  const page = await open(t, w.page)
  const c = await w.post('conversations', { title: 'The attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'Hello' })
  await w.post(`conversations/${c.id}/turns`, { text: 'And then?' })
  await shown(page, '1 call waits')
  await page.getByRole('button', { name: 'Retry now: The attic' }).click()
  await until('the second turn waits', async () => (await w.get('conversations/' + c.id)).queue.length === 0)
  await shown(page, 'attempt 1/60')
  await until('one row is left', async () => (await page.locator('.rows > li').count()) === 1)
})

const quarter = 900_000 // ms, as the server counts

// swift is the file of a server that had 50 answers within a tenth of a second,
// three quarters of an hour ago.
function swift() {
  const n = Math.floor(Date.now() / quarter) - 3
  const quarters = Array.from({ length: 96 }, () => ({ n: 0 }))
  quarters[n % 96] = { n, ok: 50, first: [{ s: 80, n: 50 }] }
  const then = new Date(n * quarter).toISOString()
  return { v: 1, born: then, upstreams: { anthropic: { day: quarters, last: then } }, incidents: [] }
}

test('an upstream with a late first token is slow, and shows by how much', async (t) => {
  const w = await world(t, { then: 'silence:2500ms', measured: swift() })
  const page = await open(t, w.page + '#/upstreams')
  await shown(page, 'Operational') // by what was measured before
  const answers = await Promise.all(Array.from({ length: 5 }, (_, i) => w.call(`number ${i}`, null, 'claude-cli/2.1.329', true)))
  for (const a of answers) await a.text()
  await page.locator('.card.slow', { hasText: 'anthropic' }).waitFor()
  await shown(page, /The first token takes [2-9]\.\d s; in the day before it took 0\.1 s\./)
})

test('a failing upstream without waits is down, and its failures are an incident', async (t) => {
  const w = await world(t, { then: '529', wait: '50ms', retries: 2 })
  const page = await open(t, w.page + '#/upstreams')
  assert.equal((await w.call()).status, final)
  await page.locator('.card.down', { hasText: 'anthropic' }).waitFor()
  await shown(page, 'Server overloaded at the last request; nothing waits for it.')
  await page.goto(w.page + '#/incidents')
  await page.locator('.incidents summary', { hasText: 'in progress' }).waitFor()
})

test('the page counts what was held', async (t) => {
  const w = await world(t, { replies: '529*6', wait: '100ms', retries: 60 })
  const page = await open(t, w.page + '#/upstreams')
  const answers = await Promise.all(['one', 'two', 'three'].map((name) => w.call(name)))
  assert.deepEqual(answers.map((a) => a.status), [200, 200, 200])
  await shown(page, 'Held 3 calls through 1 outage in the last day.')
  await page.goto(w.page + '#/incidents')
  await page.locator('.incidents summary').click()
  for (const fact of [/Tries\d+, of which 6 failed/, /Held and answered3 calls/, /Lost0 calls/]) await page.locator('.facts div', { hasText: fact }).waitFor()
})

test('one call is paused and resumed', async (t) => {
  const w = await world(t, { then: '529', wait: '10m' })
  const page = await open(t, w.page)
  void w.call().catch(() => {})
  await shown(page, 'attempt 1/60')
  await page.getByRole('button', { name: /^Pause: claude-cli/ }).click()
  await until('it is paused', async () => (await w.get('waits')).waits[0].state === 'paused')
  await page.getByRole('button', { name: /^Resume: claude-cli/ }).click()
  await until('it goes on', async () => (await w.get('waits')).waits[0].state === 'waiting')
})
