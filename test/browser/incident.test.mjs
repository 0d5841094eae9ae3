// One incident: its address, what it tells and its reports.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test, { after } from 'node:test'

import { accessible, close, open, shown, until, world } from './world.mjs'

after(close)

test('an incident has an address, its facts and reports', async (t) => {
  const w = await world(t, { replies: '529*2, 503*1', then: '529', wait: '100ms,100ms,100ms,10m' })
  void w.call().catch(() => {})
  const [{ id }] = await until('there is an incident', async () => {
    const all = (await w.get('incidents')).incidents
    return all.length > 0 && all[0].failures >= 4 && all
  })
  const page = await open(t, `${w.page}#/incidents/${id}`, { context: { bypassCSP: true } })
  const fact = (name) => page.locator('.facts > div', { hasText: name }).locator('dd').first().textContent()
  await until('it has four failures', async () => (await fact('Tries')) === '4, of which 4 failed')
  assert.equal(await fact('Causes'), 'server overloaded 75 %, server error 25 %')
  assert.equal(await fact('Ended'), 'not yet')
  assert.equal(await fact('Calls that had to wait'), '1')
  assert.equal(await fact('Held and answered'), '0 calls')
  assert.equal(await fact('Still waiting'), '1 call')
  await accessible(page, 'an incident')
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
    return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')]
  }
  const [markdown, report] = await saved('Save as Markdown')
  assert.equal(markdown, `incident-${id}.md`)
  assert.match(report, /^# Incident at anthropic\n[^]*\| server overloaded \| overloaded \| 3 \| 75 % \|/)
  const [file, json] = await saved('Save as JSON')
  assert.equal(file, `incident-${id}.json`)
  assert.deepEqual(JSON.parse(json).kinds.map((k) => [k.kind, k.count]), [['overloaded', 3], ['unavailable', 1]])
  assert.equal(await page.getByRole('link', { name: 'Link to this incident' }).getAttribute('href'), `#/incidents/${id}`)
  await page.goto(w.page + '#/incidents/none')
  await shown(page, 'No incident has this address')
})
