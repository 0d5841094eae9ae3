import assert from 'node:assert/strict'
import test from 'node:test'

import { inline, parse, safe } from '../src/markdown'

// plain is all the text in a tree.
const plain = (tree) => tree.map((i) => (i.is === 'break' ? '\n' : 'inside' in i ? plain(i.inside) : i.text)).join('')
const shape = (tree) => tree.map((i) => ('inside' in i ? [i.is, shape(i.inside)] : i.is === 'text' ? i.text : [i.is, i.text]))

test('parse: blocks', () => {
  const text = '# A #\nb\nb2\n\n```go x\nf()\n\n```\n> q\n> r\n\n---\n1. one\n2. two\n   - deep\n\n   more\n- [x] done\n- [ ] to do\n\n| a | b |\n|---|:-:|\n| 1 \\| 2 | 3 |\n'
  assert.deepEqual(parse(text), [
    { is: 'heading', level: 1, text: 'A' }, { is: 'p', text: 'b\nb2' }, { is: 'code', lang: 'go', text: 'f()\n', open: false }, { is: 'quote', text: 'q\nr' }, { is: 'rule' },
    { is: 'list', start: 1, items: [{ text: 'one' }, { text: 'two\n- deep\n\nmore' }] }, { is: 'list', start: null, items: [{ text: 'done', done: true }, { text: 'to do', done: false }] },
    { is: 'table', head: ['a', 'b'], rows: [['1 | 2', '3']] },
  ])
})

test('parse: a fence without an end is code to the end of the text', () => {
  assert.deepEqual(parse('```js\nlet x'), [{ is: 'code', lang: 'js', text: 'let x', open: true }])
})

test('inline: emphasis, code and links', () => {
  for (const [text, want] of [
    ['**a** *b* ~~c~~ `d`', [['strong', ['a']], ' ', ['em', ['b']], ' ', ['del', ['c']], ' ', ['code', 'd']]],
    ['snake_case_name and 2 * 3 * 4', ['snake_case_name and 2 * 3 * 4']],
    ['***both***', [['strong', [['em', ['both']]]]]],
    ['`` a`b ``', [['code', 'a`b']]],
    ['\\*not\\*', ['*not*']],
    ['**open', ['**open']],
    ['[a](https://x.y/z_(1))', [['link', ['a']]]],
    ['see https://x.y/z.', ['see ', ['link', ['https://x.y/z']], '.']],
    ['<b>no</b> &amp;', ['<b>no</b> &amp;']],
  ]) assert.deepEqual(shape(inline(text)), want, text)
})

test('inline: only safe addresses are links', () => {
  for (const bad of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'blob:x', '//x.y', '/x', 'x', '']) {
    assert.equal(safe(bad), '', bad)
    assert.ok(!shape(inline(`[a](${bad})`)).some((i) => i[0] === 'link'), bad)
  }
  assert.equal(safe('https://x.y/'), 'https://x.y/')
  assert.equal(safe('mailto:a@b.c'), 'mailto:a@b.c')
})

test('parse: no letter of any text is lost, and every link is safe', () => {
  const bits = ['a', 'Z9', ' ', '\n', '\n\n', '*', '**', '_', '~~', '`', '```', '[', ']', '(', ')', '](http://a.b)', '<', '>', '> ', '- ', '1. ', '  ', '    ', '|', '|-|', '#', '# ', '\\', '!', 'http://a.b', 'javascript:x', '---', '[x] ', '\t', '\u202e', '😀']
  let state = 1
  const dice = (n) => (state = (state * 48271) % 2147483647) % n
  const letters = (s) => (s.match(/[aZ9😀]/gu) ?? []).length
  const texts = (parts) => parts.map((p) => (p.is === 'list' ? p.items.map((i) => i.text).join('\n') : p.is === 'table' ? [p.head, ...p.rows].flat().join(' ') : p.is === 'code' ? p.lang + p.text : (p.text ?? ''))).join('\n')
  for (let n = 0; n < 20_000; n++) {
    const text = Array.from({ length: dice(24) }, () => bits[dice(bits.length)]).join('')
    const parts = parse(text)
    if (!/```|~~~|\|/.test(text)) assert.equal(letters(texts(parts)), letters(text), JSON.stringify(text)) // words behind a fence, and cells beyond a head, are dropped
    const walk = (tree) => tree.forEach((i) => (i.is === 'link' && assert.match(i.to, /^(https?|mailto):/), i.inside && walk(i.inside)))
    walk(inline(text))
    if (!/\]\(|</.test(text)) assert.equal(letters(plain(inline(text))), letters(text), JSON.stringify(text))
  }
})

// spent returns the processor time of a text, which the clock of a busy machine would not show.
const spent = (text) => {
  const before = process.cpuUsage()
  parse(text)
  inline(text)
  return process.cpuUsage(before).user / 1000
}

test('parse: four times the text takes no more than about four times as long', () => {
  for (const [part, times, rest = ''] of [['*', 50_000], ['**a ', 20_000], ['[', 50_000], ['`', 50_000], ['` ', 30_000], ['_a_', 20_000], ['> ', 20_000], ['h', 50_000], ['- ', 20_000], ['|', 20_000, '\n|-|\n' + '|\n'.repeat(300)], ['<http://', 10_000]]) {
    const [small, large] = [spent(part.repeat(times / 4) + rest), spent(part.repeat(times) + rest)]
    assert.ok(large < 1000 || large < 10 * small, `${part}: ${small} ms, and ${large} ms for four times as much`)
  }
})

test('parse: a head with very many columns is no table, so no page gets millions of cells', () => {
  const wide = '|a'.repeat(5000) + '|\n' + '|-'.repeat(5000) + '|\n' + 'x|\n'.repeat(5000)
  assert.ok(parse(wide).every((p) => p.is !== 'table'))
  const [table] = parse('|a|b|\n|-|-|\n' + '|1|2|3|\n' + '|x\n')
  assert.deepEqual(table.rows, [['1', '2'], ['x', '']])
})
