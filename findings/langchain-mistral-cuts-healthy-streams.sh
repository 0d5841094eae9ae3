#!/usr/bin/env bash
# ChatMistralAI of @langchain/mistralai 1.2.0 ends each answer after 30 s, whole or streamed, also a healthy stream that
# sends a word each second: it makes one AbortSignal.timeout for the request, and that covers the body too. The caller
# gets 29 words and a TimeoutError that LangChain does not ask again for. The vendor's own client below it,
# @mistralai/mistralai 2.7.0, has no such limit by itself.
#
# Seen with Node 20, for an answer of 36 words in 36 s:
#	@mistralai/mistralai: all of it
#	@langchain/mistralai: TimeoutError after 30 s, requests: 1
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/mistralai@1.2.0 @langchain/core@1.4.0 @mistralai/mistralai@2.7.0
cat >try.mjs <<'END'
import http from 'node:http'
import { ChatMistralAI } from '@langchain/mistralai'
import { Mistral } from '@mistralai/mistralai'

const words = 36
const asked = { '/alone': 0, '/langchain': 0 }
const server = http.createServer((req, res) => {
  req.resume()
  asked[req.url.match(/^\/[a-z]+/)[0]]++
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  let n = 0
  const timer = setInterval(() => {
    const finish_reason = ++n === words ? 'stop' : null
    const delta = { role: 'assistant', content: `${n} ` }
    res.write(`data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
    if (finish_reason) res.end('data: [DONE]\n\n')
  }, 1000)
  res.on('close', () => clearInterval(timer))
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const url = `http://127.0.0.1:${server.address().port}`

async function read(stream) {
  const began = Date.now()
  let n = 0
  try {
    for await (const _ of await stream) n++
    return n >= words ? 'all of it' : `${n} words`
  } catch (e) {
    return `${e.name} after ${Math.round((Date.now() - began) / 1000)} s`
  }
}
const [alone, langchain] = await Promise.all([
  read(new Mistral({ apiKey: 'k', serverURL: url + '/alone' }).chat.stream({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })),
  read(new ChatMistralAI({ apiKey: 'k', model: 'm', serverURL: url + '/langchain' }).stream('Hi')),
])
console.log('@mistralai/mistralai:', alone)
console.log(`@langchain/mistralai: ${langchain}, requests: ${asked['/langchain']}`)
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
@mistralai/mistralai: all of it
@langchain/mistralai: TimeoutError after 30 s, requests: 1
END
