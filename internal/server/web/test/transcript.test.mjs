import assert from 'node:assert/strict'
import test from 'node:test'

import { eventParser } from '../src/sse'
import { Table } from '../src/table'
import { fold, newTranscript, reconnected } from '../src/transcript'

const fresh = (seq = 0) => newTranscript({ id: 'c', seq, queue: [] })
let seq = 0
const turn = (type, more = {}) => ({ v: 1, ts: '2026-11-21T15:00:00Z', seq: ++seq, type, turnId: 't', conversationId: 'c', ...more })
const play = (events, from = fresh()) => events.reduce((t, e) => fold(t, e, 1000), from)
const passing = (type, more) => ({ ...turn(type, more), seq: seq-- - 1 })
const opening = () => [turn('turn-start', { id: 't' }), turn('user-message', { text: 'Hi' })]
const retry = (attempt, delayMs = 5000) => passing('provider-retry', { attempt, delayMs, kind: 'overloaded', code: '529', message: 'HTTP 529' })

test('fold: the second retry replaces the first, and the first content clears it', () => {
  let t = play([...opening(), retry(0), retry(1, 9000)])
  assert.deepEqual([t.turns[0].wait.retries, t.turns[0].wait.received + t.turns[0].wait.remainingMs], [1, 10_000])
  t = play([passing('text-delta', { text: 'He' })], t)
  assert.equal(t.turns[0].wait, undefined)
  assert.equal(t.turns[0].items.at(-1).text, 'He')
})

test('fold: reasoning, recovery, an answer, an error and the end clear a wait', () => {
  for (const type of ['reasoning-delta', 'provider-recovered', 'assistant-message', 'error', 'turn-sealed', 'provider-switched', 'turn-restarted']) {
    const before = [...opening(), retry(0)]
    const e = type.endsWith('delta') || type === 'provider-recovered' ? passing(type, { text: 'x' }) : turn(type, { status: 'done', content: [] })
    assert.equal(play([...before, e]).turns[0].wait, undefined, type)
  }
})

test('fold: the whole answer replaces the streamed text', () => {
  const t = play([...opening(), passing('text-delta', { text: 'He' }), passing('text-delta', { text: 'll' }), turn('assistant-message', { content: [{ type: 'text', text: 'Hello' }] })])
  assert.deepEqual(t.turns[0].items.map((i) => i.text), ['Hi', 'Hello'])
})

test('fold: a restart drops streamed text and keeps what was kept', () => {
  const t = play([...opening(), turn('assistant-message', { content: [{ type: 'tool-call', id: 'x', name: 'list', arguments: {} }] }), turn('tool-call', { id: 'x', name: 'list' }),
    turn('tool-result', { id: 'x', output: 'a' }), passing('text-delta', { text: 'Half an ans' }), turn('turn-restarted')])
  assert.deepEqual(t.turns[0].items.map((i) => i.is), ['user', 'tool', 'note'])
  assert.deepEqual([t.turns[0].items[1].state, t.turns[0].items[1].output], ['done', 'a'])
})

test('fold: an answer that broke off is marked and stays', () => {
  const t = play([...opening(), passing('text-delta', { text: 'Half' }), turn('assistant-message', { partial: true, content: [{ type: 'text', text: 'Half' }] }), turn('error', { kind: 'truncated', committed: true, message: 'm', retries: 0 }), turn('turn-sealed', { status: 'failed' })])
  assert.equal(t.turns[0].items[1].partial, true)
  assert.equal(t.turns[0].status, 'failed')
})

test('fold: images are described, in the queue and in the message', () => {
  const images = [{ id: 'x', name: 'a.png', mediaType: 'image/png', bytes: 9, width: 1, height: 2 }]
  assert.deepEqual(play([...opening(), turn('input-queued', { turnId: 'u', text: 'See', images })]).queue[0].images, images)
  const t = play([turn('turn-start', { id: 't' }), turn('user-message', { text: 'See', images })])
  assert.deepEqual(t.turns[0].items, [{ is: 'user', text: 'See', images }])
})

test('fold: a repeated event changes nothing', () => {
  const events = [...opening(), turn('assistant-message', { content: [{ type: 'text', text: 'Hello' }] }), turn('turn-sealed', { status: 'done' })]
  const t = play(events)
  assert.deepEqual(play(events, t), t)
})

test('reconnected: drops text with gaps, and the wait until it is sent again', () => {
  let t = reconnected(play([...opening(), retry(0), passing('text-delta', { text: 'Half' })]))
  assert.deepEqual(t.turns[0].items.map((i) => i.is), ['user'])
  t = play([passing('text-delta', { text: 'an answer' })], t)
  assert.equal(t.turns[0].items.at(-1).late, true)
  t = reconnected(play([...opening(), retry(0)], fresh()))
  assert.equal(t.turns[0].wait, undefined)
  t = play([retry(0, 2000), passing('text-delta', { text: 'From the start' })], t)
  assert.equal(t.turns[0].items.at(-1).late, undefined)
})

test('fold: the queue follows added, edited, removed, started and steering inputs', () => {
  const say = (id, text) => turn('input-queued', { turnId: id, text })
  let t = play([...opening(), say('a', 'one'), say('b', 'two'), say('c', 'three'), say('d', 'four'), say('b', 'zwei'), turn('input-removed', { turnId: 'a' }), turn('user-message', { text: 'four', inputId: 'd' })])
  assert.deepEqual(t.queue.map((i) => i.text), ['zwei', 'three'])
  assert.equal(t.turns[0].items.at(-1).text, 'four')
  t = play([turn('turn-start', { turnId: 'b', id: 'b' })], t)
  assert.deepEqual(t.queue.map((i) => i.id), ['c'])
})

test('fold: a turn that an event does not change stays the same object', () => {
  const t = play([...opening(), turn('turn-sealed', { status: 'done' }), turn('turn-start', { turnId: 'u', id: 'u' })])
  const next = play([passing('text-delta', { turnId: 'u', text: 'x' })], t)
  assert.equal(next.turns[0], t.turns[0])
  assert.notEqual(next.turns[1], t.turns[1])
})

test('eventParser: events do not depend on how the stream is cut', () => {
  const text = 'retry: 2000\r\n\n: a comment\nevent: wait\ndata: {"id":1}\nid: 7\n\ndata: a\ndata: b\n\nevent: x\n\nevent: gone\ndata:c\n\n'
  const want = [{ event: 'wait', data: '{"id":1}', id: '7' }, { event: 'message', data: 'a\nb', id: '' }, { event: 'gone', data: 'c', id: '' }]
  for (let size = 1; size <= text.length; size++) {
    const parse = eventParser()
    const got = []
    for (let at = 0; at < text.length; at += size) got.push(...parse(text.slice(at, at + size)))
    assert.deepEqual(got, want, `in pieces of ${size}`)
  }
})

test('Table: shows added and removed rows with commit, and a changed row at once', () => {
  const t = new Table((v) => v.id)
  t.replace([{ id: 1, x: 'a' }, { id: 2, x: 'b' }], 5)
  t.commit()
  const row = t.row(1)
  t.put({ id: 1, x: 'c' }, 6)
  t.put({ id: 3, x: 'd' }, 6)
  assert.deepEqual([row.value.x, t.keys.value], ['c', [1, 2]])
  t.commit()
  assert.deepEqual(t.keys.value, [1, 2, 3])
  t.replace([{ id: 3, x: 'e' }, { id: 1, x: 'f' }], 7)
  t.commit()
  assert.deepEqual([t.keys.value, t.row(1), row.value], [[3, 1], row, { id: 1, x: 'f', received: 7 }])
  assert.deepEqual([t.remove(2), t.remove(3).x], [undefined, 'e'])
})

test('fold: a tool call waits for approval until it is answered, or the turn ends', () => {
  const call = { type: 'tool-call', id: '1', name: 'write', arguments: { to: 'disk' } }
  const open = play([...opening(), turn('assistant-message', { content: [call] }), turn('approval-requested', { ...call, type: 'approval-requested', until: '2026-11-22T15:00:00Z' })])
  assert.deepEqual([open.turns[0].items.at(-1).state, open.turns[0].items.at(-1).until], ['approval', '2026-11-22T15:00:00Z'])
  for (const e of [turn('approval-answered', { id: '1', decision: 'deny' }), turn('turn-sealed', { status: 'aborted' })]) {
    assert.equal(play([e], open).turns[0].items.at(-1).state, 'asked', e.type)
  }
})

test('fold: a tool call shows that its MCP server is tried again', () => {
  const call = { type: 'tool-call', id: '1', name: 'mcp__github__get', arguments: {} }
  const running = play([...opening(), turn('assistant-message', { content: [call] }), turn('tool-call', call)])
  const waits = play([passing('mcp-retry', { server: 'github', id: '1', attempt: 0, delayMs: 2000, kind: 'unavailable', message: 'HTTP 503' })], running)
  assert.equal(waits.turns[0].items.at(-1).wait, 'github does not answer (HTTP 503), try 2 in 2s')
  assert.equal(play([passing('mcp-recovered', { server: 'github', id: '1', retries: 1 })], waits).turns[0].items.at(-1).wait, '')
})

test('a /compact is shown as the command, with why and by how much', () => {
  const queued = play([turn('input-queued', { text: 'the names', compact: true })])
  assert.deepEqual([queued.queue[0].text, queued.queue[0].compact], ['the names', true])
  const done = play([turn('turn-start', { compact: true, instruction: 'the names' }), turn('compacted', { asked: true, tokensBefore: 1003, tokensAfter: 21 })])
  assert.deepEqual(done.turns[0].items.map((i) => i.text), ['/compact the names', '· the conversation has been compacted: about 1,003 tokens before, 21 after'])
  const long = play([...opening(), turn('compacted')])
  assert.equal(long.turns[0].items.at(-1).text, '· the conversation was too long and has been shortened')
})
