// The page's texts are those of the terminal: words.json has them from package display, as words_test.go
// checks.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'

import { imageOf, wrongTogether } from '../src/images'
import { nextChange, seconds } from '../src/time'
import * as words from '../src/words'

const want = JSON.parse(await readFile(join(process.env.SOURCES, 'words.json'), 'utf8'))

test('causeOf: the same as in the terminal', () => {
  for (const [fault, cause] of Object.entries(want.causes)) {
    const [kind, code] = fault.split(' ')
    assert.equal(words.causeOf({ kind, code }), cause, fault)
  }
})

test('sentence: the same as in the terminal', () => {
  for (const { of, words: said } of want.waits) assert.equal(words.sentence(of, of.leftMs, of.due), said, JSON.stringify(of))
})

test('seconds: the same as in the terminal, and changes at the same time', () => {
  for (const { of, words: said } of want.durations) {
    assert.equal(seconds(of.ms), said, String(of.ms))
    assert.equal(nextChange(of.ms), of.nextMs || Infinity, String(of.ms))
  }
})

test('recovered: the same as in the terminal', () => {
  for (const { of, words: said } of want.recoveries) assert.equal(words.recovered(of.retries, of.waitedMs), said)
})

test('headline and details: the same as in the terminal', () => {
  for (const { of, words: said, more } of want.ends) assert.deepEqual([words.headline(of), words.details(of)], [said, more], JSON.stringify(of))
})

test('pictured: the same as in the terminal', () => {
  for (const { of, words: said } of want.images) assert.equal(words.pictured(of), said, JSON.stringify(of))
})

test('imageOf: what is in a file, or wrong with it, the same as for the server and the terminal', () => {
  for (const { of, words: said } of want.files) {
    const file = new Uint8Array(of.bytes)
    file.set(Buffer.from(of.begins, 'base64'))
    const [image, wrong] = imageOf('a.png', file)
    assert.equal(image ? words.pictured(image) : wrong, said, JSON.stringify(of))
  }
})

test('wrongTogether: the same as for the server', () => {
  for (const { of, words: said } of want.together) assert.equal(wrongTogether(of.bytes.map((bytes) => ({ bytes }))), said, String(of.bytes))
})

test('fixed lines: the same as in the terminal', () => {
  const { brokeOff, restarted, compacted, shortfall, switched } = words
  const compactions = {
    tooLong: compacted({}), smaller: compacted({ tokensBefore: 123456, tokensAfter: 999 }),
    asked: compacted({ asked: true, tokensBefore: 1003, tokensAfter: 21 }), short: compacted({ asked: true, tokensBefore: 21, tokensAfter: 21 }),
  }
  assert.deepEqual({ brokeOff, restarted, ...compactions, switched: switched('a/b', 'HTTP 529', 'c/d'), nameless: switched('', 'HTTP 529', 'c/d'), tooFew: shortfall(1, 3, 2) }, want.lines)
})

test('cached: what a retry costs before and after the end of the cache', () => {
  const now = Date.parse('2026-11-22T14:00:00')
  assert.equal(words.cached(new Date(now + 3 * 60_000).toISOString(), now), 'A retry until 14:03 uses the provider’s prompt cache; a later one costs about 4 × the input.')
  assert.equal(words.cached(new Date(now + 24 * 3600_000).toISOString(), now), 'A retry until 14:00 on Nov 23 uses the provider’s prompt cache; a later one costs about 4 × the input.')
})

test('what has no time of its own, and the lost connection', () => {
  assert.deepEqual(Object.keys(words.waitsFor).sort(), Object.keys(words.stateWords).sort())
  assert.equal(words.waitsFor.probe, 'waits for the next probe')
  assert.equal(words.waitsFor.probing, 'waits for another call’s probe')
  assert.equal(words.lostBanner('02:31'), 'Connection to the gateway lost at 02:31; what waited there is shown as last seen.')
})

test('notices on the desktop', () => {
  const i = { upstream: 'conversations:anthropic', kinds: [{ kind: 'overloaded', cause: 'server overloaded', count: 3 }], calls: 12, held: 1, recoveredMs: 200_000 }
  assert.equal(words.outageNotice(i), 'anthropic (conversations): server overloaded. 12 calls wait.')
  assert.equal(words.outageNotice({ ...i, upstream: 'spare', calls: 0 }), 'spare: server overloaded. Its last requests failed.')
  assert.equal(words.recoveryNotice(i), 'anthropic (conversations) answers again after 3m20s. 1 call held and answered.')
  assert.equal(words.windowNotice('work', new Date(Date.now() + 3600_000).toISOString()).replace(/\d\d:\d\d/, 'T'), 'work: usage limit. It opens again at T.')
})

test('percent: a part of a whole', () => {
  assert.equal(words.percent(1, 3), 33)
  assert.equal(words.percent(0, 0), 0)
})

test('held: what waiting has achieved, and in which time', () => {
  const day = 24 * 3_600_000
  const some = { calls: 12, outages: 2, retries: 37, waitedMs: 1, sinceMs: day - 60_000 }
  const more = { ...some, calls: 1, outages: 0, retries: 1 }
  assert.equal(words.held([some, more]), 'In the last 24 hours: 13 calls held and answered through 2 outages, 38 re-sends spared.')
  assert.equal(words.held([{ ...more, sinceMs: 11_100_000 }]), 'In the last 3h5m: 1 call held and answered, 1 re-send spared.')
  assert.equal(words.held([{ ...some, calls: 0, sinceMs: 5 }]), 'In the last 1m no call had to be held.')
  assert.equal(words.held([]), '')
})
