import assert from 'node:assert/strict'
import test from 'node:test'

import { count, endEarly, fold, judgeTurn, mayAnswerLater, newCouncil, numbered, parseModels, sharedWaits, statusText } from '../src/council'

let seq = 0
const event = (type, more = {}) => ({ v: 1, ts: '2026-11-21T15:00:00.000Z', seq: ++seq, type, turnId: 'k', conversationId: '', ...more })
const start = (members = ['a/x', 'b/y', 'a/x']) => event('council-start', { members, judge: 'a/x', quorum: 2, budgetMs: 270_000 })
const member = (n, state, more = {}) => event('council-member', { member: n, state, tries: 1, tookMs: 3000, remainingMs: 267_000, ...more })
const play = (events, from = newCouncil('Is it so?'), now = 1000) => events.reduce((c, e) => fold(c, e, now), from)
const says = (c) => c.members.map((s) => `${s.name} ${statusText(s)}`)

test('statusText: each state is described in the words of the terminal', () => {
  const c = play([
    start(['a/x', 'b/y', 'a/x', 'c/z', 'd/w', 'e/v', 'f/u']),
    member(0, 'waiting', { delayMs: 1500, reason: 'schedule', kind: 'overloaded', code: '529', message: 'HTTP 529' }),
    member(1, 'asking', { tries: 2 }),
    member(2, 'waiting', { tries: 0, reason: 'breaker' }),
    member(3, 'answered', { tries: 2, tookMs: 6500, answer: 'Yes.' }),
    member(4, 'failed', { kind: 'timeout', tookMs: 270_000 }),
    member(5, 'failed', { kind: 'unavailable', tries: 2 }),
    member(6, 'cut-off', { reason: 'grace', tookMs: 33_500 }),
  ])
  assert.deepEqual(says(c), [
    'a/x waiting on a (server overloaded) — next try',
    'b/y asked again',
    'a/x #2 waiting on a — another call goes first',
    'c/z answered in 7s (2 tries)',
    'd/w timed out after 4m30s',
    'e/v failed: network (2 tries)',
    'f/u cut off after 34s: the others have answered',
  ])
  assert.deepEqual([c.members[0].due, c.members[0].at, c.members[0].budgetEnds], [2500, '2026-11-21T15:00:01.500Z', 268_000])
  assert.equal(c.members[2].due, undefined)
  assert.equal(c.members[3].answer, 'Yes.')
})

test('fold: a wait that is over leaves no countdown, and unaffected members stay the same', () => {
  const before = play([start(), member(0, 'waiting', { delayMs: 1500 }), member(1, 'asking')])
  const c = play([member(0, 'asking', { tries: 2 })], before)
  assert.equal(c.members[0].due, undefined)
  assert.equal(c.members[0].at, undefined)
  assert.equal(c.members[1], before.members[1])
})

test('fold: why a council failed', () => {
  const failed = (message, ...states) => play([start(), ...states.map((s, n) => member(n, s)), event('council-end', { status: 'failed', message })]).end.message
  const each = '1 of 3 members answered, and 2 are needed: b/y failed in 1 try: HTTP 401: wrong key: 7 of 8 members answered'
  assert.equal(failed(each, 'answered', 'failed', 'cut-off'), 'Failed: 1 of 3 members answered, and 2 are needed.')
  assert.equal(failed('in other words', 'answered', 'failed', 'failed'), 'Failed: 1 of 3 members answered, and 2 are needed.')
  assert.equal(failed('the aggregator a/x: the answer is empty', 'answered', 'answered', 'failed'), 'The aggregator a/x: the answer is empty.')
})

test('sharedWaits: members that wait on the same provider are counted, with the next try of all', () => {
  const c = play([start(['a/x', 'a/y', 'b/x', 'a/z']), member(0, 'waiting'), member(1, 'waiting', { delayMs: 4000 }), member(2, 'waiting', { delayMs: 1 }), member(3, 'waiting', { delayMs: 3000 })])
  assert.deepEqual(sharedWaits(c).map((t) => [t.provider, t.waiting, t.first.due]), [['a', 3, 4000]])
})

test('judgeTurn: the judge is a turn as in a conversation', () => {
  const c = play([
    start(), member(0, 'answered', { answer: 'Yes.' }), member(1, 'answered', { answer: 'No.' }), event('council-quorum', { graceMs: 30_000 }), member(2, 'cut-off'),
    event('turn-start'), event('provider-retry', { attempt: 0, delayMs: 1000, kind: 'overloaded' }), event('text-delta', { text: 'It ' }), event('text-delta', { text: 'depends.' }),
  ])
  assert.deepEqual([count(c, 'answered'), c.grace, judgeTurn(c).items.at(-1).text, judgeTurn(c).wait], [2, 31_000, 'It depends.', undefined])
  const end = play([event('assistant-message', { content: [{ type: 'text', text: 'It depends.' }] }), event('turn-sealed', { status: 'done' }), event('council-end', { status: 'done', tookMs: 9000 })], c)
  assert.deepEqual([end.end, judgeTurn(end).status, judgeTurn(end).items.length], [{ status: 'done', message: '', tookMs: 9000 }, 'done', 1])
})

test('endEarly: what has arrived stays when the user stops it, or the connection is lost', () => {
  const middle = play([start(), member(0, 'answered', { answer: 'Yes.' }), member(1, 'asking'), event('turn-start'), event('text-delta', { text: 'It dep' })])
  for (const [why, status, words] of [['stopped', 'aborted', 'stopped'], ['lost', 'failed', 'the connection to the server was lost']]) {
    const c = endEarly(middle, why, 5000)
    assert.deepEqual(says(c), ['a/x answered in 3s', `b/y cut off after 5s: ${words}`, `a/x #2 cut off after 5s: ${words}`])
    assert.deepEqual([c.end.status, judgeTurn(c).status, judgeTurn(c).items.at(-1).text, judgeTurn(c).items.at(-1).partial, c.members[0].answer], [status, status, 'It dep', true, 'Yes.'])
    assert.equal(endEarly(c, 'lost', 9000), c) // its end is its end
  }
})

test('a judge whose turn has no end of its own is not at work for ever', () => {
  const c = play([start(), event('turn-start'), event('text-delta', { text: 'It dep' }), event('council-end', { status: 'failed', message: 'panic' })])
  assert.deepEqual([judgeTurn(c).status, judgeTurn(c).items.at(-1).text], ['failed', 'It dep'])
})

test('models are read from lines and commas', () => {
  assert.deepEqual(parseModels(' a/x\n\n b/y , c/z,\r\n'), ['a/x', 'b/y', 'c/z'])
  assert.deepEqual(numbered(['a/x', 'b/y', 'a/x', 'a/x']), ['a/x', 'b/y', 'a/x #2', 'a/x #3'])
})

test('mayAnswerLater: a council is asked again only if faults that pass have left too few answers', () => {
  const failed = (n, kind) => member(n, 'failed', { kind })
  const ended = event('council-end', { status: 'failed', tookMs: 2000 })
  const may = (...events) => mayAnswerLater(play([start(), ...events]))
  assert.equal(may(failed(0, 'overloaded'), failed(1, 'rate-limited'), failed(2, 'auth'), ended), true)
  assert.equal(may(member(0, 'answered'), failed(1, 'overloaded'), failed(2, 'auth'), ended), true)
  assert.equal(may(failed(0, 'overloaded'), failed(1, 'auth'), failed(2, 'auth'), ended), false)
  assert.equal(may(failed(0, 'overloaded'), failed(1, 'overloaded'), failed(2, 'overloaded')), false)
  assert.equal(may(member(0, 'answered'), member(1, 'answered'), failed(2, 'overloaded'), event('council-end', { status: 'failed', tookMs: 1 })), false)
})
