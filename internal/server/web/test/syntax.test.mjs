// Code has the colours of the terminal's rules, and all of its text.
import assert from 'node:assert/strict'
import test from 'node:test'

import { tokens } from '../src/syntax'

const toned = (source, language) => tokens(source, language).filter(([tone]) => tone).map(([tone, text]) => `${tone} ${text}`)

test('tokens: comments, strings, numbers, keywords, keys and functions', () => {
  assert.deepEqual(toned('func f(a int) { // why\n\treturn "x\\"y" + 3.5\n}', 'go'), ['keyword func', 'name f', 'keyword int', 'comment // why', 'keyword return', 'string "x\\"y"', 'number 3.5'])
  assert.deepEqual(toned('a: "b" # c\nhttp://x#y', 'yaml'), ['name a', 'string "b"', 'comment # c'])
  assert.deepEqual(toned('{"a-b": [true, 1]}', 'json'), ['name "a-b"', 'keyword true', 'number 1'])
  assert.deepEqual(toned("fn f<'a>(x: &'a str)", 'rust'), ['keyword fn', 'keyword str'])
  assert.deepEqual(toned('SELECT 1 -- one', 'sql'), ['keyword SELECT', 'number 1', 'comment -- one'])
  assert.deepEqual(toned('<p class="a">$#</p>', 'html'), ['name <p', 'string "a"', 'name </p'])
  assert.deepEqual(toned('@@ 1\n+a\n-b\n c', 'diff'), ['place @@ 1\n', 'added +a\n', 'removed -b\n'])
  assert.deepEqual(toned('/* a\nb */ x', 'css'), ['comment /* a\nb */'])
})

test('tokens: all of the text is kept, whatever the language', () => {
  for (const source of ['', '\n', '"unclosed', "don't", '/* open', 'größe = 1', '😀 "😀"', '<', '--a--', '```', '\\', '$#@_']) {
    for (const language of ['go', 'rust', 'py', 'sh', 'sql', 'yaml', 'css', 'html', 'diff', 'none', '']) assert.equal(tokens(source, language).map(([, text]) => text).join(''), source, `${language}: ${source}`)
  }
  assert.deepEqual(tokens('func f()', 'none'), [[null, 'func f()']])
})

test('tokens: a long source takes time in proportion', () => {
  const began = performance.now()
  for (const source of ['"'.repeat(49_000), '/*'.repeat(24_000), 'a='.repeat(24_000), "'\n".repeat(24_000), '<'.repeat(49_000)]) for (const language of ['go', 'yaml', 'html', 'sql']) tokens(source, language)
  assert.ok(performance.now() - began < 5000)
})
