// The cost of a thousand waiting calls, and of a hidden page.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { fake, wait } from './fake.mjs'
import { close, open, shown, text, until } from './world.mjs'

after(close)

const thousand = (more) => Array.from({ length: 1000 }, (_, i) => wait(i + 1, { upstream: i % 2 ? 'anthropic' : 'openai', ...more(i) }))
const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1]

// spent returns the milliseconds of script and of layout of an action.
async function spent(session, act) {
  const read = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value * 1000]))
  const before = await read()
  await act()
  const after = await read()
  return { script: after.ScriptDuration - before.ScriptDuration, layout: after.LayoutDuration + after.RecalcStyleDuration - before.LayoutDuration - before.RecalcStyleDuration }
}

test('a change of a thousand waiting calls is drawn within a frame', async (t) => {
  const s = await fake({ lists: () => ({ waits: thousand(() => ({})), turns: [], upstreams: [] }) })
  const page = await open(t, s.url)
  t.after(s.stop)
  await shown(page, '1\u2009000 calls wait')
  assert.deepEqual(await page.locator('.fold .spent b').allTextContents(), ['500 calls in 500 sessions', '500 calls in 500 sessions'])
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const change = async (n) => {
    s.sayAll(thousand((i) => ({ retries: 3 + n, remainingMs: 20_000 + i * 10 })).map((w) => ['wait', w]))
    await until('all is drawn', async () => (await text(page, '[role=status]')).includes(`attempt ${4 + n}`) || (await page.locator('.rows .rows .spent').allTextContents())[0]?.includes(`retry ${4 + n}`))
    await page.waitForTimeout(150)
  }
  const rounds = async (from) => {
    const all = []
    for (let n = from; n < from + 9; n++) all.push(await spent(session, () => change(n)))
    return all
  }
  const folded = await rounds(1)
  for (const fold of await page.locator('.fold summary').all()) await fold.click()
  await until('rows are there', async () => (await page.locator('.rows .rows li').count()) === 200)
  const some = await rounds(30)
  for (let more; (more = await page.getByRole('button', { name: /^Show/ }).all()).length > 0; ) await more[0].click()
  await page.evaluate(() => scrollTo(0, 0))
  await until('all rows are there', async () => (await page.locator('.rows .rows li').count()) === 1000)
  const all = await rounds(60)
  const [none, few, many] = [folded, some, all].map((r) => median(r.map((x) => x.script)))
  const [least, leastOfAll] = [some, all].map((r) => Math.min(...r.map((x) => x.script)))
  t.diagnostic(`script per update of 1000: ${none.toFixed(1)} ms folded, ${few.toFixed(1)} ms with 200 rows, ${many.toFixed(1)} ms with all, ${least.toFixed(1)} and ${leastOfAll.toFixed(1)} ms at the least; layout ${median(all.map((x) => x.layout)).toFixed(1)} ms`)
  assert.ok(least < 16 && leastOfAll < 16, `${least} and ${leastOfAll} ms of script at the least`) // the median is the machine's, which does other things meanwhile
  const idle = await spent(session, () => page.waitForTimeout(5000))
  t.diagnostic(`script in 5 s of ticking: ${idle.script.toFixed(1)} ms`)
  assert.ok(idle.script < 100, `${idle.script} ms of script`)
  const timers = await page.locator('[role=timer]').evaluateAll((all) => all.filter((e) => !/^(in \d+m?\d*s?|in \d+s|now)$/.test(e.textContent)).length)
  assert.equal(timers, 0)
})

test('a hidden page closes its stream, and is up to date at once when it is shown', async (t) => {
  let now = [wait(1)]
  const s = await fake({ lists: () => ({ waits: now, turns: [], upstreams: [] }) })
  const page = await open(t, 'about:blank')
  t.after(s.stop)
  await page.clock.install()
  await page.goto(s.url)
  await shown(page, '1 call waits')
  await until('there is one stream', () => s.readers() === 1)
  const show = (hidden) => page.evaluate((h) => {
    Object.defineProperty(document, 'hidden', { get: () => h, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)
  await show(true)
  await page.clock.runFor(30_000) // less than the silence after which any page connects anew
  assert.equal(s.readers(), 1)
  await page.clock.runFor(40_000)
  await until('the stream is closed', async () => (await page.clock.runFor(1000), s.readers() === 0))
  now = [wait(1), wait(2)]
  await until('polling keeps the title true', async () => (await page.clock.runFor(5000), (await page.title()) === '(2) ▲ waiting — ridethrough'))
  await until('the poll is over', () => s.readers() === 0)
  await show(false)
  await until('the stream is back', async () => (await page.clock.runFor(100), s.readers() === 1))
})
