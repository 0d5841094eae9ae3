import assert from 'node:assert/strict'
import test from 'node:test'

import { convened, count, fold, halt, named, read, standing, together, turnOf } from '../src/council'

let seq = 0
const told = (type, more = {}) => ({ v: 1, ts: '2026-11-21T15:00:00.000Z', seq: ++seq, type, turnId: 'k', conversationId: '', ...more })
const start = (members = ['a/x', 'b/y', 'a/x']) => told('council-start', { members, judge: 'a/x', quorum: 2, budgetMs: 270_000 })
const member = (n, state, more = {}) => told('council-member', { member: n, state, tries: 1, tookMs: 3000, remainingMs: 267_000, ...more })
const play = (events, from = convened('Is it so?'), now = 1000) => events.reduce((c, e) => fold(c, e, now), from)
const says = (c) => c.seats.map((s) => `${s.name} ${standing(s)}`)

test('each member says where it stands, in the words of the terminal', () => {
  const c = play([
    start(['a/x', 'b/y', 'a/x', 'c/z', 'd/w', 'e/v', 'f/u']),
    member(0, 'waiting', { delayMs: 1500, reason: 'schedule', kind: 'overloaded', code: '529', message: 'HTTP 529' }),
    member(1, 'asking', { tries: 2 }),
    member(2, 'waiting', { tries: 0, reason: 'gate' }),
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
  assert.deepEqual([c.seats[0].due, c.seats[0].at, c.seats[0].spent], [2500, '2026-11-21T15:00:01.500Z', 268_000])
  assert.equal(c.seats[2].due, undefined)
  assert.equal(c.seats[3].answer, 'Yes.')
})

test('a wait that is over leaves no countdown, and members that nothing is said of stay as they are', () => {
  const before = play([start(), member(0, 'waiting', { delayMs: 1500 }), member(1, 'asking')])
  const c = play([member(0, 'asking', { tries: 2 })], before)
  assert.equal(c.seats[0].due, undefined)
  assert.equal(c.seats[0].at, undefined)
  assert.equal(c.seats[1], before.seats[1])
})

test('members that wait on the same provider are counted, with the next try of all', () => {
  const c = play([start(['a/x', 'a/y', 'b/x', 'a/z']), member(0, 'waiting'), member(1, 'waiting', { delayMs: 4000 }), member(2, 'waiting', { delayMs: 1 }), member(3, 'waiting', { delayMs: 3000 })])
  assert.deepEqual(together(c).map((t) => [t.provider, t.waiting, t.first.due]), [['a', 3, 4000]])
})

test('the judge is a turn as in a conversation', () => {
  const c = play([
    start(), member(0, 'answered', { answer: 'Yes.' }), member(1, 'answered', { answer: 'No.' }), told('council-quorum', { graceMs: 30_000 }), member(2, 'cut-off'),
    told('turn-start'), told('provider-retry', { attempt: 0, delayMs: 1000, kind: 'overloaded' }), told('text-delta', { text: 'It ' }), told('text-delta', { text: 'depends.' }),
  ])
  assert.deepEqual([count(c, 'answered'), c.grace, turnOf(c).items.at(-1).text, turnOf(c).pause], [2, 31_000, 'It depends.', undefined])
  const end = play([told('assistant-message', { content: [{ type: 'text', text: 'It depends.' }] }), told('turn-sealed', { status: 'done' }), told('council-end', { status: 'done', tookMs: 9000 })], c)
  assert.deepEqual([end.end, turnOf(end).status, turnOf(end).items.length], [{ status: 'done', message: '', tookMs: 9000 }, 'done', 1])
})

test('what has come stays when somebody stops it, or the line breaks', () => {
  const middle = play([start(), member(0, 'answered', { answer: 'Yes.' }), member(1, 'asking'), told('turn-start'), told('text-delta', { text: 'It dep' })])
  for (const [why, status, words] of [['stopped', 'aborted', 'stopped'], ['lost', 'failed', 'the connection to the server broke off']]) {
    const c = halt(middle, why, 5000)
    assert.deepEqual(says(c), ['a/x answered in 3s', `b/y cut off after 5s: ${words}`, `a/x #2 cut off after 5s: ${words}`])
    assert.deepEqual([c.end.status, turnOf(c).status, turnOf(c).items.at(-1).text, turnOf(c).items.at(-1).partial, c.seats[0].answer], [status, status, 'It dep', true, 'Yes.'])
    assert.equal(halt(c, 'lost', 9000), c) // its end is its end
  }
})

test('a judge whose turn has no end of its own is not at work for ever', () => {
  const c = play([start(), told('turn-start'), told('text-delta', { text: 'It dep' }), told('council-end', { status: 'failed', message: 'panic' })])
  assert.deepEqual([turnOf(c).status, turnOf(c).items.at(-1).text], ['failed', 'It dep'])
})

test('models are read from lines and commas', () => {
  assert.deepEqual(read(' a/x\n\n b/y , c/z,\r\n'), ['a/x', 'b/y', 'c/z'])
  assert.deepEqual(named(['a/x', 'b/y', 'a/x', 'a/x']), ['a/x', 'b/y', 'a/x #2', 'a/x #3'])
})
