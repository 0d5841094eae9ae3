// A parser of server-sent events. EventSource sends no headers, and so no token.

export interface ServerEvent {
  event: string
  data: string
  id: string
}

// eventParser returns a function that takes the next chunk of a stream and returns the events that it
// completes.
export function eventParser(): (chunk: string) => ServerEvent[] {
  let rest = ''
  let event = ''
  let data: string[] = []
  let id = ''
  const line = (text: string, out: ServerEvent[]) => {
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
  return (chunk) => {
    const out: ServerEvent[] = []
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) line(text.endsWith('\r') ? text.slice(0, -1) : text, out)
    return out
  }
}
