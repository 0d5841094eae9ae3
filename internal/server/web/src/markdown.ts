// The Markdown that models write, parsed into a tree and never into HTML. Each function takes time in
// proportion to the text, whatever it contains.

export type Inline =
  | { is: 'text'; text: string }
  | { is: 'code'; text: string }
  | { is: 'strong' | 'em' | 'del'; inside: Inline[] }
  | { is: 'link'; to: string; inside: Inline[] }
  | { is: 'break' }

export type Part =
  | { is: 'p'; text: string }
  | { is: 'heading'; level: number; text: string }
  | { is: 'code'; lang: string; text: string; open: boolean }
  | { is: 'quote'; text: string }
  | { is: 'list'; start: number | null; items: { text: string; done?: boolean }[] }
  | { is: 'table'; head: string[]; rows: string[][] }
  | { is: 'rule' }

const fence = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)/
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/
const quote = /^ {0,3}> ?/
const cells = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/

const blank = (line: string | undefined): boolean => line === undefined || line.trim() === ''

// parse splits a text into its blocks.
export function parse(text: string): Part[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const parts: Part[] = []
  for (let at = 0; at < lines.length; ) {
    if (blank(lines[at])) {
      at++
      continue
    }
    const [part, next] = block(lines, at)
    parts.push(part)
    at = next
  }
  return parts
}

type Parsed = [part: Part, next: number]

function block(lines: string[], at: number): Parsed {
  const line = lines[at] ?? ''
  const title = heading.exec(line)
  if (fence.test(line)) return code(lines, at)
  if (title) return [{ is: 'heading', level: (title[1] ?? '').length, text: title[2] ?? '' }, at + 1]
  if (rule.test(line)) return [{ is: 'rule' }, at + 1]
  if (quote.test(line)) return quoted(lines, at)
  if (bullet.test(line)) return list(lines, at)
  if (line.includes('|') && cells.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-') && row(line).length <= columnsBound) return table(lines, at)
  return paragraph(lines, at)
}

function code(lines: string[], at: number): Parsed {
  const [, marks = '', lang = ''] = fence.exec(lines[at] ?? '') ?? []
  const end = new RegExp(`^ {0,3}${marks[0]}{${marks.length},}[ \\t]*$`)
  let next = at + 1
  while (next < lines.length && !end.test(lines[next] ?? '')) next++
  return [{ is: 'code', lang, text: lines.slice(at + 1, next).join('\n'), open: next === lines.length }, next + 1]
}

function quoted(lines: string[], at: number): Parsed {
  let next = at
  while (quote.test(lines[next] ?? '')) next++
  return [{ is: 'quote', text: lines.slice(at, next).map((l) => l.replace(quote, '')).join('\n') }, next]
}

// list parses items and what is indented below them, blank lines included.
function list(lines: string[], at: number): Parsed {
  const ordered = (line: string) => /^\s*\d/.test(line)
  const first = lines[at] ?? ''
  const items: string[][] = []
  let next = at
  for (let indent = 0; next < lines.length; next++) {
    const line = lines[next] ?? ''
    const mark = items.length > 0 && within(line) >= Math.max(2, indent) ? null : bullet.exec(line) // deeper: a part of the item
    if (mark && !rule.test(line) && ordered(line) === ordered(first)) {
      indent = mark[0].length
      items.push([line.slice(indent)])
    } else if (mark || (blank(line) && !continues(lines, next + 1, ordered(first)))) break
    else if (!blank(line) && !/^\s{2,}/.test(line) && (blank(lines[next - 1]) || starts(line))) break
    else items.at(-1)?.push(outdent(line, indent))
  }
  const number = ordered(first) ? parseInt(first.trim(), 10) : null
  return [{ is: 'list', start: number, items: items.map((l) => task(l.join('\n').trimEnd())) }, next]
}

// continues reports whether a list continues after a blank line.
function continues(lines: string[], at: number, ordered: boolean): boolean {
  const line = lines[at] ?? ''
  return /^\s{2,}\S/.test(line) || (bullet.test(line) && /^\s*\d/.test(line) === ordered)
}

const within = (line: string): number => line.length - line.trimStart().length

const outdent = (line: string, most: number): string => line.slice(Math.min(most, within(line)))

function task(text: string): { text: string; done?: boolean } {
  const box = /^\[([ xX])\][ \t]+/.exec(text)
  return box ? { text: text.slice(box[0].length), done: box[1] !== ' ' } : { text }
}

// columnsBound bounds the columns of a table. Each row has as many cells as the head, so a short text with a
// wide head would make a page of millions.
const columnsBound = 64

function table(lines: string[], at: number): Parsed {
  let next = at + 2
  while (!blank(lines[next]) && (lines[next] ?? '').includes('|')) next++
  const head = row(lines[at] ?? '')
  const rows = lines.slice(at + 2, next).map(row).map((r) => head.map((_, i) => r[i] ?? ''))
  return [{ is: 'table', head, rows }, next]
}

function row(line: string): string[] {
  const inside = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  return inside.split(/(?<!\\)\|/).map((c) => c.trim().replaceAll('\\|', '|'))
}

// starts reports whether a line begins another block than a paragraph.
const starts = (line: string): boolean => fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || bullet.test(line)

function paragraph(lines: string[], at: number): Parsed {
  let next = at + 1
  while (!blank(lines[next]) && !starts(lines[next] ?? '')) next++
  return [{ is: 'p', text: lines.slice(at, next).join('\n') }, next]
}

const depthBound = 6 // of emphasis within emphasis
const special = /[\\`*_~[!<h\n]/g

// inline parses the text of a block.
export function inline(text: string, depth = 0): Inline[] {
  const out: Inline[] = []
  let plain = ''
  const flush = () => {
    if (plain) out.push({ is: 'text', text: plain })
    plain = ''
  }
  for (let at = 0; at < text.length; ) {
    special.lastIndex = at
    const stop = special.exec(text)?.index ?? text.length
    plain += text.slice(at, stop)
    at = stop
    if (at === text.length) break
    const found = depth < depthBound ? mark(text, at, depth) : null
    if (found) {
      flush()
      if (found[0]) out.push(found[0])
      at = found[1]
    } else if (text[at] === '\\' && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '')) {
      plain += text[at + 1]
      at += 2
    } else plain += text[at++]
  }
  flush()
  return out
}

type Marked = [what: Inline | null, next: number] | null

function mark(text: string, at: number, depth: number): Marked {
  switch (text[at]) {
    case '`':
      return span(text, at)
    case '*':
    case '_':
    case '~':
      return emphasis(text, at, depth)
    case '!':
      return text[at + 1] === '[' ? link(text, at + 1, depth) : null // a picture becomes a link: nothing is loaded
    case '[':
      return link(text, at, depth)
    case '<':
    case 'h':
      return address(text, at)
    case '\n':
      return [{ is: 'break' }, at + 1]
  }
  return null
}

function span(text: string, at: number): Marked {
  let width = 1
  while (text[at + width] === '`') width++
  const marks = '`'.repeat(width)
  for (let end = text.indexOf(marks, at + width); end >= 0; end = text.indexOf(marks, end)) {
    let after = end + width
    while (text[after] === '`') after++
    if (after === end + width) return [{ is: 'code', text: trimmed(text.slice(at + width, end)) }, after]
    end = after
  }
  return [{ is: 'text', text: marks }, at + width]
}

const trimmed = (s: string): string => (s.startsWith(' ') && s.endsWith(' ') && s.trim() ? s.slice(1, -1) : s)

function emphasis(text: string, at: number, depth: number): Marked {
  const c = text[at] ?? ''
  const width = text[at + 1] === c ? 2 : 1
  const marks = c.repeat(width)
  const open = at + width
  if ((c === '~' && width === 1) || /\s/.test(text[open] ?? ' ')) return null
  if (c === '_' && /\w/.test(text[at - 1] ?? '')) return null // snake_case
  const end = closing(text, open, marks)
  if (end < 0) return null
  const is = c === '~' ? 'del' : width === 2 ? 'strong' : 'em'
  return [{ is, inside: inline(text.slice(open, end), depth + 1) }, end + width]
}

const emphasisBound = 2000 // characters; a longer search for the end would take long

function closing(text: string, from: number, marks: string): number {
  const c = marks[0] ?? ''
  const within = text.slice(from, from + emphasisBound)
  for (let end = within.indexOf(marks); end >= 0; ) {
    let run = end
    while (within[run] === c) run++
    const fits = run - end === marks.length || run - end === 3
    const word = c === '_' && /\w/.test(within[run] ?? '')
    if (end > 0 && fits && !word && !/\s/.test(within[end - 1] ?? ' ')) return from + run - marks.length
    end = within.indexOf(marks, run)
  }
  return -1
}

// link parses [text](address).
function link(text: string, at: number, depth: number): Marked {
  const match = /^\[([^\]\n]{0,1000})\]\(<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?)>?(?:[ \t]+"[^"\n]{0,500}")?\)/.exec(text.slice(at, at + 4000))
  if (!match) return null
  const to = safe(match[2] ?? '')
  const inside = inline(match[1] || (match[2] ?? ''), depth + 1)
  return to ? [{ is: 'link', to, inside }, at + match[0].length] : null
}

// address parses an address in < > or on its own.
function address(text: string, at: number): Marked {
  if (text[at] === 'h' && /\w/.test(text[at - 1] ?? '')) return null
  const bare = text[at] === 'h' ? 0 : 1
  if (!text.startsWith('http', at + bare) && !text.startsWith('mailto:', at + bare)) return null
  const match = /^(?:https?:\/\/|mailto:)[^\s<>"'`]{1,2000}/.exec(text.slice(at + bare, at + 2050))
  if (!match || (bare && text[at + 1 + match[0].length] !== '>')) return null
  const words = bare ? match[0] : match[0].replace(/[.,;:!?*_~)\]]+$/, '')
  const to = safe(words)
  return to ? [{ is: 'link', to, inside: [{ is: 'text', text: words }] }, at + words.length + 2 * bare] : null
}

// safe returns an address if it is safe to follow, otherwise "".
export function safe(to: string): string {
  try {
    const url = new URL(to)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : ''
  } catch {
    return ''
  }
}
