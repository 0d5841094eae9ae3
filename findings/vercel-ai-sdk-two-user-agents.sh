#!/usr/bin/env bash
# Vercel's AI SDK names itself in two ways, by the function that is called: with ai 7.0.173 and @ai-sdk/openai 4.0.118
# generateText sends a User-Agent that begins with "ai/", streamText one that begins with "ai-sdk-openai/". A gateway that
# knows the SDK by one prefix (before version 7 it was "ai-sdk/") misses half of its requests.
#
# Seen with Node 20, with the version of node left out:
#	generateText: ai/7.0.173 ai-sdk-provider-utils/5.0.81
#	streamText: ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/openai@4.0.118
cat >try.mjs <<'END'
import http from 'node:http'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, streamText } from 'ai'

let agent
const server = http.createServer((req, res) => {
  req.resume()
  agent = req.headers['user-agent'].split(' ').slice(0, 2).join(' ')
  res.writeHead(400, { 'Content-Type': 'application/json' })
  res.end('{"error":{"message":"no","type":"invalid_request_error"}}')
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const openai = createOpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${server.address().port}` })
await generateText({ model: openai('gpt-5'), prompt: 'Hi' }).catch(() => {})
console.log('generateText:', agent)
for await (const _ of streamText({ model: openai('gpt-5'), prompt: 'Hi', onError() {} }).textStream);
console.log('streamText:', agent)
server.close()
END
node try.mjs | tee seen
diff <(cut -d/ -f1,2 seen) <(printf 'generateText: ai/7.0.173 ai-sdk-provider-utils\nstreamText: ai-sdk-openai/4.0.118 ai-sdk-provider-utils\n')
