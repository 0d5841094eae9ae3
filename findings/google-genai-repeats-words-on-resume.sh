#!/usr/bin/env bash
# @google/genai 3.3.0 resumes a stream of Gemini's that breaks off by itself: it sends the request again with the
# continuationToken that came last, and the server goes on from there. Words that had come behind that token have been
# yielded by then and are yielded again: who prints or stores the parts of generateContentStream has them twice, with no
# error and no sign between them. A reset, a clean end and an error event of the server's make no difference.
#
# Seen with Node 22, of "One two three four." with a token behind "two" and the answer's rest from there on:
#	before the next word: "One two three four.", error: none, tokens sent: - t1
#	a word later: "One two three three four.", error: none, tokens sent: - t1
#	a word later, with a clean end: "One two three three four.", error: none, tokens sent: - t1
#	a word later, with an error event: "One two three three four.", error: none, tokens sent: - t1
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @google/genai@3.3.0
cat >try.mjs <<'END'
import { GoogleGenAI } from '@google/genai'
import http from 'node:http'

let way, bodies
const chunk = (text, more = {}) => `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }], responseId: 'r' })}\r\n\r\n`
const later = (ms) => new Promise((done) => setTimeout(done, ms))
const breaks = {
  'before the next word': [(res) => res.socket.destroy(), false],
  'a word later': [(res) => res.socket.destroy(), true],
  'a word later, with a clean end': [(res) => res.end(), true],
  'a word later, with an error event': [(res) => res.end('data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\r\n\r\n'), true],
}
const server = http.createServer(async (req, res) => {
  let body = ''
  for await (const part of req) body += part
  bodies.push(JSON.parse(body).continuationToken ?? '-')
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  if (bodies.length > 1) return res.end(chunk('three four.', { finishReason: 'STOP' }))
  res.write(chunk('One '))
  res.write(chunk('two ', { continuationToken: 't1' }))
  await later(100)
  const [end, more] = breaks[way]
  if (more) res.write(chunk('three '))
  await later(100)
  end(res)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
for (way of Object.keys(breaks)) {
  bodies = []
  const ai = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: `http://127.0.0.1:${server.address().port}` } })
  let said = '', error = 'none'
  try {
    for await (const part of await ai.models.generateContentStream({ model: 'gemini-3-pro', contents: 'Count.' })) said += part.text ?? ''
  } catch (e) {
    error = e.constructor.name
  }
  console.log(`${way}: "${said.trim()}", error: ${error}, tokens sent: ${bodies.join(' ')}`)
}
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
before the next word: "One two three four.", error: none, tokens sent: - t1
a word later: "One two three three four.", error: none, tokens sent: - t1
a word later, with a clean end: "One two three three four.", error: none, tokens sent: - t1
a word later, with an error event: "One two three three four.", error: none, tokens sent: - t1
END
