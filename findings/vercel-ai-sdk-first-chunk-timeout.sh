#!/usr/bin/env bash
# streamText of ai 7.0.173 takes timeout.firstChunkMs, by its name and its manual the longest time to the first content.
# With @ai-sdk/openai 4.0.118 it does not bound the time to the first token: its clock starts when the provider's call
# returns, and that reads the stream up to its first output itself, to find early errors. A first token after three
# seconds passes a limit of 0.7 s, and so does a server that sends no headers at all. With chunkMs it is the same before
# the first chunk. stepMs and totalMs do end such a call.
#
# Seen with Node 20:
#	firstChunkMs 700, first token after 3 s: text-delta finish
#	chunkMs 700, first token after 3 s: text-delta finish
#	stepMs 700, first token after 3 s: abort
#	totalMs 700, first token after 3 s: abort
#	firstChunkMs 700, no headers for 3 s: text-delta finish
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/openai@4.0.118
cat >try.mjs <<'END'
import http from 'node:http'
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

let head
const chunk = (delta, finish_reason) => `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const server = http.createServer((req, res) => {
  req.resume()
  res.setHeader('Content-Type', 'text/event-stream')
  if (head) res.flushHeaders()
  setTimeout(() => res.end(chunk({ role: 'assistant', content: 'Hi' }, null) + chunk({}, 'stop') + 'data: [DONE]\n\n'), 3000)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const openai = createOpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${server.address().port}` })

async function ask(limit) {
  const parts = []
  const { fullStream } = streamText({ model: openai.chat('m'), prompt: 'Hi', maxRetries: 0, timeout: { [limit]: 700 }, onError() {} })
  for await (const part of fullStream) if (/^(text-delta|finish|abort|error)$/.test(part.type)) parts.push(part.type)
  return parts.join(' ')
}
head = true
for (const limit of ['firstChunkMs', 'chunkMs', 'stepMs', 'totalMs']) console.log(`${limit} 700, first token after 3 s: ${await ask(limit)}`)
head = false
console.log(`firstChunkMs 700, no headers for 3 s: ${await ask('firstChunkMs')}`)
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
firstChunkMs 700, first token after 3 s: text-delta finish
chunkMs 700, first token after 3 s: text-delta finish
stepMs 700, first token after 3 s: abort
totalMs 700, first token after 3 s: abort
firstChunkMs 700, no headers for 3 s: text-delta finish
END
