#!/usr/bin/env bash
# Two SDKs from one generator treat a Retry-After of two hours in opposite ways. @anthropic-ai/sdk 1.14.0 sleeps all of
# it, twice by default, before the caller sees the 429: the call takes four hours.
# openai 7.59.0 ignores a value above 60 s and asks again after its own half second, so that a two-hour limit is hit
# three times within two seconds. A proxy that repeats a provider's Retry-After parks the one and is hammered by the other.
#
# Seen with Node 20, with setTimeout replaced by one that notes the time and does not wait:
#	@anthropic-ai/sdk 1.14.0: 7200000 7200000
#	openai 7.59.0: two waits below 1000
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/sdk@1.14.0 openai@7.59.0
cat >try.mjs <<'END'
import http from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const waits = []
const real = globalThis.setTimeout
const limit = 600_000 // of a request, in both SDKs
globalThis.setTimeout = (then, ms, ...rest) => {
  if (ms > 100 && ms !== limit && !/closeIdle|Socket|socket|undici/.test(new Error().stack)) waits.push(ms)
  return real(then, ms === limit ? ms : Math.min(ms ?? 0, 1), ...rest)
}
const server = http.createServer((req, res) => {
  req.resume()
  res.writeHead(429, { 'Retry-After': '7200', 'Content-Type': 'application/json' })
  res.end('{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}')
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const baseURL = `http://127.0.0.1:${server.address().port}`
const messages = [{ role: 'user', content: 'Hi' }]

await new Anthropic({ apiKey: 'k', baseURL }).messages.create({ model: 'm', max_tokens: 9, messages }).catch(() => {})
console.log('@anthropic-ai/sdk 1.14.0:', ...waits)
waits.length = 0
await new OpenAI({ apiKey: 'k', baseURL }).chat.completions.create({ model: 'm', messages }).catch(() => {})
console.log('openai 7.59.0:', waits.length === 2 && waits.every((ms) => ms < 1000) ? 'two waits below 1000' : waits.join(' '))
server.close()
END
node try.mjs | tee seen
diff seen - <<'END'
@anthropic-ai/sdk 1.14.0: 7200000 7200000
openai 7.59.0: two waits below 1000
END
