// Notices on the desktop.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { fake, wait } from './fake.mjs'
import { browser, close, open, shown, until } from './world.mjs'

after(close)

const incident = (more) => ({ id: 'i1', upstream: 'anthropic', began: new Date().toISOString(), open: true, models: ['m'], tries: 3, failures: 3, calls: 2, callers: 1, held: 0, lost: 0, kinds: [{ kind: 'overloaded', cause: 'server overloaded', count: 3 }], clients: [], ...more })

test('notices are asked for by a click, and tell of an outage, its end and a spent window', async (t) => {
  const before = incident({ id: 'i0' })
  const s = await fake({ lists: () => ({ waits: [], turns: [], incidents: [before], upstreams: [] }) })
  const context = await (await browser()).newContext()
  t.after(async () => (await context.close(), s.stop()))
  const page = await open(t, 'about:blank', { in: context })
  await page.addInitScript(() => {
    globalThis.told = []
    globalThis.asked = 0
    globalThis.Notification = class {
      static permission = 'default'
      static async requestPermission() {
        globalThis.asked++
        return (this.permission = 'granted')
      }
      constructor(title, options) {
        globalThis.told.push(`${options.tag}: ${options.body}`)
      }
    }
    Object.defineProperty(document, 'hasFocus', { value: () => globalThis.looked ?? false })
  })
  await page.goto(s.url)
  await shown(page, 'Nothing waits')
  const told = () => page.evaluate(() => globalThis.told)
  assert.equal(await page.evaluate(() => globalThis.asked), 0)
  s.say('incident', incident({ id: 'off' })) // no notices were asked for
  await page.goto(s.url + '#/incidents')
  await until('it is known', async () => (await page.locator('.incidents > li').count()) === 2)
  await page.getByRole('button', { name: 'Notify me' }).click()
  await page.getByRole('button', { name: 'Notices on', pressed: true }).waitFor()
  assert.equal(await page.evaluate(() => globalThis.asked), 1)
  s.say('incident', incident())
  await until('the outage is told', async () => (await told()).length === 1)
  s.say('incident', incident({ failures: 4 })) // no news
  s.say('incident', incident({ open: false, ended: new Date().toISOString(), recoveredMs: 90_000, held: 2 }))
  await until('its end is told', async () => (await told()).length === 2)
  s.say('wait', wait(1, { opensAt: new Date(Date.now() + 3600_000).toISOString(), kind: 'quota' }))
  await until('the window is told', async () => (await told()).length === 3)
  assert.deepEqual((await told()).map((x) => x.replace(/\d\d:\d\d.*/, 'T')), [
    'ridethrough anthropic: anthropic: server overloaded. 2 calls wait.',
    'ridethrough anthropic: anthropic answers again after 1m30s. 2 calls held and answered.',
    'ridethrough anthropic: anthropic: usage limit. It opens again at T',
  ])
  await page.evaluate(() => (globalThis.looked = true))
  s.say('incident', incident({ id: 'i2' })) // the page is looked at
  await page.getByRole('button', { name: 'Notices on' }).click()
  await page.getByRole('button', { name: 'Notify me' }).waitFor()
  assert.equal((await told()).length, 3)
})
