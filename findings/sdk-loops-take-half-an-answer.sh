#!/usr/bin/env bash
# A stream that ends in its middle, cleanly and without its last event, is an error to the helpers of the vendors' SDKs
# and none to their documented loops, in one and the same package: openai 7.59.0 and @anthropic-ai/sdk 1.14.0. The loop
# hands out half an answer as if it were whole. LangChain and groq-sdk are built on such loops and say nothing either.
# OpenAI's loop does not even throw at response.failed, the API's own word that the answer has failed. A chat of
# @google/genai 3.3.0 hands out the text and then leaves the turn out of its next request without a word.
#
# Seen with Node 20:
#	openai, chat.completions.create: "One two"
#	openai, chat.completions.stream: missing finish_reason for choice 0
#	openai, responses.create: "One two"
#	openai, responses.create, response.failed: "One two"
#	@anthropic-ai/sdk, messages.create: "One two"
#	@anthropic-ai/sdk, messages.stream: stream ended without producing a Message with role=assistant
#	@langchain/openai: "One two"
#	@langchain/anthropic: "One two"
#	groq-sdk: "One two"
#	@google/genai, a chat: "One two", turns in the next request: 1
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts openai@7.59.0 @anthropic-ai/sdk@1.14.0 @google/genai@3.3.0 \
	groq-sdk@1.6.0 @langchain/core@1.4.0 @langchain/openai@1.5.8 @langchain/anthropic@1.5.11
cat >try.mjs <<'END'
import http from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import Groq from 'groq-sdk'
import OpenAI from 'openai'

const sse = (...events) => events.map((e) => (e.type ? `event: ${e.type}\n` : '') + `data: ${JSON.stringify(e)}\n\n`).join('')
const chat = sse({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: 'One two' }, finish_reason: null }] })
const responses = sse(
  { type: 'response.created', sequence_number: 1, response: { id: 'r', output: [] } },
  { type: 'response.output_text.delta', sequence_number: 2, item_id: 'i', output_index: 0, content_index: 0, delta: 'One two' },
)
const failed = responses + sse({ type: 'response.failed', sequence_number: 3, response: { id: 'r', status: 'failed', error: { code: 'server_error', message: 'overloaded' }, output: [] } })
const claude = sse(
  { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'One two' } },
)
const gemini = sse({ candidates: [{ content: { role: 'model', parts: [{ text: 'One two' }] }, index: 0 }] })

let body, request
const server = http.createServer((req, res) => {
  request = ''
  req.on('data', (part) => (request += part))
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.end(body)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const baseURL = `http://127.0.0.1:${server.address().port}`
const apiKey = 'k', model = 'm', messages = [{ role: 'user', content: 'Hi' }]
const openai = new OpenAI({ apiKey, baseURL })
const anthropic = new Anthropic({ apiKey, baseURL })
const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: baseURL } })

async function loop(stream, text) {
  let all = ''
  for await (const part of await stream) all += text(part) ?? ''
  return JSON.stringify(all)
}
async function see(name, answer, call) {
  body = answer
  console.log(`${name}: ${await call().catch((e) => e.message)}`)
}
const ofChat = (c) => c.choices[0]?.delta?.content
const ofLangChain = (c) => (typeof c.content === 'string' ? c.content : c.content.map((part) => part.text).join(''))

await see('openai, chat.completions.create', chat, () => loop(openai.chat.completions.create({ model, messages, stream: true }), ofChat))
await see('openai, chat.completions.stream', chat, () => openai.chat.completions.stream({ model, messages }).finalContent())
await see('openai, responses.create', responses, () => loop(openai.responses.create({ model, input: 'Hi', stream: true }), (e) => e.delta))
await see('openai, responses.create, response.failed', failed, () => loop(openai.responses.create({ model, input: 'Hi', stream: true }), (e) => e.delta))
await see('@anthropic-ai/sdk, messages.create', claude, () => loop(anthropic.messages.create({ model, max_tokens: 9, messages, stream: true }), (e) => e.delta?.text))
await see('@anthropic-ai/sdk, messages.stream', claude, () => anthropic.messages.stream({ model, max_tokens: 9, messages }).finalMessage())
await see('@langchain/openai', chat, () => loop(new ChatOpenAI({ apiKey, model, configuration: { baseURL } }).stream('Hi'), ofLangChain))
await see('@langchain/anthropic', claude, () => loop(new ChatAnthropic({ apiKey, model, anthropicApiUrl: baseURL }).stream('Hi'), ofLangChain))
await see('groq-sdk', chat, () => loop(new Groq({ apiKey, baseURL }).chat.completions.create({ model, messages, stream: true }), ofChat))
await see('@google/genai, a chat', gemini, async () => {
  const talk = google.chats.create({ model })
  const said = await loop(talk.sendMessageStream({ message: 'Hi' }), (c) => c.text)
  await loop(talk.sendMessageStream({ message: 'And then?' }), (c) => c.text)
  return `${said}, turns in the next request: ${JSON.parse(request).contents.length}`
})
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
openai, chat.completions.create: "One two"
openai, chat.completions.stream: missing finish_reason for choice 0
openai, responses.create: "One two"
openai, responses.create, response.failed: "One two"
@anthropic-ai/sdk, messages.create: "One two"
@anthropic-ai/sdk, messages.stream: stream ended without producing a Message with role=assistant
@langchain/openai: "One two"
@langchain/anthropic: "One two"
groq-sdk: "One two"
@google/genai, a chat: "One two", turns in the next request: 1
END
