// Councils: the state of each member, the answer, and how to stop one.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { close, open, shown, text, accessible, until, world } from './world.mjs'

after(close)

// convene asks a council on the page.
async function convene(page, models = 'anthropic/claude-x\nopenai/gpt-5', judge = '') {
  await page.getByLabel('Question').first().fill('Is it so?')
  await page.getByLabel(/^Models/).fill(models)
  await page.getByLabel(/^Judge/).fill(judge)
  await page.getByRole('button', { name: 'Ask the council' }).click()
}

const row = (page, name) => page.locator('.member').filter({ has: page.getByText(name, { exact: true }) })
const stands = (page, name, words) => until(`${name} ${words}`, async () => words.test(await row(page, name).locator('.status').textContent().catch(() => '')))
const slow = '429;retry-after=8'

test('members wait, are asked again and answer, and the judge combines the answers', async (t) => {
  const w = await world(t, { replies: `${slow}, ${slow}, ${slow}, ok*3`, then: 'say:"It **depends**."', provider: ['--pace', '50ms'] })
  const page = await open(t, w.page + '#/council')
  await convene(page, 'anthropic/claude-x, anthropic/claude-y, anthropic/claude-z', 'openai/gpt-5')
  await shown(page, '3 of 3 members waiting on anthropic — next try')
  await stands(page, 'anthropic/claude-y', /^waiting on anthropic \(rate limited\) — next try in [1-8]s$/)
  assert.match(await text(page, '.member .left'), /^budget 4m(2\ds|30s) left$/)
  assert.match(await text(page, '.member .words'), /429/)
  assert.equal(await text(page, '.member .glyph'), '▲')
  for (const name of ['claude-x', 'claude-y', 'claude-z']) await stands(page, 'anthropic/' + name, /^answered in \d+s \(2 tries\)$/)
  await shown(page, 'The council has answered')
  assert.equal(await text(page, '.council .turn .prose strong'), 'depends')
  await shown(page, 'by openai/gpt-5')
  await shown(page, /^3 of 3 members answered · \d+s$/)
  assert.equal(await row(page, 'anthropic/claude-x').locator('.prose').count(), 0)
  await page.getByText('Show answer').first().click()
  await shown(page, 'The provider is well again')
  assert.equal(await page.locator('.shared-wait').count(), 0)
  await until('it is said', async () => (await text(page, '[role=status]')).includes('The council has answered.'))
})

test('the same model twice, and the form survives a reload', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/council')
  await convene(page, 'anthropic/claude-x\nanthropic/claude-x')
  await stands(page, 'anthropic/claude-x #2', /^answered in 1s$/)
  await shown(page, 'The council has answered')
  await page.reload()
  assert.equal(await page.getByLabel('Question').inputValue(), 'Is it so?')
  assert.equal(await page.getByLabel(/^Models/).inputValue(), 'anthropic/claude-x\nanthropic/claude-x')
})

test('a failed member shows why it failed', async (t) => {
  const w = await world(t, { replies: '401, say:"Yes, it is."', then: '401' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await shown(page, 'The council has no answer')
  await shown(page, /^Failed: 1 of 2 members answered, and 2 are needed\.$/)
  assert.equal(await page.locator('.member.failed').count(), 1)
  assert.equal(await text(page, '.member.failed .status'), 'failed: authentication')
  assert.match(await text(page, '.member.failed .words'), /^HTTP 401: /)
  await page.getByText('Show answer').click()
  await shown(page, 'Yes, it is.')
})

test('a failed judge leaves the members\' answers', async (t) => {
  const w = await world(t, { replies: 'ok*2', then: '401' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await shown(page, 'Failed: authentication. Check the key for anthropic and try again.')
  await shown(page, 'The council has no answer')
  assert.equal(await page.getByText('Show answer').count(), 2)
})

test('a council continues in another view, is stopped by a button, and another may follow', async (t) => {
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
  assert.equal(await text(page, '#council'), 'Stopped')
  await page.getByText('Show answer').click()
  await shown(page, 'Yes.')
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, 'The council has answered')
})

test('leaving the page asks first during a council, and not afterwards', async (t) => {
  const w = await world(t, { replies: 'silence*2' })
  const page = await open(t, w.page + '#/council')
  const asked = []
  page.on('dialog', (d) => (asked.push(d.type()), d.accept()))
  await convene(page)
  await until('both are asked', async () => (await page.locator('.member.asking').count()) === 2)
  await page.reload()
  assert.deepEqual(asked, ['beforeunload'])
  assert.equal(await page.locator('.council').count(), 0)
  await convene(page)
  await shown(page, 'The council has answered')
  await page.reload()
  assert.deepEqual(asked, ['beforeunload'])
})

test('a stopped answer keeps what has arrived', async (t) => {
  const w = await world(t, { replies: 'ok*2', then: 'drip:500ms' })
  const page = await open(t, w.page + '#/council')
  await convene(page)
  await until('it begins', async () => (await page.locator('.council .turn .prose').textContent().catch(() => '')).includes(' '))
  await page.getByRole('button', { name: 'Stop the council' }).click()
  await shown(page, '… the answer broke off here')
  assert.match(await text(page, '.council .turn .prose'), /^The /)
})

test('a council whose server goes away ends, and keeps what has arrived', async (t) => {
  const w = await world(t, { replies: 'say:Yes., silence' })
  const page = await open(t, w.page + '#/council', { expects: /ERR_|Failed to load/ })
  await convene(page)
  await shown(page, '1 of 2 members have answered')
  await w.down('SIGKILL')
  await shown(page, 'The connection to the server was lost, and the council ended with it.')
  assert.equal(await page.locator('.member.answered').count(), 1)
  await w.up()
})

test('an invalid form shows why beside the button', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/council', { expects: /400/ })
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, 'Not started: there is no question')
  await convene(page, 'anthropic/claude-x')
  await shown(page, 'Not started: a council needs at least two models')
  await convene(page, 'anthropic/claude-x, none/x')
  await shown(page, /Not started: .*none\/x/)
})

for (const colorScheme of ['light', 'dark']) {
  test(`a council is accessible, ${colorScheme}, and fits into 320 pixels`, async (t) => {
    const w = await world(t, { replies: `${slow}*2, 401`, then: 'say:"## One\\n\\nTwo, and `three`.\\n\\n#### Four\\n\\n> # Five"' })
    const page = await open(t, w.page + '#/council', { context: { colorScheme, bypassCSP: true, viewport: { width: 320, height: 640 } } })
    const fits = async () => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320)
    await page.getByLabel('Question').fill('Is it so?')
    await page.keyboard.press('Tab')
    await page.keyboard.type('anthropic/claude-opus-4-5-20251101,anthropic/claude-sonnet-4-5-20250929,openai/gpt-5')
    await page.getByLabel('Question').focus()
    await page.keyboard.press('Control+Enter')
    await until('it waits', async () => (await page.locator('.member.waiting').count()) > 0)
    await until('the heading has the focus', () => page.evaluate(() => document.activeElement.id === 'council'))
    await accessible(page, 'waiting')
    await fits()
    await until('it is over', async () => (await page.locator('.council .end .aside').count()) > 0)
    for (const closed of await page.locator('.member summary').all()) await closed.click()
    await accessible(page, 'over')
    await fits()
  })
}
