// Councils: where each member stands, what comes of it, and how it is stopped.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { close, open, shown, text, unhindered, until, world } from './world.mjs'

after(close)

// convene asks a council on the page.
async function convene(page, models = 'anthropic/claude-x\nopenai/gpt-5', judge = '') {
  await page.getByLabel('Question').first().fill('Is it so?')
  await page.getByLabel(/^Models/).fill(models)
  await page.getByLabel(/^Judge/).fill(judge)
  await page.getByRole('button', { name: 'Ask the council' }).click()
}

const row = (page, name) => page.locator('.seat').filter({ has: page.getByText(name, { exact: true }) })
const stands = (page, name, words) => until(`${name} ${words}`, async () => words.test(await row(page, name).locator('.stand').textContent().catch(() => '')))
const slow = '429;retry-after=8'

test('members wait, are asked again and answer, and the judge makes one answer of it', async (t) => {
  const w = await world(t, { replies: `${slow}, ${slow}, ${slow}, ok*3`, then: 'say:"It **depends**."', provider: ['--pace', '50ms'] })
  const page = await open(t, w.page + '#/council')
  await convene(page, 'anthropic/claude-x, anthropic/claude-y, anthropic/claude-z', 'openai/gpt-5')
  await shown(page, '3 of 3 members waiting on anthropic — next try')
  await stands(page, 'anthropic/claude-y', /^waiting on anthropic \(rate limited\) — next try in [1-8]s$/)
  assert.match(await text(page, '.seat .left'), /^budget 4m(2\ds|30s) left$/)
  assert.match(await text(page, '.seat .words'), /429/)
  assert.equal(await text(page, '.seat .glyph'), '▲')
  for (const name of ['claude-x', 'claude-y', 'claude-z']) await stands(page, 'anthropic/' + name, /^answered in \d+s \(2 tries\)$/)
  await shown(page, 'The council has answered')
  assert.equal(await text(page, '.sitting .turn .prose strong'), 'depends')
  await shown(page, 'made by openai/gpt-5')
  await shown(page, /^3 of 3 members answered · \d+s$/)
  assert.equal(await row(page, 'anthropic/claude-x').locator('.prose').count(), 0)
  await page.getByText('What it answered').first().click()
  await shown(page, 'The provider is well again')
  assert.equal(await page.locator('.together').count(), 0)
  await until('it is said', async () => (await text(page, '[role=status]')).includes('The council has answered.'))
})

test('the same model twice, and what was written stays', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/council')
  await convene(page, 'anthropic/claude-x\nanthropic/claude-x')
  await stands(page, 'anthropic/claude-x #2', /^answered in 1s$/)
  await shown(page, 'The council has answered')
  await page.reload()
  assert.equal(await page.getByLabel('Question').inputValue(), 'Is it so?')
  assert.equal(await page.getByLabel(/^Models/).inputValue(), 'anthropic/claude-x\nanthropic/claude-x')
})

test('each member that fails says of what', async (t) => {
  const w = await world(t, { replies: '401, say:"Yes, it is."', then: '401' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await shown(page, 'The council has no answer')
  await shown(page, /^1 of 2 members answered, and 2 are needed: /)
  assert.equal(await page.locator('.seat.failed').count(), 1)
  assert.equal(await text(page, '.seat.failed .stand'), 'failed: authentication')
  assert.match(await text(page, '.seat.failed .words'), /^HTTP 401: /)
  await page.getByText('What it answered').click()
  await shown(page, 'Yes, it is.')
})

test('a judge that fails takes no answer with it', async (t) => {
  const w = await world(t, { replies: 'ok*2', then: '401' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await shown(page, 'Failed: authentication. Check the key for anthropic and try again.')
  await shown(page, 'The council has no answer')
  assert.equal(await page.getByText('What it answered').count(), 2)
})

test('a council is stopped by a button, goes on in another view, and another may follow', async (t) => {
  const w = await world(t, { replies: 'say:Yes., silence', then: 'say:Well.' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await shown(page, '1 of 2 members have answered')
  await page.getByRole('link', { name: 'Policy' }).click()
  await shown(page, 'In use here')
  await page.getByRole('link', { name: 'Council' }).click()
  await shown(page, '1 of 2 members have answered')
  assert.equal(await page.getByRole('button', { name: 'Ask the council' }).isDisabled(), true)
  await page.getByRole('button', { name: 'Stop the council' }).click()
  await shown(page, /^cut off after \d+s: stopped$/)
  assert.equal(await text(page, '#sitting'), 'Stopped')
  await page.getByText('What it answered').click()
  await shown(page, 'Yes.')
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, 'The council has answered')
})

test('whoever leaves the page with a council under way is asked first, and not afterwards', async (t) => {
  const w = await world(t, { replies: 'silence*2' })
  const page = await open(t, w.page + '#/council')
  const asked = []
  page.on('dialog', (d) => (asked.push(d.type()), d.accept()))
  await convene(page)
  await until('both are asked', async () => (await page.locator('.seat.asking').count()) === 2)
  await page.reload()
  assert.deepEqual(asked, ['beforeunload'])
  assert.equal(await page.locator('.sitting').count(), 0)
  await convene(page)
  await shown(page, 'The council has answered')
  await page.reload()
  assert.deepEqual(asked, ['beforeunload'])
})

test('an answer that is stopped in the middle stays as far as it came', async (t) => {
  const w = await world(t, { replies: 'ok*2', then: 'drip:500ms' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await until('it begins', async () => (await page.locator('.sitting .turn .prose').textContent().catch(() => '')).includes(' '))
  await page.getByRole('button', { name: 'Stop the council' }).click()
  await shown(page, '… the answer broke off here')
  assert.match(await text(page, '.sitting .turn .prose'), /^The /)
})

test('a council whose server goes away ends, and keeps what it has', async (t) => {
  const w = await world(t, { replies: 'say:Yes., silence' })
  const page = await open(t, w.page + '#/council', { expects: /ERR_|Failed to load/ })
  await convene(page)
  await shown(page, '1 of 2 members have answered')
  await w.down('SIGKILL')
  await shown(page, 'The connection to the server broke off, and the council ended with it.')
  assert.equal(await page.locator('.seat.answered').count(), 1)
  await w.up()
})

test('what no council can be made of is said beside the button', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/council', { expects: /400/ })
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, 'Not begun: there is no question')
  await convene(page, 'anthropic/claude-x')
  await shown(page, 'Not begun: a council has at least two models')
  await convene(page, 'anthropic/claude-x, nobody/x')
  await shown(page, /Not begun: .*nobody\/x/)
})

for (const colorScheme of ['light', 'dark']) {
  test(`a council stands in nobody's way, ${colorScheme}, and fits into 320 pixels`, async (t) => {
    const w = await world(t, { replies: `${slow}*2, 401`, then: 'say:"## One\\n\\nTwo, and `three`.\\n\\n#### Four\\n\\n> # Five"' })
    const page = await open(t, w.page + '#/council', { context: { colorScheme, bypassCSP: true, viewport: { width: 320, height: 640 } } })
    const fits = async () => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320)
    await page.getByLabel('Question').fill('Is it so?')
    await page.keyboard.press('Tab')
    await page.keyboard.type('anthropic/claude-opus-4-5-20251101,anthropic/claude-sonnet-4-5-20250929,openai/gpt-5')
    await page.getByLabel('Question').focus()
    await page.keyboard.press('Control+Enter')
    await until('it waits', async () => (await page.locator('.seat.waiting').count()) > 0)
    await until('the heading has the focus', () => page.evaluate(() => document.activeElement.id === 'sitting'))
    await unhindered(page, 'waiting')
    await fits()
    await until('it is over', async () => (await page.locator('.sitting .end .aside').count()) > 0)
    for (const closed of await page.locator('.seat summary').all()) await closed.click()
    await unhindered(page, 'over')
    await fits()
  })
}
