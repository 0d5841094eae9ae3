#!/usr/bin/env bash
# @google/generative-ai 0.24.1 (the older JavaScript client of Gemini, still installed millions of times a month)
# refuses a stream in which an SSE comment or a blank line stands before an event. Both are valid (WHATWG, server-sent
# events, 9.2.6: a line that begins with a colon is ignored, an empty event is not dispatched), and both are how proxies
# keep a silent stream alive. The call rejects with "Failed to parse stream", and a second promise of the same call
# rejects without a handler, so that the unhandledRejection event fires as well. Its successor @google/genai 2.32.0
# reads all of it. An event whose data is {} breaks neither, but the newer one hands it on as a part without candidates.
#
# Seen with Node 20:
#	@google/generative-ai, blank lines first: Failed to parse stream
#	@google/generative-ai, a comment first: Failed to parse stream
#	@google/generative-ai, an empty event first: Hi
#	@google/genai, blank lines first: Hi
#	@google/genai, a comment first: Hi
#	@google/genai, an empty event first: Hi
#	unhandled rejections: 2
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @google/generative-ai@0.24.1 @google/genai@2.32.0
cat >try.mjs <<'END'
import http from 'node:http'
import { GoogleGenAI } from '@google/genai'
import { GoogleGenerativeAI } from '@google/generative-ai'

let unhandled = 0
process.on('unhandledRejection', () => unhandled++)

let first
const event = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP', index: 0 }] }
const server = http.createServer((req, res) => {
  req.resume()
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write(first)
  setTimeout(() => res.end(`data: ${JSON.stringify(event)}\r\n\r\n`), 100)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const baseUrl = `http://127.0.0.1:${server.address().port}`

const clients = {
  '@google/generative-ai': async () => {
    const { stream } = await new GoogleGenerativeAI('k').getGenerativeModel({ model: 'm' }, { baseUrl }).generateContentStream('Hi')
    let text = ''
    for await (const part of stream) text += part.text()
    return text
  },
  '@google/genai': async () => {
    const stream = await new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl } }).models.generateContentStream({ model: 'm', contents: 'Hi' })
    let text = ''
    for await (const part of stream) text += part.text ?? ''
    return text
  },
}
const heads = { 'blank lines': '\r\n\r\n', 'a comment': ': wait\r\n\r\n', 'an empty event': 'data: {}\r\n\r\n' }
for (const [client, ask] of Object.entries(clients)) {
  for (const [name, head] of Object.entries(heads)) {
    first = head
    const said = await ask().catch((e) => e.message.replace(/^\[GoogleGenerativeAI Error\]: /, ''))
    console.log(`${client}, ${name} first: ${said}`)
  }
}
console.log(`unhandled rejections: ${unhandled}`)
server.close()
END
node try.mjs >seen
cat seen
diff seen - <<'END'
@google/generative-ai, blank lines first: Failed to parse stream
@google/generative-ai, a comment first: Failed to parse stream
@google/generative-ai, an empty event first: Hi
@google/genai, blank lines first: Hi
@google/genai, a comment first: Hi
@google/genai, an empty event first: Hi
unhandled rejections: 2
END
