// The paths of small charts.
import assert from 'node:assert/strict'
import test from 'node:test'

import { bars, line, most, plotHeight } from '../src/plot'

test('bars: one for each value above 0, the largest up to the top', () => {
  assert.equal(bars([undefined, 0, 5, 10], 10), `M8 ${plotHeight}V20.8h3V${plotHeight}M12 ${plotHeight}V1.5h3V${plotHeight}`)
  assert.equal(bars([], 1), '')
})

test('line: has a gap where there is no value, and a single value is seen', () => {
  assert.equal(line([1, undefined, 1, 2], 2), 'M0 20.0h2h2M8 20.0h2L14 1.5h2')
  assert.equal(line([undefined], 1), '')
})

test('most: 0 where there is no value', () => {
  assert.deepEqual([most([]), most([undefined]), most([3, undefined, 7])], [0, 0, 7])
})
