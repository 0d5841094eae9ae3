// Takes the pictures of docs/page.md; scripts/screenshots runs it.
import { join } from 'node:path'

import { calm, outage } from './scenes.mjs'
import { browser, close, shown, until, world } from './world.mjs'

const undoing = []
const t = { after: (undo) => undoing.push(undo) }
const out = process.argv[2]

const { w, c } = await outage(t, ['claude-cli/2.1.329', 'codex_cli_rs/0.169.0', 'python-httpx/0.28'])

const views = [['now', 'now'], ['upstreams', 'upstreams'], ['incidents', 'incidents'], ['chat', `chat/${c.id}`], ['policy', 'policy']]
const wide = { width: 1100, height: 760 }
const narrow = { width: 320, height: 640 }
const takes = [
  ...views.map(([name, to]) => [name, to, { viewport: wide }]),
  ['now-dark', 'now', { viewport: wide, colorScheme: 'dark' }],
  ['chat-dark', `chat/${c.id}`, { viewport: wide, colorScheme: 'dark' }],
  ['now-320', 'now', { viewport: narrow }],
  ['chat-320', `chat/${c.id}`, { viewport: narrow }],
]
for (const [name, to, options] of takes) {
  const context = await (await browser()).newContext(options)
  const page = await context.newPage()
  await page.goto(`${w.page}#/${to}`)
  await until('the page is live', () => page.locator('.link.live').isVisible())
  if (name === 'incidents') await page.locator('summary').first().click()
  if (to.startsWith('chat/')) await shown(page, 'Then look into the garden.')
  await page.waitForTimeout(600)
  await page.screenshot({ path: join(out, name + '.png') })
  await context.close()
}

const today = await calm(t)
const fresh = await world(t)
for (const [name, of, options] of [['requests', today, { viewport: wide }], ['requests-dark', today, { viewport: wide, colorScheme: 'dark' }], ['requests-390', today, { viewport: { width: 390, height: 900 } }], ['setup', fresh, { viewport: wide }]]) {
  const context = await (await browser()).newContext(options)
  const page = await context.newPage()
  await page.goto(of.page + (of === today ? '#/requests' : ''))
  await shown(page, of === today ? 'Recent requests' : 'Point a program here')
  await page.waitForTimeout(600)
  await page.screenshot({ path: join(out, name + '.png') })
  await context.close()
}

// A council, in which one member waits for its provider and one has failed.
const said = (words) => `say:${JSON.stringify(words)}`
const k = await world(t, {
  replies: `${said('Rayleigh scattering: air scatters short waves more than long ones.')}, 429;retry-after=12, 401, ${said('It is blue because blue light is scattered most.')}`,
  then: said('Air scatters **short waves** far more than long ones, so blue light reaches us from all over the sky.\n\nViolet is scattered even more, but there is less of it in sunlight, and our eyes are less open to it.'),
})
const context = await (await browser()).newContext({ viewport: { width: 1100, height: 860 } })
const page = await context.newPage()
await page.goto(k.page + '#/council')
await page.getByLabel('Question').fill('Why is the sky blue, and not violet?')
await page.getByLabel(/^Models/).fill('anthropic/claude-opus-4-5\nopenai/gpt-5\nanthropic/claude-sonnet-4-5')
await page.getByRole('button', { name: 'Ask the council' }).click()
await until('one waits and two have ended', async () => (await page.locator('.member.waiting').count()) === 1 && (await page.locator('.member.failed, .member.answered').count()) === 2)
await page.waitForTimeout(600)
await page.screenshot({ path: join(out, 'council.png') })
await shown(page, 'The council has answered')
await page.setViewportSize(narrow)
await page.emulateMedia({ colorScheme: 'dark' })
await page.locator('#council').evaluate((e) => e.scrollIntoView())
await page.waitForTimeout(300)
await page.screenshot({ path: join(out, 'council-320.png') })
await context.close()
await close()
for (const undo of undoing) await undo()
