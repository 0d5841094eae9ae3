// The page when all is well: what waiting has achieved, the latest requests, and what to do before
// the first one.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { accessible, close, open, shown, text, until, world } from './world.mjs'

after(close)

// lively starts a world in which some requests have ended: seven answered, two of them after retries, one refused and
// one cut.
async function lively(t, more = {}) {
  const w = await world(t, { replies: 'ok, 529*2, ok, 529, ok, 401, cut:3', then: 'ok', wait: '200ms', ...more })
  const ask = async (program, stream) => (await w.call('Hi', null, program, stream)).text().catch(() => {})
  await ask('claude-cli/2.1.329', true)
  for (const program of ['claude-cli/2.1.329', 'codex_cli_rs/0.169.0']) await ask(program, false)
  await ask('python-httpx/0.28', false)
  for (let i = 0; i < 5; i++) await ask('opencode/1.18.33', true)
  await until('all have ended', async () => (await w.get('requests')).all === 9)
  return w
}

test('until the first request the page says where to point a program', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page, { context: { permissions: ['clipboard-read', 'clipboard-write'] } })
  await shown(page, 'Point a program here')
  const origin = new URL(w.page).origin
  assert.match(await text(page, '.setup details[open] pre'), new RegExp(`"ANTHROPIC_BASE_URL": "${origin}"`))
  await page.getByRole('button', { name: 'Copy for claude' }).click()
  await shown(page, 'Copied')
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^\\{[^]*${origin}"[^]*\\}$`))
  await page.locator('.setup summary', { hasText: 'codex' }).click()
  await shown(page, `openai_base_url = "${origin}/v1"`)
  assert.ok(!(await page.locator('body').textContent()).includes('{url}'))
  await (await w.call()).text()
  await shown(page, 'Recent requests')
  assert.equal(await page.locator('.setup').count(), 0)
})

test('the page shows what was held and what is left of the limits', async (t) => {
  const w = await lively(t, { provider: ['--limits', 'requests:600,tokens:450k'] })
  const page = await open(t, w.page)
  await shown(page, /In the last 1m: 2 calls held and answered, 3 re-sends spared\./)
  await page.goto(w.page + '#/upstreams')
  await page.locator('.card .limits li', { hasText: /requests.*\d % left of 600/ }).waitFor()
})

test('the latest requests can be searched and filtered', async (t) => {
  const w = await lively(t)
  const page = await open(t, w.page + '#/requests')
  const rows = page.locator('.requests tbody tr')
  const has = (n) => until(`${n} rows`, async () => (await rows.count()) === n)
  await has(9)
  assert.match(await rows.nth(8).innerText(), /✓ answered\tclaude-cli\/2\.1\.329\tclaude-sonnet-4-5\tanthropic\t1\t/)
  assert.match(await rows.nth(7).innerText(), /✓ answered\t.*\tanthropic\t3\t\d+ms\t\d/)
  await page.getByLabel('Outcome').selectOption('failed')
  await has(1)
  assert.match(await rows.first().innerText(), /✗ failed: authentication\tpython-httpx\/0\.28/)
  await page.getByLabel('Outcome').selectOption('')
  await page.getByLabel('Search').fill('CODEX')
  await has(1)
  await page.getByLabel('Outcome').selectOption('broke-off')
  await shown(page, 'No request matches.')
  await page.getByLabel('Search').fill('')
  await page.getByLabel('Outcome').selectOption('')
  await page.getByRole('combobox', { name: 'Upstream' }).selectOption('anthropic')
  await has(9)
  await (await w.call('Hi', null, 'curl/8.0')).text()
  await has(10) // without a reload
  assert.match(await rows.first().innerText(), /curl\/8\.0/)
})

test('a turn is among the requests, with a link to its conversation', async (t) => {
  const w = await world(t)
  const c = await w.post('conversations', { title: 'The attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'How many?' })
  const page = await open(t, w.page + '#/requests')
  await page.locator('.requests tbody tr', { hasText: 'anthropic' }).getByRole('link', { name: 'conversation' }).click()
  await shown(page, 'How many?')
})

for (const colorScheme of ['light', 'dark']) {
  test(`the healthy page is accessible, ${colorScheme}`, async (t) => {
    const w = await lively(t)
    const first = await world(t)
    const page = await open(t, w.page, { context: { colorScheme, bypassCSP: true } }) // the checker is a script of ours
    for (const address of [w.page + '#/now', w.page + '#/requests', first.page]) {
      await page.goto(address)
      await shown(page, address === first.page ? 'Point a program here' : 'Recent requests')
      await page.evaluate(() => document.querySelectorAll('main details').forEach((d) => (d.open = true)))
      await accessible(page, address)
    }
  })
}

for (const width of [320, 390, 768, 1440]) {
  test(`the healthy page fits into ${width} pixels`, async (t) => {
    const w = await lively(t)
    const page = await open(t, w.page + '#/requests', { context: { viewport: { width, height: 800 } } })
    await shown(page, 'Recent requests')
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width)
  })
}

test('a token without the scope to see sees nothing of it', async (t) => {
  const w = await world(t, { token: 'a-token-of-sixteen' })
  for (const path of ['requests', 'setup']) assert.equal((await fetch(`${w.url}/-/${path}`)).status, 401, path)
})

test('the latest requests are there after a restart', async (t) => {
  const w = await lively(t)
  const page = await open(t, w.page + '#/requests', { expects: /ERR_|Failed to load/ })
  const rows = page.locator('.requests tbody tr')
  await until('all are shown', async () => (await rows.count()) === 9)
  const before = await rows.allInnerTexts()
  await w.down()
  await w.up()
  await page.reload()
  await until('all are shown again', async () => (await rows.count()) === 9)
  assert.deepEqual(await rows.allInnerTexts(), before)
})
