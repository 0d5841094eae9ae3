// The look and use of the page: narrow, dark, with the keyboard, with a screen reader.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { fake, wait } from './fake.mjs'
import { close, open, shown, accessible, until, world } from './world.mjs'

after(close)

const views = ['now', 'requests', 'upstreams', 'incidents', 'chat', 'council', 'policy']

// troubled starts a world with an outage in progress, for calls and turns, and one that is over. It returns
// the addresses of all views and of a conversation that waits.
async function troubled(t) {
  const w = await world(t, { replies: '529*2, ok, say:"## Headings\\n\\nOne **two** `three`.\\n\\n#### More\\n\\n```go\\nfour(aNameThatIsLong, anotherNameThatIsLonger, thanThreeHundredAndTwentyPixels)\\n```\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |"', then: '529', wait: '100ms,100ms,100ms,10m' })
  await w.call('early')
  const c = await w.post('conversations', { title: 'Files in the attic' })
  await w.post(`conversations/${c.id}/turns`, { text: 'How many?' })
  await w.turnEnds(c.id)
  await w.post(`conversations/${c.id}/turns`, { text: 'And now?' })
  await w.post(`conversations/${c.id}/turns`, { text: 'Later' })
  for (const name of ['one', 'two']) void w.call(name).catch(() => {})
  await until('all wait', async () => (await w.get('waits')).waits.length === 3) // two calls and the turn
  return { w, all: [...views, `chat/${c.id}`] }
}

const ready = async (page, view) => {
  await until('the page is live', () => page.locator('.link.live').isVisible())
  if (view.startsWith('chat/')) await shown(page, 'And now?')
  if (view === 'now') await shown(page, '3 calls wait')
}

for (const colorScheme of ['light', 'dark']) {
  test(`all views are accessible, ${colorScheme}`, async (t) => {
    const { w, all } = await troubled(t)
    const page = await open(t, w.page, { context: { colorScheme, bypassCSP: true } }) // the checker is a script of ours
    for (const view of all) {
      await page.goto(`${w.page}#/${view}`)
      await ready(page, view)
      for (const closed of await page.locator('main summary').all()) await closed.click()
      await accessible(page, view)
    }
  })
}

test('all views fit into 320 pixels', async (t) => {
  const { w, all } = await troubled(t)
  const page = await open(t, w.page, { context: { viewport: { width: 320, height: 640 } } })
  for (const view of all) {
    await page.goto(`${w.page}#/${view}`)
    await ready(page, view)
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, view)
    // A table has a bar of its own to scroll by.
    const cut = await page.evaluate(() => [...document.querySelectorAll('button, a, h1, .sentence')].filter((e) => e.checkVisibility() && !e.matches('.skip, .scroll table *') && e.getBoundingClientRect().right > 320).map((e) => e.textContent))
    assert.deepEqual(cut, [], view)
  }
})

test('dark is dark, and light is light', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page, { context: { colorScheme: 'dark' } })
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).reduce((n, c) => n + Number(c), 0))
  assert.ok((await ground()) < 150)
  await page.emulateMedia({ colorScheme: 'light' })
  assert.ok((await ground()) > 700)
})

test('reduced motion is respected', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page, { context: { reducedMotion: 'reduce' } })
  await shown(page, 'Nothing waits')
  assert.deepEqual(await page.evaluate(() => document.getAnimations().length), 0)
})

test('the keyboard is enough', async (t) => {
  const { w } = await troubled(t)
  const page = await open(t, w.page)
  await shown(page, '3 calls wait')
  const names = new Set()
  const focused = () => page.evaluate(() => {
    const e = document.activeElement
    return e === document.body ? '' : (e.getAttribute('aria-label') ?? e.textContent).trim()
  })
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press('Tab')
    const name = await focused()
    if (name) {
      names.add(name)
      assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none', name)
    }
  }
  for (const name of ['Skip to the content', 'Upstreams', 'Policy', 'Retry all now for anthropic', 'Give up all for anthropic', 'Pause anthropic']) assert.ok(names.has(name), `${name} is none of ${[...names]}`)
  await page.getByRole('button', { name: 'Give up all for anthropic' }).focus()
  await page.keyboard.press('Enter')
  await until('the question has the focus', async () => (await focused()) === 'Yes')
  await page.keyboard.press('Escape')
  await until('the question is gone', async () => (await page.getByRole('button', { name: 'Yes' }).count()) === 0)
  assert.equal((await w.get('waits')).waits.length, 3)
  await page.getByRole('link', { name: 'Upstreams' }).focus()
  await page.keyboard.press('Enter')
  await until('the heading has the focus', async () => (await focused()) === 'Upstreams')
})

test('each retry is announced once, and no second is', async (t) => {
  const w = await world(t, { replies: '529*3', wait: '3s' })
  const page = await open(t, w.page)
  await shown(page, 'Nothing waits')
  await page.evaluate(() => {
    globalThis.heard = []
    new MutationObserver(() => globalThis.heard.push(document.querySelector('[role=status]').textContent)).observe(document.querySelector('[role=status]'), { subtree: true, childList: true, characterData: true })
  })
  await w.call()
  await until('the end is shown', async () => /Nothing waits/.test(await page.locator('h1').textContent()))
  await new Promise((done) => setTimeout(done, 2500)) // an announcement follows another after a moment
  const heard = await page.evaluate(() => globalThis.heard)
  for (const n of [1, 2, 3]) assert.equal(heard.filter((s) => s.includes(`(attempt ${n}/60)`)).length, 1, heard.join('\n'))
  assert.ok(heard.length <= 5, heard.join('\n'))
})

// The widest that the header becomes.
for (const width of [390, 768, 992, 1000, 1440]) {
  test(`the state of the connection stands beside the name at ${width} pixels`, async (t) => {
    const s = await fake({ lists: () => ({ waits: Array.from({ length: 100 }, (_, i) => wait(i + 1)), turns: [], upstreams: [] }) })
    const page = await open(t, s.url, { context: { viewport: { width, height: 800 } } })
    t.after(s.stop)
    await shown(page, '100 calls wait')
    await page.locator('.link').evaluate((e) => (e.textContent = 'connecting…'))
    const [name, views, link] = await page.evaluate(() => ['.brand', '.bar nav', '.link'].map((s) => document.querySelector(s).getBoundingClientRect()).map((r) => ({ top: r.top, bottom: r.bottom, right: r.right })))
    assert.ok(Math.abs(name.bottom - link.bottom) < 8, `the name ends at ${name.bottom}, the link at ${link.bottom}`)
    assert.ok(link.right <= width)
    if (width >= 768) assert.ok(views.bottom - views.top < 40, 'the views are one line')
  })
}

test('a call of a fleet names the gateway that has it', async (t) => {
  const s = await fake({ lists: () => ({ hello: { version: 'test', boot: 'b', replica: 'gw-0-aaaa' }, waits: [wait(1), wait(-2, { replica: 'gw-1-bbbb' })], turns: [], upstreams: [] }) })
  const page = await open(t, s.url)
  t.after(s.stop)
  await shown(page, '2 calls wait')
  const rows = await page.locator('.rows .spent').allInnerTexts()
  assert.match(rows[0], /at gw-0-aaaa/)
  assert.match(rows[1], /at gw-1-bbbb/)
})

test('incidents are in columns', async (t) => {
  const one = { upstream: 'anthropic', began: '2026-11-22T10:00:00Z', tries: 9, failures: 9, calls: 1, callers: 1, held: 1, lost: 0, kinds: [{ kind: 'overloaded', cause: 'server overloaded', count: 9 }] }
  const s = await fake({ lists: () => ({ waits: [], turns: [], upstreams: [], incidents: [{ ...one, id: 'a', open: true }, { ...one, id: 'b', ended: '2026-11-22T12:00:00Z', recoveredMs: 7_200_000 }] }) })
  const page = await open(t, s.url + '#/incidents')
  t.after(s.stop)
  await shown(page, 'recovered in 2h')
  const left = await page.locator('.incidents .span').evaluateAll((all) => all.map((e) => Math.round(e.getBoundingClientRect().left)))
  assert.equal(left.length, 2)
  assert.equal(left[0], left[1])
})

test('rows share their columns, whatever buttons they have', async (t) => {
  const s = await fake({ lists: () => ({ waits: [wait(1), wait(2, { state: 'paused', client: 'python-httpx/0.28' }), wait(3, { next: 'spare', client: 'codex' })], turns: [], upstreams: [] }) })
  const page = await open(t, s.url, { context: { viewport: { width: 1440, height: 800 } } })
  t.after(s.stop)
  await shown(page, '3 calls wait')
  for (const column of ['.model', '.spent']) {
    const left = await page.locator(`.rows ${column}`).evaluateAll((all) => all.map((e) => Math.round(e.getBoundingClientRect().left)))
    assert.deepEqual([left.length, new Set(left).size], [3, 1], `${column} begins at ${left}`)
  }
})

test('buttons are large enough on a small screen', async (t) => {
  const { w, all } = await troubled(t)
  const page = await open(t, w.page, { context: { viewport: { width: 390, height: 800 } } })
  for (const view of all) {
    await page.goto(`${w.page}#/${view}`)
    await ready(page, view)
    const small = await page.locator('button').evaluateAll((all) => all.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 40).map((e) => e.textContent))
    assert.deepEqual(small, [], view)
  }
})

test('the scale of a policy can be read at every width', async (t) => {
  const w = await world(t)
  for (const width of [390, 768, 1440]) {
    const page = await open(t, w.page + '#/policy', { context: { viewport: { width, height: 800 } } })
    await shown(page, 'In use here')
    const height = await page.locator('.policy .plot text').first().evaluate((e) => e.getBoundingClientRect().height)
    assert.ok(height >= 11, `${height} px at ${width}`)
  }
})

test('an address without a conversation says so, and offers nothing that cannot be done', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat/none', { expects: /404|410/ })
  await shown(page, 'No conversation has this address')
  assert.equal(await page.getByLabel('Message').count(), 0)
  assert.deepEqual(await page.locator('main button').allTextContents(), [])
  const c = await w.post('conversations', { title: 'Soon deleted' })
  await fetch(`${w.url}/-/conversations/${c.id}`, { method: 'DELETE' })
  await page.goto(`${w.page}#/chat/${c.id}`)
  await shown(page, 'This conversation was deleted')
  assert.equal(await page.getByLabel('Message').count(), 0)
})

test('a server without chat and councils says so', async (t) => {
  const s = await fake({ lists: () => ({ hello: { version: 'test', boot: 'b', conversations: false }, waits: [], turns: [], upstreams: [] }), answer: () => [404, { title: 'Not Found', detail: 'there is no /-/councils; see /-/' }] })
  const page = await open(t, s.url + '#/chat', { expects: /404/ })
  t.after(s.stop)
  await page.getByRole('heading', { level: 1, name: 'Chat' }).waitFor()
  await shown(page, 'This server keeps no conversations.')
  await page.getByRole('link', { name: 'Council' }).click()
  await page.getByLabel('Question').fill('Why?')
  await page.getByLabel(/^Models/).fill('anthropic/a\nopenai/b')
  await page.getByRole('button', { name: 'Ask the council' }).click()
  await shown(page, 'Not started: this server has no councils; ridethrough serve does')
})
