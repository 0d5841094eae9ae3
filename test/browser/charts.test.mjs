// What is drawn: the time line, the strip of a calm day, an incident's story and its chart, and the traffic.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test, { after } from 'node:test'

import { fake, wait } from './fake.mjs'
import { accessible, close, open, shown, text, until } from './world.mjs'

after(close)

const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString()
const overloaded = (count) => [{ kind: 'overloaded', cause: 'server overloaded', count }]
const was = (more = {}) => ({ id: 'was', upstream: 'anthropic', began: ago(910), ended: ago(425), recoveredMs: 485_000, tries: 40, failures: 33, calls: 14, callers: 3, held: 13, lost: 1, message: 'HTTP 529: Overloaded', kinds: overloaded(33), ...more })
const lasting = () => ({ id: 'open', upstream: 'openai', began: ago(200), open: true, tries: 20, failures: 20, calls: 3, callers: 3, held: 0, lost: 0, kinds: overloaded(20) })
const past = () => [2, 3, 4].map((d) => was({ id: 'past' + d, upstream: 'openai', began: ago(d * 86_400), ended: ago(d * 86_400 - 720), recoveredMs: 720_000 }))
const outage = () => ({ name: 'o', level: 'host', since: ago(180), kind: 'overloaded', cause: 'server overloaded', probes: 4, probing: false, recovering: false, waiting: 3, nextProbe: ago(-21), remainingMs: 21_000 })
const failing = () => ({ name: 'openai', state: 'waiting', waiting: 3, outages: [outage()] })
const well = (more = {}) => ({ name: 'anthropic', state: 'operational', outages: [], waiting: 0, lastSuccess: ago(5), saved: { calls: 13, outages: 1, retries: 20, waitedMs: 1, sinceMs: 86_400_000 }, ...more })
const waits = () => [1, 2, 3].map((i) => wait(i, { upstream: 'openai', began: ago(180 - i * 40), waitedMs: (180 - i * 40) * 1000, outage: 'o' }))

// ended are requests of the last quarter of an hour: one each 20 s, and those that the outage has held.
function ended() {
  const passed = Array.from({ length: 40 }, (_, k) => ({ id: 1000 + k, began: ago(845 - k * 20), tookMs: 3000, upstream: 'spare', tries: 1, outcome: 'answered', client: 'claude-cli/2' }))
  const held = Array.from({ length: 14 }, (_, k) => ({ id: 2000 + k, began: ago(900 - k * 22), tookMs: (480 - k * 19) * 1000, waitedMs: 300_000, upstream: 'anthropic', tries: 5, outcome: k === 6 ? 'failed' : 'answered', client: 'claude-cli/2' }))
  return [...passed, ...held].sort((a, b) => Date.parse(b.began) + b.tookMs - Date.parse(a.began) - a.tookMs)
}

async function scene(t, lists, to = '', options = {}) {
  const requests = ended()
  const s = await fake({ lists: () => ({ waits: [], turns: [], conversations: [], upstreams: [well()], incidents: [was()], ...lists }), requests: { all: requests.length, requests }, answer: options.answer })
  const page = await open(t, s.url + to, { context: { bypassCSP: true, ...options.context } })
  t.after(s.stop)
  await until('the page is live', () => page.locator('.link.live').isVisible())
  return { s, page }
}

const label = (page, selector) => page.locator(`${selector} svg[role=img]`).first().getAttribute('aria-label')

test('the time line has a lane for each upstream, a thread for each held call, and says all of it', async (t) => {
  const { s, page } = await scene(t, { waits: waits(), upstreams: [well(), failing()], incidents: [lasting(), was()] })
  await shown(page, '3 calls wait')
  await until('it is described', async () => /^openai: fails since \d\d:\d\d, 3 calls held\./.test(await label(page, '.line')))
  assert.equal(await page.locator('.line circle.head').count(), 3)
  assert.equal(await page.locator('.line .next').count(), 1)
  await accessible(page, 'the time line')
  s.say('gone', { wait: 1, how: 'recovered', retries: 3, waitedMs: 140_000 })
  await until('an answered call joins the line again', async () => (await page.locator('.line circle.head').count()) === 2 && (await page.locator('.line .thread.done').evaluateAll((all) => all.some((e) => e.getAttribute('d').includes('C')))))
  await page.getByRole('button', { name: '30 min' }).click()
  await until('both outages are drawn', async () => (await page.locator('.line .outage').count()) === 2)
  const box = await page.locator('.line svg').boundingBox()
  await page.mouse.move(box.x + box.width * 0.84, box.y + 20)
  await shown(page, /^\d\d:\d\d: openai held \d calls?/)
})

test('the calls that an incident has held fan out when it is over', async (t) => {
  const { page } = await scene(t, { incidents: [was({ began: ago(400), ended: ago(60) })] })
  await shown(page, 'Nothing waits')
  await until('the time line is there', async () => (await page.locator('.line .thread.done').count()) > 0)
})

test('a calm day is a strip and the last three events', async (t) => {
  const { page } = await scene(t, { incidents: [was(), ...past()] })
  await shown(page, 'The upstream answers')
  await shown(page, '54 requests in the last hour')
  await shown(page, 'In the last 24 hours: 13 calls held and answered through 1 outage')
  assert.equal(await page.locator('.line').count(), 0)
  assert.equal(await page.locator('.recent li').count(), 3)
  assert.match(await text(page, '.recent li'), /anthropic answers again after 8m5s\. 13 calls held and answered\./)
  await accessible(page, 'a calm day')
  await page.locator('.recent a').first().click()
  await until('it leads to the incident', () => page.url().endsWith('#/incidents/was'))
})

test('an incident is a story with a chart, and can be sent', async (t) => {
  const report = (req) => [200, req.headers.accept === 'text/markdown' ? 'unused' : {}]
  const { page, s } = await scene(t, {}, '#/incidents/was', { answer: report, context: { permissions: ['clipboard-read', 'clipboard-write'] } })
  await until('the story has its sentences', async () => (await page.locator('.story li').count()) === 4)
  const told = await page.locator('.story li').allInnerTexts()
  assert.match(told[0], /^\d\d:\d\d:\d\d\s+first failure: server overloaded$/)
  assert.match(told[1], /first of 14 calls held$/)
  assert.match(told[2], /a probe was answered, after 8m5s$/)
  assert.match(told[3], /all released: 13 answered, 1 lost$/)
  assert.match(await label(page, '.incidents'), /^Calls that were held: 14 at most, from \d\d:\d\d to \d\d:\d\d$/)
  assert.deepEqual(await page.locator('.incidents .count-tick').allTextContents(), ['0', '5', '10', '15'])
  const box = await page.locator('.incidents svg[role=img]').boundingBox()
  await page.mouse.move(box.x + box.width * 0.8, box.y + 50)
  await shown(page, /^\d\d:\d\d(:\d\d)?: 14 calls held$/)
  await accessible(page, 'a story')
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as a picture' }).click()])
  assert.equal(download.suggestedFilename(), 'incident-was.png')
  const png = await readFile(await download.path())
  assert.deepEqual([...png.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47])
  assert.ok(png.readUInt32BE(16) > 1000 && png.length > 5000, `${png.readUInt32BE(16)} pixels wide, ${png.length} bytes`)
  await page.getByRole('button', { name: 'Copy as Markdown' }).click()
  await shown(page, 'Copied')
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\n- \d\d:\d\d:\d\d first failure: server overloaded\n[^]*\n- \d\d:\d\d:\d\d all released: 13 answered, 1 lost/)
  assert.ok(s.done.includes('GET /-/incidents/was '))
})

test('where there is history, the usual length of an outage stands beside the countdown', async (t) => {
  const { page } = await scene(t, { waits: waits(), upstreams: [well(), failing()], incidents: [lasting(), was(), ...past()] })
  await shown(page, 'Usually over in 12m (3 outages in 30 days)')
  await page.goto(page.url().replace(/#.*|$/, '#/incidents/open'))
  await until('the story names the circuit', async () => /circuit open: one probe at a time/.test(await page.locator('.story').textContent()))
  await shown(page, /3 calls held now, 0 lost/)
})

test('the traffic has axes, a range, values under the pointer and a table', async (t) => {
  const { page } = await scene(t, {}, '#/requests')
  await shown(page, 'In the last 1 h: 54 requests (40 at the first try, 13 after a wait, 1 without an answer).')
  await page.getByRole('heading', { name: 'Requests per minute' }).waitFor()
  const [first] = await page.locator('.traffic .count-tick').allTextContents()
  assert.equal(first, '0')
  assert.ok((await page.locator('.traffic .tick').count()) >= 4)
  await page.getByRole('button', { name: '15 min' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Requests per 15 seconds' }).waitFor()
  const box = await page.locator('.traffic svg').boundingBox()
  await page.mouse.move(box.x + box.width * 0.6, box.y + 50)
  await shown(page, /^\d\d:\d\d–\d\d:\d\d: \d+ requests?/)
  await page.getByText('The numbers').click()
  assert.ok((await page.locator('.traffic tbody tr').count()) > 10)
  await accessible(page, 'the traffic')
})

for (const width of [320, 390]) {
  test(`charts fit into ${width} pixels`, async (t) => {
    const { page } = await scene(t, { waits: waits(), upstreams: [well(), failing()], incidents: [lasting(), was(), ...past()] }, '', { context: { viewport: { width, height: 800 } } })
    for (const view of ['now', 'requests', 'incidents/was', 'policy']) {
      await page.evaluate((v) => (location.hash = '#/' + v), view)
      await page.locator(view === 'policy' ? 'h1' : 'main svg[role=img]').first().waitFor()
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, view)
    }
  })
}
