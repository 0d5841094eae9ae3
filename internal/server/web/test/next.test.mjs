import assert from 'node:assert/strict'
import test from 'node:test'

import { nextOf, sooner } from '../src/next'

const at = '2026-11-22T14:00:00Z'
const wait = (more) => ({ state: 'waiting', due: at, remainingMs: 41_000, received: 1000, upstream: 'a', ...more })
const upstream = (outage, more) => ({ state: 'waiting', received: 2000, outages: [{ name: 'model m', probing: false, recovering: false, nextProbe: at, remainingMs: 11_000, ...outage }], ...more })
const next = (w, u) => {
  const { what, due } = nextOf(w, u)
  return [what, due]
}

test('nextOf: the retry of the call itself, where no probe comes before it', () => {
  assert.deepEqual(next(wait()), ['retry', 42_000])
  assert.deepEqual(next(wait(), upstream()), ['retry', 42_000], 'an outage that is not its own')
  assert.deepEqual(next(wait({ outage: 'model m' }), upstream({ remainingMs: 60_000 })), ['retry', 42_000])
  assert.deepEqual(next(wait({ outage: 'model m' }), upstream({ nextProbe: undefined, remainingMs: 0 })), ['retry', 42_000])
  assert.deepEqual(next(wait({ outage: 'model m' }), upstream({ recovering: true })), ['retry', 42_000])
})

test('nextOf: the probe of its outage, and what has no time', () => {
  assert.deepEqual(next(wait({ outage: 'model m' }), upstream()), ['probe', 13_000])
  assert.deepEqual(next(wait({ outage: 'model m', state: 'queued', due: undefined }), upstream()), ['probe', 13_000])
  assert.deepEqual(next(wait({ outage: 'model m' }), upstream({ probing: true })), ['probing', Infinity])
  assert.deepEqual(next(wait({ outage: 'model m', opensAt: at }), upstream()), ['retry', 42_000], 'a usage window')
  assert.deepEqual(next(wait({ state: 'queued', due: undefined }), upstream()), ['queued', Infinity])
  assert.deepEqual(next(wait({ state: 'trying', outage: 'model m' }), upstream()), ['trying', Infinity])
  assert.deepEqual(next(wait({ outage: 'model m' }), upstream({}, { state: 'paused' })), ['paused', Infinity])
})

test('sooner: a try in progress, then the times', () => {
  const [retry, probe, trying, queued] = [wait(), wait({ outage: 'model m' }), wait({ state: 'trying' }), wait({ state: 'queued', due: undefined })].map((w) => nextOf(w, upstream()))
  assert.ok(sooner(trying, probe) && sooner(probe, retry) && sooner(retry, queued) && !sooner(retry, probe) && !sooner(queued, trying))
})
