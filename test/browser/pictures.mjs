// Takes the pictures of docs/page.md; scripts/screenshots runs it.
import { join } from 'node:path'

import { browser, close, shown, until, world } from './world.mjs'

const undoing = []
const t = { after: (undo) => undoing.push(undo) }
const out = process.argv[2]

const answer = 'There are **two files** in `attic/`:\n\n1. `letters.txt`, which is from 1987\n2. `map.png`\n\n```sh\nls -l attic/\n```'
const w = await world(t, {
  replies: `529*2, ok, ok, think:"Let me look."+say:${JSON.stringify(answer)}`, then: '529',
  wait: '1s,1s,1s,45s,2m',
})

// Something has been, and something is: an outage that is over, a conversation,
// and an outage that lasts.
await w.call('early')
await w.call('and again')
const c = await w.post('conversations', { title: 'What is in the attic' })
await w.post(`conversations/${c.id}/turns`, { text: 'What is in the attic?' })
await until('the first turn ends', async () => (await w.get(`conversations/${c.id}`)).turnId === undefined)
await w.post(`conversations/${c.id}/turns`, { text: 'And in the cellar?' })
await w.post(`conversations/${c.id}/turns`, { text: 'Then look into the garden.' })
for (const [who, what] of [['claude-cli/2.1.329', 'one'], ['codex_cli_rs/0.169.0', 'two'], ['python-httpx/0.28', 'three']]) void w.call(what, null, who).catch(() => {})
await until('all wait long', async () => {
  const waits = (await w.get('waits')).waits
  return waits.length === 3 && waits.some((x) => x.remainingMs > 20_000) && (await w.get(`conversations/${c.id}`)).wait?.remainingMs > 20_000
})

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
await close()
for (const undo of undoing) await undo()
