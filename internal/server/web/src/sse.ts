// Server-sent events out of the bytes of a stream. EventSource could do that,
// but sends no header, and so no token.

export interface Sent {
  event: string
  data: string
  id: string
}

// reader gives a function that takes a piece of the stream and answers with the
// events that it completes.
export function reader(): (piece: string) => Sent[] {
  let rest = ''
  let event = ''
  let data: string[] = []
  let id = ''
  const line = (text: string, out: Sent[]) => {
    if (text === '') {
      if (data.length > 0) out.push({ event: event || 'message', data: data.join('\n'), id })
      event = ''
      data = []
      id = ''
      return
    }
    const colon = text.indexOf(':')
    if (colon === 0) return // a comment
    const name = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1))
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
    else if (name === 'id') id = value
  }
  return (piece) => {
    const out: Sent[] = []
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) line(text.endsWith('\r') ? text.slice(0, -1) : text, out)
    return out
  }
}
