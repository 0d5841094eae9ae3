#!/usr/bin/env bash
# @openrouter/sdk 1.3.19 keeps an outage from its caller for an hour. By default a call that is answered with a 5xx, or
# whose connection is reset, is sent again until 60 minutes are over. Its README says nothing of it, and
# @mistralai/mistralai 2.7.0, from the same generator, asks once. timeoutMs bounds a single try: with 10 s a model that
# needs longer is asked 66 times. A 429, the answer that invites to ask again, is not sent again, not even with a
# Retry-After of 1 s. A Retry-After of two hours counts for one minute.
#
# Seen with Node 20 and 22, with a clock that the SDK's waits and timeouts move instead of waiting, Math.random at 0:
#	@openrouter/sdk, 503: requests 77, ServiceUnavailableResponseError after 60 min
#	@openrouter/sdk, reset: requests 77, ConnectionError after 60 min
#	@openrouter/sdk, timeoutMs 10000, no answer: requests 66, RequestTimeoutError after 60 min
#	@openrouter/sdk, 503, Retry-After 20: requests 182, ServiceUnavailableResponseError after 60 min
#	@openrouter/sdk, 503, Retry-After 7200: requests 62, ServiceUnavailableResponseError after 61 min
#	@openrouter/sdk, 429, Retry-After 1: requests 1, TooManyRequestsResponseError after 0 min
#	@mistralai/mistralai, 503: requests 1, SDKError after 0 min
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @openrouter/sdk@1.3.19 @mistralai/mistralai@2.7.0
cat >try.mjs <<'END'
import http from 'node:http'
import { Mistral } from '@mistralai/mistralai'
import { OpenRouter } from '@openrouter/sdk'

let now = Date.now() // only waits and timeouts move it
Date.now = () => now
Math.random = () => 0
const real = globalThis.setTimeout
const after = (ms, then) => real(() => ((now += ms), then()), 20)
globalThis.setTimeout = (then, ms, ...rest) => (/lib.retries/.test(new Error().stack.split('\n').slice(2, 5).join()) ? after(ms, then) : real(then, ms, ...rest))
AbortSignal.timeout = (ms) => {
  const controller = new AbortController()
  if (behave === 'no answer') after(ms, () => controller.abort(new DOMException('timed out', 'TimeoutError')))
  return controller.signal
}

let requests, behave, headers
const server = http.createServer((req, res) => {
  req.resume()
  requests++
  if (behave === 'no answer') return
  if (behave === 'reset') return res.socket.resetAndDestroy()
  res.writeHead(behave, { 'Content-Type': 'application/json', ...headers })
  res.end(JSON.stringify({ error: { code: behave, message: 'overloaded' } }))
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const serverURL = `http://127.0.0.1:${server.address().port}`
const model = 'm', messages = [{ role: 'user', content: 'Hi' }]
const openrouter = (more) => new OpenRouter({ apiKey: 'k', serverURL, ...more }).chat.send({ chatRequest: { model, messages, stream: false } })
const mistral = () => new Mistral({ apiKey: 'k', serverURL }).chat.complete({ model, messages })

async function see(name, ask, how, retryAfter) {
  requests = 0
  behave = how
  headers = retryAfter && { 'Retry-After': retryAfter }
  const start = now
  const error = await ask().then(() => 'none', (e) => e.name)
  console.log(`${name}, ${how}${retryAfter ? `, Retry-After ${retryAfter}` : ''}: requests ${requests}, ${error} after ${Math.floor((now - start) / 60_000)} min`)
}
await see('@openrouter/sdk', openrouter, 503)
await see('@openrouter/sdk', openrouter, 'reset')
await see('@openrouter/sdk, timeoutMs 10000', () => openrouter({ timeoutMs: 10_000 }), 'no answer')
await see('@openrouter/sdk', openrouter, 503, 20)
await see('@openrouter/sdk', openrouter, 503, 7200)
await see('@openrouter/sdk', openrouter, 429, 1)
await see('@mistralai/mistralai', mistral, 503)
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
@openrouter/sdk, 503: requests 77, ServiceUnavailableResponseError after 60 min
@openrouter/sdk, reset: requests 77, ConnectionError after 60 min
@openrouter/sdk, timeoutMs 10000, no answer: requests 66, RequestTimeoutError after 60 min
@openrouter/sdk, 503, Retry-After 20: requests 182, ServiceUnavailableResponseError after 60 min
@openrouter/sdk, 503, Retry-After 7200: requests 62, ServiceUnavailableResponseError after 61 min
@openrouter/sdk, 429, Retry-After 1: requests 1, TooManyRequestsResponseError after 0 min
@mistralai/mistralai, 503: requests 1, SDKError after 0 min
END
