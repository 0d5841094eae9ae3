// What charts show is counted here: axes, counts over time, lanes.
import assert from 'node:assert/strict'
import test from 'node:test'

import { buckets, countTicks, heldOver, lanes, stepOf, threadOf, timeTicks, usual, valueAt } from '../src/chart'

const at = (time) => Date.parse(`2026-11-22T${time}Z`)
const request = (began, tookMs, more = {}) => ({ id: 1, began: `2026-11-22T${began}Z`, tookMs, upstream: 'a', tries: 1, outcome: 'answered', ...more })
const thread = (began, ended, more = {}) => ({ upstream: 'a', began: at(began), ...(ended ? { ended: at(ended) } : {}), held: true, well: true, ...more })

test('timeTicks: round moments, as many as there is room for, with the shortest label that tells them apart', () => {
  const labels = (from, to, most) => timeTicks(at(from), at(to), most).map(([, label]) => label)
  assert.deepEqual(labels('10:00:02', '10:01:00', 5), ['10:00:15', '10:00:30', '10:00:45', '10:01:00'])
  assert.deepEqual(labels('10:00:30', '11:00:00', 5), ['10:15', '10:30', '10:45', '11:00'])
  assert.deepEqual(labels('00:00:00', '23:59:00', 5), ['00:00', '06:00', '12:00', '18:00'])
  assert.equal(stepOf(60 * 86_400_000, 4), 15 * 86_400_000)
})

test('countTicks: whole numbers from 0 to at least the maximum', () => {
  assert.deepEqual(countTicks(0), [0, 1])
  assert.deepEqual(countTicks(3), [0, 1, 2, 3])
  assert.deepEqual(countTicks(7), [0, 2, 4, 6, 8])
  assert.deepEqual(countTicks(1000), [0, 500, 1000])
})

test('buckets: each request is counted once, when it ended', () => {
  const all = [request('10:00:10', 1000), request('10:00:20', 65_000, { waitedMs: 60_000 }), request('10:01:30', 10, { outcome: 'failed' }), request('09:58:00', 10)]
  const made = buckets(all, at('10:00:00'), at('10:02:00'), 2)
  assert.deepEqual(made.map((b) => [b.to - b.from, b.passed, b.held, b.failed]), [[60_000, 1, 0, 0], [60_000, 0, 1, 1]])
})

test('heldOver: the number changes when a call is held and when it ends', () => {
  const points = heldOver([thread('10:00:10', '10:01:00'), thread('10:00:20', '10:00:50'), thread('10:00:30'), thread('10:00:40', '10:00:45', { held: false })], at('10:00:00'), at('10:02:00'))
  assert.deepEqual([['10:00:05', 0], ['10:00:15', 1], ['10:00:30', 3], ['10:00:55', 2], ['10:01:30', 1]].map(([t]) => [t, valueAt(points, at(t))]), [['10:00:05', 0], ['10:00:15', 1], ['10:00:30', 3], ['10:00:55', 2], ['10:01:30', 1]])
  assert.equal(valueAt(heldOver([thread('09:00:00')], at('10:00:00'), at('11:00:00')), at('10:00:00')), 1)
})

test('lanes: a held call has a slot of its own while it is held, and calls without a slot are counted', () => {
  const incident = { upstream: 'a', began: '2026-11-22T10:00:00Z', kinds: [{ cause: 'server overloaded' }] }
  const threads = [thread('10:00:10', '10:01:00'), thread('10:00:20'), thread('10:00:30'), thread('10:01:10'), threadOf({ ...request('10:00:00', 5), upstream: 'b' }), thread('08:00:00', '08:01:00')]
  const [a, b] = lanes(threads, [incident], at('09:59:00'), at('10:02:00'), 2)
  assert.deepEqual(a.held.map((t) => [t.slot, t.began]), [[0, at('10:00:10')], [1, at('10:00:20')], [0, at('10:01:10')]])
  assert.deepEqual([a.name, a.undrawn, a.waiting, a.outages.length, a.passed.length], ['a', 1, 3, 1, 0])
  assert.deepEqual([b.name, b.passed.length], ['b', 1])
})

test('usual: the median of the outages of the last 30 days that ended with an answer, if there are three', () => {
  const now = at('12:00:00')
  const day = 86_400_000
  const one = (ago, recoveredMs, upstream = 'a') => ({ upstream, began: new Date(now - ago * day).toISOString(), ...(recoveredMs ? { recoveredMs } : {}) })
  assert.deepEqual(usual('a', [one(1, 720_000), one(2, 60_000), one(3, 3_600_000), one(31, 1), one(4), one(5, 1, 'b')], now), { ms: 720_000, n: 3 })
  assert.equal(usual('a', [one(1, 1), one(2, 2)], now), null)
})
