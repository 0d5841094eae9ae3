// What all views share: addresses, titles, colours, keys, the words of the buttons, and long lists of the same.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { fake, wait } from './fake.mjs'
import { accessible, close, open, shown, text, until, world } from './world.mjs'

after(close)

const outage = (more = {}) => ({ name: 'host', level: 'host', since: new Date(Date.now() - 60_000).toISOString(), kind: 'overloaded', cause: 'server overloaded', message: 'HTTP 529: Overloaded', probes: 3, probing: false, recovering: false, waiting: 1, remainingMs: 20_000, nextProbe: new Date(Date.now() + 20_000).toISOString(), ...more })
const upstream = (name, more = {}) => ({ name, state: 'waiting', base: `https://${name}.example`, outages: [outage()], waiting: 1, ...more })
const focused = (page) => page.evaluate(() => (document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '').trim())

async function calm(t, lists = {}, options = {}) {
  const s = await fake({ lists: () => ({ waits: [], turns: [], upstreams: [], incidents: [], conversations: [], ...lists }) })
  const page = await open(t, s.url + (options.to ?? ''), { context: { bypassCSP: true, ...options.context } })
  t.after(s.stop)
  await until('the page is live', () => page.locator('.link.live').isVisible())
  return { s, page }
}

test('each tab is named after what it shows', async (t) => {
  const incident = { id: 'a', upstream: 'anthropic', began: new Date().toISOString(), tries: 9, failures: 9, calls: 1, callers: 1, held: 1, lost: 0, kinds: [{ kind: 'overloaded', cause: 'server overloaded', count: 9 }] }
  const { page, s } = await calm(t, { incidents: [incident], conversations: [{ id: 'c1', title: 'The attic', model: 'a/b', created: incident.began, changed: incident.began }] })
  const title = async (to, want) => {
    await page.evaluate((hash) => (location.hash = hash), to)
    await until(`the title of ${to} is ${want}`, async () => want.test(await page.title()))
  }
  await title('#/now', /^ridethrough$/)
  await title('#/upstreams', /^Upstreams — ridethrough$/)
  await title('#/incidents/a', /^Incident at anthropic, \d\d:\d\d — ridethrough$/)
  await title('#/chat/c1', /^The attic — ridethrough$/)
  await title('#/policy', /^Policy — ridethrough$/)
  s.say('wait', wait(1))
  await title('#/policy', /^\(1\) ▲ waiting — Policy — ridethrough$/)
})

test('an unknown address says so, and links to the first view', async (t) => {
  const { page } = await calm(t, {}, { to: '#/nothing/here' })
  await shown(page, 'No view has this address')
  assert.equal(await text(page, '.title code'), '#/nothing/here')
  assert.equal(await page.title(), 'No such view — ridethrough')
  assert.equal(await page.locator('nav [aria-current]').count(), 0)
  await accessible(page, 'no such view')
  await page.getByRole('link', { name: 'See what happens now' }).click()
  await shown(page, 'Nothing waits')
})

test('the colours are chosen, and stay after a reload', async (t) => {
  const { page } = await calm(t, {}, { context: { colorScheme: 'light' } })
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).reduce((n, c) => n + Number(c), 0))
  assert.ok((await ground()) > 700)
  const settings = () => page.getByRole('button', { name: 'Keys and colors' }).click()
  await settings()
  await page.getByRole('combobox', { name: 'Colors' }).selectOption('Dark')
  assert.ok((await ground()) < 150)
  await page.reload()
  await shown(page, 'Nothing waits')
  assert.ok((await ground()) < 150)
  await accessible(page, 'dark by choice')
  await page.emulateMedia({ colorScheme: 'dark' })
  await settings()
  await page.getByRole('combobox', { name: 'Colors' }).selectOption('Light')
  assert.ok((await ground()) > 700)
  await page.getByRole('combobox', { name: 'Colors' }).selectOption('As the system')
  assert.ok((await ground()) < 150)
})

test('keys go through rows, retry, search and list themselves, and can be turned off', async (t) => {
  const { page, s } = await calm(t, { waits: [wait(1, { client: 'one/1' }), wait(2, { client: 'two/1' })], upstreams: [upstream('anthropic')] })
  await shown(page, '2 calls wait')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await until('the second row has the focus', async () => (await focused(page)).includes('two'))
  assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'solid')
  await page.keyboard.press('r')
  await until('the second call is tried', () => s.done.some((d) => d === 'POST /-/waits/2 {"do":"now"}'))
  await page.keyboard.press('k')
  await until('the first row has the focus', async () => (await focused(page)).includes('one'))
  await page.keyboard.press('?')
  await until('the list is there', () => page.getByRole('dialog', { name: 'Keys and colors' }).isVisible())
  await accessible(page, 'the list of keys')
  await page.getByLabel('Keys act outside fields').uncheck()
  await page.keyboard.press('Escape')
  await until('the list is gone', async () => (await page.getByRole('dialog').count()) === 0)
  const before = s.done.length
  await page.evaluate(() => document.activeElement.blur())
  await page.keyboard.press('r')
  await page.keyboard.press('j')
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'BODY')
  assert.deepEqual(s.done.slice(before).filter((d) => d.startsWith('POST')), [])
  await page.keyboard.press('?') // the list has the switch
  await page.getByLabel('Keys act outside fields').check()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.goto(s.url + '#/chat')
  await page.getByLabel('Message').fill('')
  await page.getByLabel('Message').pressSequentially('j?r')
  assert.equal(await page.getByLabel('Message').inputValue(), 'j?r')
})

test('a grouped row shows that it has the focus', async (t) => {
  const { page } = await calm(t, { waits: Array.from({ length: 6 }, (_, i) => wait(i + 1)) })
  await page.locator('.fold summary').first().waitFor()
  for (let i = 0; i < 20 && !(await page.evaluate(() => document.activeElement.matches('.fold summary'))); i++) await page.keyboard.press('Tab')
  const [style, offset, width] = await page.evaluate(() => ['outlineStyle', 'outlineOffset', 'outlineWidth'].map((p) => getComputedStyle(document.activeElement)[p]))
  assert.deepEqual([style, width], ['solid', '2px'])
  assert.ok(parseFloat(offset) <= -2, `the outline is drawn ${offset} outside, where it is cut off`)
})

test('twelve upstreams that fail alike are one group of lines', async (t) => {
  const names = Array.from({ length: 12 }, (_, i) => `vendor-${i}`)
  const { page, s } = await calm(t, { waits: names.map((n, i) => wait(i + 1, { upstream: n })), upstreams: [upstream('well', { state: 'operational', outages: [], waiting: 0, lastSuccess: new Date().toISOString() }), ...names.map((n) => upstream(n))] })
  await shown(page, '12 upstreams: server overloaded')
  assert.equal(await page.locator('.held').count(), 0)
  assert.equal(await page.locator('.alike li').count(), 12)
  await accessible(page, 'many waits alike')
  await page.locator('.alike summary').first().click()
  await page.getByRole('button', { name: 'Retry now for vendor-0' }).waitFor()
  await page.goto(s.url + '#/upstreams')
  await shown(page, 'Waiting: server overloaded')
  assert.deepEqual(await page.locator('.card h2').allTextContents(), ['well'])
  await page.locator('.alike summary').nth(3).click()
  await page.getByRole('button', { name: 'Retry now: vendor-3' }).waitFor()
  await accessible(page, 'many upstreams alike')
})

test('a usage window is described once, and its rows show the time', async (t) => {
  const opensAt = new Date(Date.now() + 3 * 3_600_000).toISOString()
  const all = [1, 2, 3].map((i) => wait(i, { client: `p${i}/1`, kind: 'quota', cause: 'usage limit', opensAt, remainingMs: 3 * 3_600_000 }))
  const { page } = await calm(t, { waits: all, upstreams: [upstream('anthropic', { outages: [] })] })
  await shown(page, /Usage limit — opens again at/)
  assert.equal((await text(page, 'main')).match(/opens again/g).length, 1)
  assert.equal(await page.locator('.rows .when').count(), 3)
})

test('each action has one word', async (t) => {
  const turn = { ...wait(8), conversation: 'c1', turn: 't1', title: 'The attic', provider: 'anthropic', upstream: 'anthropic' }
  const { page } = await calm(t, { waits: [wait(1, { next: 'spare' }), wait(2, { state: 'paused' })], turns: [turn], upstreams: [upstream('anthropic', { waiting: 3 })] })
  await shown(page, '3 calls wait')
  const labels = new Set((await page.locator('main .acts button').allTextContents()).map((b) => b.replace(' to spare', '').replace('…', '').replace(' all', '')))
  assert.deepEqual([...labels].sort(), ['Give up', 'Move', 'Pause', 'Resume', 'Retry now', 'Stop'])
})

test('the list of conversations says working while the answer streams after a wait', async (t) => {
  const w = await world(t, { replies: '529', then: 'drip:400ms', wait: '1s' })
  const page = await open(t, w.page + '#/chat')
  const c = await w.post('conversations', { title: 'The attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'Hello' })
  await page.locator('.conversations li', { hasText: 'waiting' }).waitFor()
  await page.goto(`${w.page}#/chat/${c.id}`)
  await until('it streams', async () => (await page.locator('.answer.streaming').count()) === 1)
  await until('the list says so', async () => /working/.test(await page.locator('.conversations li').first().textContent()))
  assert.equal(await page.locator('.answer.streaming').count(), 1)
})

test('models and agents are chosen from what exists', async (t) => {
  const w = await world(t, { config: 'agents: {coder: {files: .}}\n' })
  await (await w.call()).text()
  await w.post('conversations', { model: 'openai/gpt-5' })
  const page = await open(t, w.page + '#/chat')
  const options = (label) => page.getByRole('combobox', { name: label }).locator('option').allTextContents()
  await until('the models are listed', async () => (await options('Model')).length === 3)
  assert.deepEqual(await options('Model'), ['anthropic/claude-sonnet-4-5 (the default)', 'openai/gpt-5', 'Another model…'])
  assert.deepEqual(await options('Agent'), ['None', 'coder'])
  await page.getByRole('combobox', { name: 'Model' }).selectOption('openai/gpt-5')
  await page.getByLabel('Message').fill('Hello')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.title', { hasText: 'openai/gpt-5' }).waitFor()
})

test('a council in an outage is asked again until enough answer', async (t) => {
  const w = await world(t, { replies: '529*4', then: 'say:Yes.' })
  const page = await open(t, w.page + '#/council', { context: { bypassCSP: true } })
  await page.getByLabel('Question').fill('Is it so?')
  await page.getByLabel(/^Models/).fill('anthropic/a\nanthropic/b')
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, /Too few answered — all are asked again in \d+s/)
  await accessible(page, 'a council that waits')
  assert.equal(await page.getByRole('button', { name: 'Ask the council' }).isDisabled(), true)
  await page.getByRole('button', { name: 'Retry now: the council' }).click()
  await shown(page, 'The council has answered')
  assert.equal(await page.getByText('Too few answered').count(), 0)
})

test('a council that waits to be asked again is stopped', async (t) => {
  const w = await world(t, { replies: '529*4', then: '529' })
  const page = await open(t, w.page + '#/council')
  await page.getByLabel('Question').fill('Is it so?')
  await page.getByLabel(/^Models/).fill('anthropic/a\nanthropic/b')
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, /Too few answered/)
  await page.getByRole('button', { name: 'Stop the council' }).click()
  await until('nothing waits', async () => (await page.getByText('Too few answered').count()) === 0)
  assert.equal(await page.getByRole('button', { name: 'Ask the council' }).isDisabled(), false)
})
