// Conversations, during an outage and without one.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { accessible, browser, close, countdown, open, shown, text, until, world } from './world.mjs'

after(close)

// begin starts a conversation on the page with a message.
async function begin(page, words) {
  await page.getByLabel('Message').fill(words)
  await page.getByLabel('Message').press('Enter')
  await page.waitForURL(/#\/chat\/.+/)
}

const turnEnds = (page) => shown(page, /tokens in/)

test('an answer streams, and a wait is shown until the first content', async (t) => {
  const w = await world(t, { replies: '529, 429, say:"Two **files**, and `code`."', wait: '3s', provider: ['--pace', '50ms'] })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'How many?')
  await shown(page, 'Server overloaded — retrying')
  assert.equal(await page.locator('.bubble').count(), 1)
  assert.match(await text(page, '.bubble [role=timer]'), /^(in [123]s|now)$/)
  await shown(page, 'Rate limited — retrying')
  assert.equal(await page.locator('.bubble').count(), 1) // the second replaces the first
  await shown(page, 'attempt 2/60')
  await turnEnds(page)
  assert.equal(await page.locator('.bubble').count(), 0)
  assert.equal(await text(page, '.prose strong'), 'files')
  assert.equal(await text(page, '.prose code'), 'code')
  await shown(page, /recovered after 2 retries, waited [67]s/)
  await page.reload()
  await turnEnds(page)
  assert.equal(await page.locator('.bubble').count(), 0) // waits are not kept
  assert.equal(await text(page, '.user .said'), 'How many?')
})

test('buttons end a wait and stop a turn', async (t) => {
  const w = await world(t, { replies: '529, 529', then: '529', wait: '10m' })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'attempt 1/60')
  await page.locator('.bubble').getByRole('button', { name: 'Retry now' }).click()
  const failed = async () => (await w.get('upstreams/conversations:anthropic')).strip.at(-1).failed
  await until('it is tried, which costs no attempt', async () => (await failed()) === 2 && (await text(page, '.bubble')).includes('attempt 1/60'))
  await page.getByRole('button', { name: 'Stop this turn' }).click()
  await shown(page, 'Stopped.')
  assert.equal(await page.locator('.bubble').count(), 0)
})

test('a failed turn says so, and is asked again', async (t) => {
  const w = await world(t, { replies: '529*2', then: 'say:Back.', wait: '1s', retries: 1 })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'Failed after 1 retry attempt. anthropic was overloaded')
  await shown(page, 'nothing is lost')
  await page.getByRole('button', { name: 'Try again' }).click()
  await turnEnds(page)
  assert.equal(await text(page, '.answer .prose'), 'Back.')
  assert.equal(await page.locator('.user').count(), 1)
  assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
})

test('a reload during a wait shows the rest of the wait', async (t) => {
  const w = await world(t, { replies: '529', wait: '4m' })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await shown(page, 'attempt 1/60')
  const left = async () => countdown(await text(page, '.bubble [role=timer]'))
  await until('it counts down', async () => (await left()) < 239)
  const before = await left()
  await page.reload()
  await shown(page, 'Server overloaded — retrying')
  const after = await left()
  assert.ok(after > 0 && after <= before, `${after} s left after the reload, ${before} s before it`)
  await page.locator('.bubble').getByRole('button', { name: 'Retry now' }).click()
  await turnEnds(page)
})

test('a reload during an answer ends with the whole answer', async (t) => {
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

test('a turn continues without a browser, and after a restart of the server', async (t) => {
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

test('two tabs show the same turn, and one stops the turn of the other', async (t) => {
  const w = await world(t, { then: '529', wait: '10m' })
  const one = await open(t, w.page + '#/chat')
  await begin(one, 'Hello')
  await shown(one, 'attempt 1/60')
  const two = await open(t, one.url(), { in: one.context() })
  await shown(two, 'attempt 1/60')
  await two.getByRole('button', { name: 'Stop this turn' }).click()
  await shown(one, 'Stopped.')
})

test('queued messages are edited, removed and sent to the turn in progress', async (t) => {
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
  await page.getByLabel('Edit the queued message').fill('Second, in other words')
  await page.getByRole('button', { name: 'Save' }).click()
  await entry('Second, in other words').waitFor()
  await entry('Third').getByRole('button', { name: 'Remove' }).click()
  await entry('Third').waitFor({ state: 'detached' })
  await entry('Fourth').getByRole('button', { name: 'Send now' }).click()
  await shown(page, 'Read before the next question to the model')
  await page.locator('.bubble').getByRole('button', { name: 'Retry now' }).click()
  await until('both turns end', async () => (await page.getByText(/tokens in/).count()) === 2)
  const said = await page.locator('.user .said').allTextContents()
  assert.deepEqual(said.toSorted(), ['First', 'Fourth', 'Second, in other words'])
  assert.equal(await page.locator('.queue').count(), 0)
})

test('a draft is not lost while the server is away', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat', { expects: /ERR_|Failed to load/ })
  await begin(page, 'Hello')
  await turnEnds(page)
  const address = page.url()
  await w.down('SIGKILL')
  await shown(page, 'Connection to the gateway lost at')
  await page.getByLabel('Message').fill('Written in the dark')
  await page.getByRole('button', { name: 'Send' }).click()
  await shown(page, 'Not sent: the server did not answer')
  await page.reload().catch(() => {}) // the page itself is gone with its server
  await w.up()
  // The browser may still be on its way to its own error page, which interrupts ours.
  await until('the page is back', () => page.goto(address).then(() => true, () => false))
  await until('the draft is there', async () => (await page.getByLabel('Message').inputValue().catch(() => '')) === 'Written in the dark')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.user .said', { hasText: 'Written in the dark' }).waitFor()
})

test('a model\'s answer is never HTML', async (t) => {
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

test('a conversation is deleted after a confirmation', async (t) => {
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

test('the model and the title are changed for the turns to come', async (t) => {
  const w = await world(t, { replies: 'say:One.' })
  const page = await open(t, w.page + '#/chat', { expects: /400/ })
  await begin(page, 'Hello')
  await turnEnds(page)
  const id = page.url().split('/').at(-1)
  await page.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Model').fill('openai/gpt-5')
  await page.getByLabel('Title').fill('The attic')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { level: 1, name: 'The attic' }).waitFor()
  await page.locator('.title', { hasText: 'openai/gpt-5' }).waitFor()
  await page.locator('.conversations', { hasText: 'The attic' }).waitFor()
  assert.equal((await w.get('conversations/' + id)).model, 'openai/gpt-5')
  await page.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Model').fill('none/nothing')
  await page.getByRole('button', { name: 'Save' }).click()
  await shown(page, /Not done: /)
  await page.keyboard.press('Escape')
  await page.locator('.title', { hasText: 'openai/gpt-5' }).waitFor()
})

test('conversations beyond those of the stream are listed', async (t) => {
  const w = await world(t)
  for (let n = 0; n < 130; n++) await w.post('conversations', { title: `number ${n}.` })
  const page = await open(t, w.page + '#/chat')
  await until('the latest are listed', async () => (await page.locator('.conversations li').count()) === 100)
  await page.getByRole('button', { name: 'Show older' }).click()
  await until('all are listed', async () => (await page.locator('.conversations li').count()) === 130)
  assert.equal(new Set(await page.locator('.conversations li b').allTextContents()).size, 130)
  assert.equal(await page.getByRole('button', { name: 'Show older' }).count(), 0)
})

test('the rest of a very long answer is shown on demand', async (t) => {
  const w = await world(t, { replies: `say:"${'a'.repeat(110_000)}"` })
  const page = await open(t, w.page + '#/chat')
  await begin(page, 'Hello')
  await turnEnds(page)
  assert.equal((await text(page, '.answer .prose')).length, 100_000)
  await page.getByRole('button', { name: 'Show 10\u2009000 more characters' }).click()
  assert.equal((await text(page, '.answer .prose')).length, 110_000)
})

test('a tool call waits for approval, over a restart of the server, and the keyboard answers', async (t) => {
  const call = 'call:read_file{"path":"config.yaml"}'
  const w = await world(t, { replies: `${call}, say:"It is quick.", ${call}, say:"Then not.", ${call}, ${call}, say:"Twice."`, config: 'agents: {coder: {files: ., ask: [read_file]}}\n' })
  const page = await open(t, w.page + '#/chat', { expects: /ERR_|Failed to load/, context: { bypassCSP: true } })
  await page.getByLabel('Agent').fill('coder')
  await begin(page, 'Read it')
  await shown(page, 'May read_file run?')
  await until('it is announced', async () => (await page.locator('[role=status]').allTextContents()).join().includes('read_file needs your approval.'))
  await accessible(page, 'a call that waits for approval')
  assert.match(await text(page, '.approval pre'), /"path": "config.yaml"/)
  assert.equal(await page.locator('.working').count(), 0)
  await w.down('SIGKILL')
  await w.up()
  await page.reload()
  await shown(page, 'May read_file run?')
  await page.getByLabel('Message').focus()
  const once = page.getByRole('button', { name: 'Allow once: read_file' })
  for (let n = 0; n < 10 && !(await once.evaluate((e) => e === document.activeElement)); n++) await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await turnEnds(page)
  assert.equal(await text(page, '.answer .prose'), 'It is quick.')
  assert.match(await page.locator('.tool').first().textContent(), /policy: quick/)
  assert.equal(await page.locator('.approval').count(), 0)

  const send = async (words) => {
    await page.getByLabel('Message').fill(words)
    await page.getByLabel('Message').press('Enter')
    await shown(page, 'May read_file run?')
  }
  await send('Again')
  await page.getByRole('button', { name: 'Deny: read_file' }).click()
  await shown(page, 'Then not.')
  await page.locator('.tool.failed').waitFor()
  await send('And twice')
  await page.getByRole('button', { name: 'Allow always in this conversation: read_file' }).click()
  await shown(page, 'Twice.') // without another question
})
