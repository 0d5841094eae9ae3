// One incident: its address, its course and its reports.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test, { after } from 'node:test'

import { accessible, close, open, shown, text, until, world } from './world.mjs'

after(close)

test('an incident has an address, a course and reports', async (t) => {
  const w = await world(t, { replies: '529*2, 503*1', then: '529', wait: '100ms,100ms,100ms,10m' })
  void w.call().catch(() => {})
  const [{ id }] = await until('there is an incident', async () => {
    const all = (await w.get('incidents')).incidents
    return all.length > 0 && all[0].failures >= 4 && all
  })
  const page = await open(t, `${w.page}#/incidents/${id}`, { context: { bypassCSP: true } })
  await until('its course is shown', async () => (await page.locator('.course svg').count()) === 2)
  const [faults, waits] = await page.locator('.course svg').evaluateAll((all) => all.map((e) => e.getAttribute('aria-label')))
  assert.match(faults, /^Faults per minute from \d\d:\d\d to \d\d:\d\d: 16 at most, at \d\d:\d\d; none in 0 of 1 step$/)
  assert.match(waits, /^Calls waiting: 1 at most, at \d\d:\d\d; 1 at the end$/)
  assert.deepEqual(await page.locator('.shares li').allTextContents(), ['server overloaded 75 % (3)', 'server error 25 % (1)'])
  await page.getByText('The numbers, in steps of 15s').click()
  assert.match(await text(page, '.course tbody'), /^\d\d:\d\d:\d\d3 server overloaded, 1 server error1$/)
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
  assert.deepEqual(JSON.parse(json).course.points, [{ faults: { 'server overloaded': 3, 'server error': 1 }, waiting: 1 }])
  assert.equal(await page.getByRole('link', { name: 'Link to this incident' }).getAttribute('href'), `#/incidents/${id}`)
  await page.goto(w.page + '#/incidents/none')
  await shown(page, 'No incident has this address')
})
