// Conversations, in the midst of an outage and beside it.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { browser, close, open, shown, text, until, world } from './world.mjs'

after(close)

// begin starts a conversation on the page by saying something.
async function begin(page, words) {
  await page.getByLabel('Message').fill(words)
  await page.getByLabel('Message').press('Enter')
  await page.waitForURL(/#\/chat\/.+/)
}

const turnEnds = (page) => shown(page, /tokens in/)

test('an answer streams, and a provider that fails is a bubble until the first content', async (t) => {
  const w = await world(t, { replies: '529, 429, say:"Two **files**, and `code`."', wait: '3s', provider: ['--pace', '50ms'] })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'How many?')
  await shown(page, 'Server overloaded — retrying')
  assert.equal(await page.locator('.bubble').count(), 1)
  assert.match(await text(page, '.bubble [role=timer]'), /^(in [123]s|now)$/)
  await shown(page, 'Rate limited — retrying')
  assert.equal(await page.locator('.bubble').count(), 1) // the second has taken the place of the first
  await shown(page, 'attempt 2/60')
  await turnEnds(page)
  assert.equal(await page.locator('.bubble').count(), 0)
  assert.equal(await text(page, '.prose strong'), 'files')
  assert.equal(await text(page, '.prose code'), 'code')
  await shown(page, /recovered after 2 retries, waited [67]s/)
  await page.reload()
  await turnEnds(page)
  assert.equal(await page.locator('.bubble').count(), 0) // it was never kept
  assert.equal(await text(page, '.user .said'), 'How many?')
})

test('a wait is ended by a button, and a turn by another', async (t) => {
  const w = await world(t, { replies: '529, 529', then: '529', wait: '10m' })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'attempt 1/60')
  await page.locator('.bubble').getByRole('button', { name: 'Retry now' }).click()
  await shown(page, 'attempt 2/60')
  await page.getByRole('button', { name: 'Stop this turn' }).click()
  await shown(page, 'Stopped.')
  assert.equal(await page.locator('.bubble').count(), 0)
})

test('a turn that has failed for good says so, and what it left unanswered is asked again', async (t) => {
  const w = await world(t, { replies: '529*2', then: 'say:Back.', wait: '1s', retries: 1 })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'Failed after 1 retry attempt. Check your connection and try again.')
  await shown(page, 'nothing that was said is lost')
  await page.getByRole('button', { name: 'Try again' }).click()
  await turnEnds(page)
  assert.equal(await text(page, '.answer .prose'), 'Back.')
  assert.equal(await page.locator('.user').count(), 1)
  assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
})

test('a reload in the middle of a wait shows it as it stands', async (t) => {
  const w = await world(t, { replies: '529', wait: '40s' })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'attempt 1/60')
  await until('it counts down', async () => /^in [12]?\d?[0-8]s$/.test(await text(page, '.bubble [role=timer]')))
  await page.reload()
  await shown(page, 'Server overloaded — retrying')
  assert.match(await text(page, '.bubble [role=timer]'), /^in ([1-4]\d|\d)s$/)
  await page.locator('.bubble').getByRole('button', { name: 'Retry now' }).click()
  await turnEnds(page)
})

test('a reload in the middle of an answer ends with the whole of it', async (t) => {
  const answer = Array.from({ length: 30 }, (_, i) => 'word' + i).join(' ')
  const w = await world(t, { replies: `say:"${answer}"`, provider: ['--pace', '150ms'] })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, /word3/)
  await page.reload()
  await turnEnds(page)
  assert.equal(await text(page, '.answer .prose'), answer)
  assert.equal(await page.locator('.answer').count(), 1)
})

test('a turn goes on while no browser is there, and over a restart of the server', async (t) => {
  const w = await world(t, { replies: '529, say:Done.', wait: '2s' })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'attempt 1/60')
  const address = page.url()
  await page.close()
  await w.down('SIGKILL')
  await w.up()
  const id = address.split('/').at(-1)
  await until('the turn ends', async () => (await w.get(`conversations/${id}`)).turnId === undefined)
  const later = await open(t, address)
  await turnEnds(later)
  assert.equal(await text(later, '.answer .prose'), 'Done.')
})

test('two tabs show the same turn, and one stops what the other has begun', async (t) => {
  const w = await world(t, { then: '529', wait: '10m' })
  const one = await open(t, w.page + '#/chat')
  await begin(one, 'Hello')
  await shown(one, 'attempt 1/60')
  const two = await open(t, one.url(), { in: one.context() })
  await shown(two, 'attempt 1/60')
  await two.getByRole('button', { name: 'Stop this turn' }).click()
  await shown(one, 'Stopped.')
})

test('what is said meanwhile waits, and is changed, taken back and steers', async (t) => {
  const w = await world(t, { replies: '529', then: 'say:Well.', wait: '10m' })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'First')
  await shown(page, 'attempt 1/60')
  for (const words of ['Second', 'Third', 'Fourth']) {
    await page.getByLabel('Message').fill(words)
    await page.getByRole('button', { name: 'Queue', exact: true }).click()
    await page.locator('.queue .said', { hasText: words }).waitFor()
  }
  const entry = (words) => page.locator('.queue li', { hasText: words })
  await entry('Second').getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Change what is said next').fill('Second, in other words')
  await page.getByRole('button', { name: 'Save' }).click()
  await entry('Second, in other words').waitFor()
  await entry('Third').getByRole('button', { name: 'Remove' }).click()
  await entry('Third').waitFor({ state: 'detached' })
  await entry('Fourth').getByRole('button', { name: 'Say it now' }).click()
  await shown(page, 'Read before the model is asked again')
  await page.locator('.bubble').getByRole('button', { name: 'Retry now' }).click()
  await until('both turns end', async () => (await page.getByText(/tokens in/).count()) === 2)
  const said = await page.locator('.user .said').allTextContents()
  assert.deepEqual(said.toSorted(), ['First', 'Fourth', 'Second, in other words'])
  assert.equal(await page.locator('.queue').count(), 0)
})

test('what was written is not lost when the server is away', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat', { expects: /ERR_|Failed to load/ })
  await begin(page, 'Hello')
  await turnEnds(page)
  const address = page.url()
  await w.down('SIGKILL')
  await shown(page, 'Page offline')
  await page.getByLabel('Message').fill('Written in the dark')
  await page.getByRole('button', { name: 'Send' }).click()
  await shown(page, 'Not sent: the server did not answer')
  await page.reload().catch(() => {}) // the page itself is gone with its server
  await w.up()
  await page.goto(address)
  await until('the draft is there', async () => (await page.getByLabel('Message').inputValue().catch(() => '')) === 'Written in the dark')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.user .said', { hasText: 'Written in the dark' }).waitFor()
})

test('what a model says is text, whatever it looks like', async (t) => {
  const bad = '<img src=x onerror=alert(1)> <script>alert(2)</script> [a](javascript:alert(3)) [b](data:text/html,x) ![c](https://example.com/c.png) <https://example.com/d>'
  const w = await world(t, { replies: `say:${JSON.stringify(bad)}` })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await turnEnds(page)
  assert.deepEqual(await page.locator('.prose img, .prose script').count(), 0)
  const links = await page.locator('.prose a').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.rel]))
  assert.deepEqual(links, [['https://example.com/c.png', 'noopener noreferrer nofollow'], ['https://example.com/d', 'noopener noreferrer nofollow']])
  assert.ok((await text(page, '.answer .prose')).includes('<script>alert(2)</script> [a](javascript:alert(3))'))
})

test('a conversation is taken away after a question', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await turnEnds(page)
  const id = page.url().split('/').at(-1)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.waitForURL(/#\/chat$/)
  assert.equal((await w.get(`conversations/${id}`)).status, 410)
})

test('a closed browser loses nothing', async (t) => {
  const w = await world(t, { replies: 'say:"One two three four five six seven eight nine ten"', provider: ['--pace', '100ms'] })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, /One/)
  const address = page.url()
  await page.context().close()
  const other = await (await browser()).newContext()
  t.after(() => other.close())
  const later = await open(t, address, { in: other })
  await turnEnds(later)
  assert.equal(await text(later, '.answer .prose'), 'One two three four five six seven eight nine ten')
})
