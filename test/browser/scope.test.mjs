// What the page shows with tokens that do not permit everything.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'

import { close, open, shown, undo, until, world } from './world.mjs'

after(close)

test('a token that only reads shows waits without buttons, and one without see says so', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ridethrough-tokens-'))
  undo(t, () => rmSync(dir, { recursive: true, force: true }))
  const line = (scope) => `${scope} ${scope} never sha256:${createHash('sha256').update(`the-secret-of-${scope}`).digest('hex')}\n`
  writeFileSync(join(dir, 'tokens'), ['use', 'see', 'admin'].map(line).join(''))
  const w = await world(t, { then: '529', wait: '10m', token: 'the-token-of-the-programs', config: `tokens: ${join(dir, 'tokens')}\n` })
  void w.call().catch(() => {})
  const reader = await open(t, w.page + '#token=the-secret-of-see')
  await shown(reader, 'Server overloaded')
  assert.equal(await reader.getByRole('button', { name: /Retry now|Give up/ }).count(), 0)
  await reader.goto(w.page + '#/chat')
  await shown(reader, 'Your token allows reading only.')
  const admin = await open(t, w.page + '#token=the-secret-of-admin')
  await until('to see a button', () => admin.getByRole('button', { name: /Retry now/ }).first().isVisible())
  const user = await open(t, w.page + '#token=the-secret-of-use', { expects: /403/ })
  await shown(user, 'The server does not accept this token: the token use has the scope use, and this needs see.')
})
