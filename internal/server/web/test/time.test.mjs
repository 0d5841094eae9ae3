import assert from 'node:assert/strict'
import test from 'node:test'

import { clock, dated, moment, nextChange, roughly, seconds, until } from '../src/time'
import { attempt, causeOf, count, headline, recovered } from '../src/words'

const minute = 60_000
const due = '2026-11-21T15:04:07Z'

test('until: rounds up to whole seconds and is never in 0s', () => {
  for (const [left, want] of [
    [5000, 'in 5s'], [4999, 'in 5s'], [4001, 'in 5s'], [4000, 'in 4s'], [1, 'in 1s'], [0, 'now'], [-1, 'now'], [-1e9, 'now'],
    [60_000, 'in 1m'], [90_000, 'in 1m30s'], [5 * minute, 'in 5m'], [5 * minute + 1, 'at 15:04, in 6m'], [12.4 * minute, 'at 15:04, in 13m'], [3e7, 'at 15:04, in 8h20m'],
  ]) assert.equal(until(left, due), want)
  assert.equal(until(12 * minute, due, true), 'at 15:04')
  assert.equal(until(12 * minute, undefined), 'in 12m')
})

test('nextChange: the text of until changes exactly then', () => {
  let left = 13 * minute + 123
  for (let n = 0; left > 0; n++) {
    assert.ok(n < 400)
    const step = nextChange(left)
    assert.ok(step > 0 && step <= minute, `${left} ${step}`)
    assert.equal(until(left, due), until(left - step + 1, due), String(left))
    left -= step
  }
  assert.equal(nextChange(0), Infinity)
})

test('roughly: two units at most', () => {
  for (const [ms, want] of [
    [0, '0ms'], [850, '850ms'], [1000, '1s'], [1500, '1.5s'], [12_000, '12s'], [59_999, '1m'], [61_000, '1m1s'], [3_599_900, '1h'], [26_400_000, '7h20m'], [86_400_000, '1d'], [183_600_000, '2d3h'],
  ]) assert.equal(roughly(ms), want)
  assert.equal(seconds(3_661_000), '1h2m')
})

test('clock: instants in the time zone of the reader', () => {
  assert.equal(clock('2026-11-21T00:04:07Z', Date.parse(due)), '00:04')
  assert.equal(moment(due), '15:04:07')
  assert.equal(dated(due, new Date('2026-11-21T20:00:00Z')), '15:04')
  assert.equal(dated(due, new Date('2026-11-22T20:00:00Z')), 'Sat, Nov 21, 15:04')
  const early = '2026-11-03T00:05:09Z'
  assert.equal(clock(early, Date.parse('2026-11-02T12:04:00Z')), '00:05 on Nov 3')
  assert.equal(clock(early, Date.parse('2026-11-02T12:06:00Z')), '00:05')
  assert.equal(moment(early), '00:05:09')
  assert.equal(dated(early, new Date('2026-11-04T20:00:00Z')), 'Tue, Nov 3, 00:05')
})

test('attempt: counts retries from 1, and names the deadline where there is no limit', () => {
  assert.equal(attempt({ retries: 0, maxRetries: 10 }), 'attempt 1/10')
  assert.equal(attempt({ retries: 6 }), 'attempt 7')
  assert.equal(attempt({ retries: 6, deadline: '2026-11-21T05:12:00Z' }, Date.parse(due)), 'attempt 7, gives up 05:12')
  assert.equal(recovered(3, 22_400), 'Recovered after 3 retries (waited 22s)')
  assert.equal(recovered(1, 400), 'Recovered after 1 retry (waited 1s)')
})

test('headline: the same as in the terminal', () => {
  for (const [e, want] of [
    [{ kind: 'overloaded', code: '529', retries: 10 }, 'Failed after 10 retry attempts. The provider was overloaded.'],
    [{ kind: 'overloaded', code: '529', retries: 1 }, 'Failed after 1 retry attempt. The provider was overloaded.'],
    [{ kind: 'auth', code: '401', retries: 0, provider: 'openai' }, 'Failed: authentication. Check the key for openai and try again.'],
    [{ kind: 'quota', code: '429', retries: 0, provider: 'openai' }, 'Failed: the account at openai has no credit. Add credit or raise its limit, and try again.'],
    [{ kind: 'invalid', code: '400', retries: 2 }, 'Failed after 2 retry attempts: the provider did not accept the request. Change the message or the model and try again.'],
    [{ kind: 'unavailable', retries: 3, provider: 'ollama' }, 'Failed after 3 retry attempts. Check that ollama is running and try again.'],
    [{ kind: 'truncated', retries: 1, committed: true }, 'Failed after 1 retry attempt: the answer broke off (stream dropped). Check your connection and try again.'],
  ]) assert.equal(headline(e), want)
  assert.equal(causeOf({ kind: 'unavailable', code: 'ECONNREFUSED' }), 'network')
  assert.equal(causeOf({ kind: 'unavailable', code: '503' }), 'server error')
  assert.equal(count(1234567), '1\u2009234\u2009567')
})
