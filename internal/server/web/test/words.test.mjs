// The page's words are those of the terminal: words.json has what package display
// says, and words_test.go holds it to that.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'

import { changes, seconds } from '../src/time'
import * as words from '../src/words'

const want = JSON.parse(await readFile(join(process.env.SOURCES, 'words.json'), 'utf8'))

test('each fault has the same plain words', () => {
  for (const [fault, cause] of Object.entries(want.causes)) {
    const [kind, code] = fault.split(' ')
    assert.equal(words.causeOf({ kind, code }), cause, fault)
  }
})

test('the sentence of a wait is the same', () => {
  for (const { of, words: said } of want.waits) assert.equal(words.sentence(of, of.leftMs, of.due), said, JSON.stringify(of))
})

test('durations are the same, and change when they do', () => {
  for (const { of, words: said } of want.durations) {
    assert.equal(seconds(of.ms), said, String(of.ms))
    assert.equal(changes(of.ms), of.nextMs || Infinity, String(of.ms))
  }
})

test('a recovery is the same', () => {
  for (const { of, words: said } of want.recoveries) assert.equal(words.recovered(of.retries, of.waitedMs), said)
})

test('the end is the same', () => {
  for (const { of, words: said, more } of want.ends) assert.deepEqual([words.headline(of), words.details(of)], [said, more], JSON.stringify(of))
})

test('lines that are said as they are, are the same', () => {
  const { brokeOff, restarted, compacted, switched } = words
  assert.deepEqual({ brokeOff, restarted, compacted, switched: switched('a/b', 'HTTP 529', 'c/d'), nameless: switched('', 'HTTP 529', 'c/d') }, want.lines)
})
