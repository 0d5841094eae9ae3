// Markdown as nodes of the document. Only a changed block is drawn again, which is the last one while an
// answer streams.
import { Component, type ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { inline, parse, type Inline, type Part } from './markdown'
import { tokens } from './syntax'
import { Copy } from './views/parts'
import { count } from './words'

const drawnBound = 100_000 // characters that are drawn before the user asks for all: a browser takes long for more

interface Props {
  text: string
  under?: number | undefined // the level of the heading above
}

// Prose draws Markdown.
export function Prose({ text, under }: Props) {
  const [whole, show] = useState(false)
  const rest = whole ? 0 : text.length - drawnBound
  if (rest <= 0) return <Blocks text={text} under={under} />
  return (
    <>
      <Blocks text={text.slice(0, drawnBound)} under={under} />
      <p class="acts"><button type="button" onClick={() => show(true)}>Show {count(rest)} more characters</button><Copy label="Copy all" text={() => text} /></p>
    </>
  )
}

// Blocks draws all of a text. Its headings follow the page's heading of that level, and none skips a level.
class Blocks extends Component<Props> {
  override shouldComponentUpdate(next: { text: string }): boolean {
    return next.text !== this.props.text
  }

  override render() {
    const under = this.props.under ?? 1
    let last = under
    const level = (p: Part) => (p.is === 'heading' ? (last = Math.min(last + 1, under + p.level, 6)) : 0)
    return <div class="prose">{parse(this.props.text).map((p, i) => <Piece key={i} of={p} level={level(p)} print={JSON.stringify(p)} />)}</div>
  }
}

class Piece extends Component<{ of: Part; level: number; print: string }> {
  override shouldComponentUpdate(next: { level: number; print: string }): boolean {
    return next.print !== this.props.print || next.level !== this.props.level
  }

  override render() {
    const { of: p, level } = this.props
    return p.is === 'heading' ? heading(p.text, level) : piece(p, 0)
  }
}

const depthBound = 8 // of lists and quotes in each other; deeper ones are shown as they were written

function piece(p: Part, depth: number): ComponentChildren {
  const within = (text: string) => (depth < depthBound ? parse(text) : [{ is: 'code', lang: '', text, open: true } as const])
  switch (p.is) {
    case 'p':
      return <p>{line(p.text)}</p>
    case 'heading':
      return <p><strong>{line(p.text)}</strong></p> // no heading of the page within a quote or a list
    case 'code':
      return <Code of={p} />
    case 'quote':
      return <blockquote>{within(p.text).map((q) => piece(q, depth + 1))}</blockquote>
    case 'list': {
      const entries = p.items.map((i) => <li>{box(i.done)}{entry(within(i.text), depth)}</li>)
      return p.start === null ? <ul>{entries}</ul> : <ol start={p.start}>{entries}</ol>
    }
    case 'table':
      return <Table of={p} />
    case 'rule':
      return <hr />
  }
}

function heading(text: string, level: number): ComponentChildren {
  const Tag = `h${level}` as 'h2'
  return <Tag>{line(text)}</Tag>
}

function Code({ of: p }: { of: Part & { is: 'code' } }) {
  return (
    <div class="code">
      <p><span>{p.lang}</span>{p.open ? null : <Copy text={() => p.text} />}</p>
      <pre tabIndex={0}><code>{tokens(p.text, p.lang).map(([tone, text]) => (tone ? <span class={'t-' + tone}>{text}</span> : text))}</code></pre>
    </div>
  )
}

function Table({ of: t }: { of: Part & { is: 'table' } }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead><tr>{t.head.map((c) => <th scope="col">{line(c)}</th>)}</tr></thead>
        <tbody>{t.rows.map((r) => <tr>{r.map((c) => <td>{line(c)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  )
}

// box is the checkbox of a task.
const box = (done: boolean | undefined) => done !== undefined && <span aria-label={done ? 'done' : 'to do'} role="img">{done ? '☑ ' : '☐ '}</span>

// entry draws an item of a list; a single line is not a paragraph.
function entry(parts: Part[], depth: number): ComponentChildren {
  const [first, ...rest] = parts
  if (first?.is !== 'p') return parts.map((p) => piece(p, depth + 1))
  return [line(first.text), ...rest.map((p) => piece(p, depth + 1))]
}

const line = (text: string): ComponentChildren => inline(text).map(word)

function word(i: Inline): ComponentChildren {
  switch (i.is) {
    case 'text':
      return i.text
    case 'code':
      return <code>{i.text}</code>
    case 'break':
      return '\n'
    case 'link':
      return <a href={i.to} target="_blank" rel="noopener noreferrer nofollow">{i.inside.map(word)}</a>
    case 'strong':
      return <strong>{i.inside.map(word)}</strong>
    case 'em':
      return <em>{i.inside.map(word)}</em>
    case 'del':
      return <del>{i.inside.map(word)}</del>
  }
}
