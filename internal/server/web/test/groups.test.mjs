// Many of the same are put together.
import assert from 'node:assert/strict'
import test from 'node:test'

import { alike } from '../src/groups'

test('alike: more than three with one reason are one group, in the order of the first of each', () => {
  const reasonOf = (v) => v[0]
  assert.deepEqual(alike(['b1', 'a1', 'a2', 'a3', 'b2', 'a4'], reasonOf), ['b1', 'b2', { reason: 'a', of: ['a1', 'a2', 'a3', 'a4'] }])
  assert.deepEqual(alike(['a1', 'a2', 'a3'], reasonOf), ['a1', 'a2', 'a3'])
  assert.deepEqual(alike(['1', '2', '3', '4'], () => ''), ['1', '2', '3', '4'])
})
