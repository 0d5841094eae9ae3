#!/usr/bin/env bash
# LangChain's chat models (@langchain/core 1.4.0, @langchain/openai 1.6.0, @langchain/anthropic 1.5.11) take maxRetries,
# by their manual the most retries that a call can have, with 6 by default. Which calls have them is not what the SDKs
# below do. A 429 without a Retry-After has none, whatever maxRetries says, and neither has one with it whose text names
# the billing page, as OpenAI's does for small accounts; both would pass a little later. A 422, a request that is wrong
# and stays so, has all six within a minute, and withRetry multiplies them. A Retry-After counts for a 429 only: a 503
# or 529 that says 20 s is asked again after 1, 2, 4 and 8 s.
#
# Seen with Node 20 and 22, with the waits noted in seconds and not waited for, and Math.random held at 0:
#	ChatOpenAI, 429: requests 1
#	ChatOpenAI, maxRetries 10, 429: requests 1
#	ChatOpenAI, 429, Retry-After 20: requests 7, waits 20 20 20 20 20 32
#	ChatOpenAI, 429, Retry-After 20, "Add a card: platform.openai.com/account/billing": requests 1
#	ChatOpenAI, 429, "Please try again in 20s.": requests 7, waits 20 20 20 20 20 32
#	ChatOpenAI, 429, "Please try again in 1m20s.": requests 1
#	ChatOpenAI, 503, Retry-After 20: requests 7, waits 1 2 4 8 16 32
#	ChatAnthropic, 529, Retry-After 20: requests 7, waits 1 2 4 8 16 32
#	ChatOpenAI, 422: requests 7, waits 1 2 4 8 16 32
#	ChatOpenAI.withRetry, 422: requests 21, waits 1 2 4 8 16 32 1 1 2 4 8 16 32 2 1 2 4 8 16 32
#	openai, 429: requests 3, waits 0.5 1
#	openai, 503, Retry-After 20: requests 3, waits 20 20
#	openai, 422: requests 1
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/core@1.4.0 @langchain/openai@1.6.0 \
	@langchain/anthropic@1.5.11 openai@7.59.0
cat >try.mjs <<'END'
import http from 'node:http'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import OpenAI from 'openai'

let waits, requests, status, headers, message
const real = globalThis.setTimeout
const limit = 600_000 // of a request, in both SDKs
globalThis.setTimeout = (then, ms, ...rest) => {
  if (ms < 500 || ms === limit || /closeIdle|Socket|socket|undici/.test(new Error().stack)) return real(then, ms, ...rest)
  waits.push(ms / 1000)
  return real(then, 1, ...rest)
}
Math.random = () => 0
const server = http.createServer((req, res) => {
  requests++
  req.resume()
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  res.end(JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message } }))
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const baseURL = `http://127.0.0.1:${server.address().port}`
const apiKey = 'k', model = 'm'

const openai = (more) => new ChatOpenAI({ apiKey, model, configuration: { baseURL }, ...more })
const anthropic = () => new ChatAnthropic({ apiKey, model, anthropicApiUrl: baseURL })
const sdk = () => ({ invoke: () => new OpenAI({ apiKey, baseURL }).chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] }) })

async function see(name, client, code, { after, text = 'no' } = {}) {
  waits = []
  requests = 0
  status = code
  headers = after && { 'Retry-After': after }
  message = text
  await client.invoke('Hi').catch(() => {})
  const how = (after ? `, Retry-After ${after}` : '') + (text === 'no' ? '' : `, "${text}"`)
  console.log(`${name}, ${code}${how}: requests ${requests}${waits.length ? ', waits ' : ''}${waits.join(' ')}`)
}
await see('ChatOpenAI', openai(), 429)
await see('ChatOpenAI, maxRetries 10', openai({ maxRetries: 10 }), 429)
await see('ChatOpenAI', openai(), 429, { after: 20 })
await see('ChatOpenAI', openai(), 429, { after: 20, text: 'Add a card: platform.openai.com/account/billing' })
await see('ChatOpenAI', openai(), 429, { text: 'Please try again in 20s.' })
await see('ChatOpenAI', openai(), 429, { text: 'Please try again in 1m20s.' })
await see('ChatOpenAI', openai(), 503, { after: 20 })
await see('ChatAnthropic', anthropic(), 529, { after: 20 })
await see('ChatOpenAI', openai(), 422)
await see('ChatOpenAI.withRetry', openai().withRetry({ stopAfterAttempt: 3 }), 422)
await see('openai', sdk(), 429)
await see('openai', sdk(), 503, { after: 20 })
await see('openai', sdk(), 422)
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
ChatOpenAI, 429: requests 1
ChatOpenAI, maxRetries 10, 429: requests 1
ChatOpenAI, 429, Retry-After 20: requests 7, waits 20 20 20 20 20 32
ChatOpenAI, 429, Retry-After 20, "Add a card: platform.openai.com/account/billing": requests 1
ChatOpenAI, 429, "Please try again in 20s.": requests 7, waits 20 20 20 20 20 32
ChatOpenAI, 429, "Please try again in 1m20s.": requests 1
ChatOpenAI, 503, Retry-After 20: requests 7, waits 1 2 4 8 16 32
ChatAnthropic, 529, Retry-After 20: requests 7, waits 1 2 4 8 16 32
ChatOpenAI, 422: requests 7, waits 1 2 4 8 16 32
ChatOpenAI.withRetry, 422: requests 21, waits 1 2 4 8 16 32 1 1 2 4 8 16 32 2 1 2 4 8 16 32
openai, 429: requests 3, waits 0.5 1
openai, 503, Retry-After 20: requests 3, waits 20 20
openai, 422: requests 1
END
