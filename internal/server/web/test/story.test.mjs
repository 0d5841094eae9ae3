// An incident in sentences.
import assert from 'node:assert/strict'
import test from 'node:test'

import { asMarkdown, inOneLine, isElsewhere, metBy, story } from '../src/story'

const incident = (more = {}) => ({ id: 'x', upstream: 'anthropic', began: '2026-11-22T14:01:00Z', tries: 40, failures: 33, calls: 13, callers: 3, held: 13, lost: 0, kinds: [{ kind: 'overloaded', cause: 'server overloaded', count: 33 }], ...more })
const held = (began, ended, more = {}) => ({ id: 1, began: `2026-11-22T${began}Z`, tookMs: Date.parse(`2026-11-22T${ended}Z`) - Date.parse(`2026-11-22T${began}Z`), waitedMs: 60_000, upstream: 'anthropic', tries: 4, outcome: 'answered', ...more })

test('story: an incident that is over, from the first failure to the release', () => {
  const i = incident({ ended: '2026-11-22T16:42:00Z', recoveredMs: 9_660_000 })
  const requests = [held('14:02:10', '16:42:30'), held('15:00:00', '16:43:10'), held('10:00:00', '10:05:00'), held('15:00:00', '16:50:00', { upstream: 'openai' })]
  assert.equal(inOneLine(story(i, requests)), '14:01 first failure: server overloaded · 14:02 first of 13 calls held · 16:42 a probe was answered, after 2h41m · 16:43 all released: 13 answered, 0 lost')
  assert.equal(inOneLine(story(i, [])), '14:01 first failure: server overloaded · 16:42 a probe was answered, after 2h41m · all released: 13 answered, 0 lost')
  assert.equal(inOneLine(story({ ...i, recoveredMs: undefined }, [])), '14:01 first failure: server overloaded · 16:42 last failure; no request since then has shown whether it is over')
})

test('story: an incident in progress says when the circuit opened, and how many are held', () => {
  const outage = { since: '2026-11-22T14:01:20Z', probes: 4 }
  assert.equal(inOneLine(story(incident({ held: 1, lost: 1 }), [], outage)), '14:01:00 first failure: server overloaded · 14:01:20 circuit open: one probe at a time asks for all · 4 probes have failed so far · 11 calls held now, 1 lost')
})

test('story: an incident that only other gateways have met', () => {
  const elsewhere = [{ replica: 'gw-1', began: '2026-11-22T14:01:00Z', ended: '2026-11-22T14:03:00Z', calls: 1 }, { replica: 'gw-2', began: '2026-11-22T14:02:00Z', calls: 12 }]
  const i = incident({ tries: 0, failures: 0, calls: 0, held: 0, kinds: [], open: true, elsewhere })
  assert.equal(isElsewhere(i), true)
  assert.equal(isElsewhere(incident({ elsewhere })), false)
  assert.equal(isElsewhere(incident({ tries: 0, calls: 0 })), false)
  assert.equal(inOneLine(story(i, [])), '14:01:00 first failure at another gateway; this one has not met it')
  assert.equal(inOneLine(story({ ...i, open: false, ended: '2026-11-22T16:42:00Z' }, [])), '14:01 first failure at another gateway; this one has not met it · 16:42 over at all of them')
  assert.match(metBy(elsewhere[0]), /^gw-1, .*14:01–14:03, 1 call had to wait$/)
  assert.match(metBy(elsewhere[1]), /^gw-2, since .*14:02, 12 calls had to wait$/)
})

test('asMarkdown: the story stands below the title of the report', () => {
  assert.equal(asMarkdown(incident(), story(incident({ ended: '2026-11-22T14:02:00Z', recoveredMs: 60_000, calls: 0, held: 0 }), []), '# Incident at anthropic\n\n- **id:** x\n'),
    '# Incident at anthropic\n\n- 14:01:00 first failure: server overloaded\n- 14:02:00 a probe was answered, after 1m\n- no call had to wait, 0 lost\n\n- **id:** x\n')
})
