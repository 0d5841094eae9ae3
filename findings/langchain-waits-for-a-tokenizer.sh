#!/usr/bin/env bash
# ChatOpenAI of @langchain/openai 1.6.0 with `streaming: true` has all of its provider's answer, with the provider's own
# count of tokens, and does not hand it out: invoke first fetches the tokenizer of GPT-2 from tiktoken.pages.dev, for an
# estimate, whatever the model. Where a firewall lets a program reach its model only, that is tried 14 times with over
# two minutes of waits, after each answer anew, and maxRetries 0 does not change that. The method stream, and a
# ChatOpenAI without `streaming`, ask nobody else.
#
# Seen with Node 20 and 22, with a fetch that reaches 127.0.0.1 only, and with p-retry's waits noted and not waited for:
#	without streaming: "Hi", fetches elsewhere: 0
#	stream: "Hi", fetches elsewhere: 0
#	streaming: "Hi", fetches elsewhere: 14 of tiktoken.pages.dev/js/gpt2.json, waits of over 2 min
#	streaming, once more: "Hi", fetches elsewhere: 14 of tiktoken.pages.dev/js/gpt2.json, waits of over 2 min
#	streaming, maxRetries 0: "Hi", fetches elsewhere: 14 of tiktoken.pages.dev/js/gpt2.json, waits of over 2 min
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/openai@1.6.0 @langchain/core@1.4.0
cat >try.mjs <<'END'
import http from 'node:http'
import { ChatOpenAI } from '@langchain/openai'

const real = { fetch: globalThis.fetch, setTimeout: globalThis.setTimeout }
let elsewhere, waited
globalThis.fetch = (url, ...rest) => {
  const { hostname, pathname } = new URL(url.url ?? url)
  if (hostname === '127.0.0.1') return real.fetch(url, ...rest)
  elsewhere.push(hostname + pathname)
  return Promise.reject(new TypeError('fetch failed'))
}
globalThis.setTimeout = (then, ms, ...rest) => {
  const from = new Error().stack.split('\n').slice(2, 4).filter((line) => !line.includes('async'))
  if (!from.some((line) => line.includes('p-retry'))) return real.setTimeout(then, ms, ...rest)
  waited += ms
  return real.setTimeout(then, 1)
}
console.warn = () => {} // LangChain's, that the fetch has failed

const chunk = (choices, more) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
const streamed =
  chunk([{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }]) +
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]) +
  chunk([], { usage }) + 'data: [DONE]\n\n'
const whole = JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage, choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }] })
const server = http.createServer(async (req, res) => {
  let body = ''
  for await (const part of req) body += part
  const { stream } = JSON.parse(body)
  res.writeHead(200, { 'Content-Type': stream ? 'text/event-stream' : 'application/json' })
  res.end(stream ? streamed : whole)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const configuration = { baseURL: `http://127.0.0.1:${server.address().port}` }
const model = (more) => new ChatOpenAI({ apiKey: 'k', model: 'gpt-5', configuration, ...more })

async function see(name, ask) {
  elsewhere = []
  waited = 0
  const answer = await ask()
  const where = [...new Set(elsewhere)].map((url) => ` of ${url}`)
  console.log(`${name}: ${JSON.stringify(answer.text)}, fetches elsewhere: ${elsewhere.length}${where}${waited > 120_000 ? ', waits of over 2 min' : ''}`)
}
await see('without streaming', () => model().invoke('Hello'))
await see('stream', async () => {
  let all
  for await (const part of await model({ streaming: true }).stream('Hello')) all = all ? all.concat(part) : part
  return all
})
const streaming = model({ streaming: true })
await see('streaming', () => streaming.invoke('Hello'))
await see('streaming, once more', () => streaming.invoke('Hello'))
await see('streaming, maxRetries 0', () => model({ streaming: true, maxRetries: 0 }).invoke('Hello'))
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
without streaming: "Hi", fetches elsewhere: 0
stream: "Hi", fetches elsewhere: 0
streaming: "Hi", fetches elsewhere: 14 of tiktoken.pages.dev/js/gpt2.json, waits of over 2 min
streaming, once more: "Hi", fetches elsewhere: 14 of tiktoken.pages.dev/js/gpt2.json, waits of over 2 min
streaming, maxRetries 0: "Hi", fetches elsewhere: 14 of tiktoken.pages.dev/js/gpt2.json, waits of over 2 min
END
