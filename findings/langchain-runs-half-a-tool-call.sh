#!/usr/bin/env bash
# An agent of langchain 1.5.14 whose model streams runs a tool call of which only one half has come, with the half as
# its argument: LangChain closes the open JSON by itself and does not ask whether the answer was whole. Neither a clean
# end of the stream in its middle nor a token limit that is said (finish_reason "length", stop_reason "max_tokens",
# response.incomplete) stops it: a path, a text or a number is cut, fits the tool's schema, and the tool acts on it.
# @tanstack/ai 0.58.0 runs the tool with {} where all its parameters are optional, and optional often means "all". Not
# streamed, LangChain refuses such a call, as runTools of openai 7.59.0 and streamText of ai 7.0.173 do.
#
# Seen with Node 20 and 22, of the call archive({"folder":"/srv/data/old"}) cut behind "/srv/data", folder optional:
#	LangChain, ChatOpenAI, whole: archived /srv/data/old
#	LangChain, ChatOpenAI, clean end: archived /srv/data
#	LangChain, ChatOpenAI, token limit: archived /srv/data
#	LangChain, ChatOpenAI, not streamed, token limit: archived nothing
#	LangChain, ChatOpenAI over Responses, clean end: archived /srv/data
#	LangChain, ChatOpenAI over Responses, token limit: archived /srv/data
#	LangChain, ChatAnthropic, clean end: archived /srv/data
#	LangChain, ChatAnthropic, token limit: archived /srv/data
#	TanStack, clean end: archived all folders
#	TanStack, token limit: archived all folders
#	openai, runTools, clean end: archived nothing
#	openai, runTools, token limit: archived nothing
#	ai, streamText, clean end: archived nothing
#	ai, streamText, token limit: archived nothing
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts langchain@1.5.14 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 \
	@langchain/openai@1.6.0 @langchain/anthropic@1.5.11 @tanstack/ai@0.58.0 @tanstack/ai-openai@0.23.1 ai@7.0.173 \
	@ai-sdk/openai@4.0.118 openai@7.59.0 zod@4.6.7
cat >try.mjs <<'END'
import http from 'node:http'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import { chat, toolDefinition } from '@tanstack/ai'
import { createOpenaiChatCompletions } from '@tanstack/ai-openai'
import { stepCountIs, streamText, tool } from 'ai'
import { createAgent, tool as langchainTool } from 'langchain'
import OpenAI from 'openai'
import { z } from 'zod'

const sse = (...events) => events.map((e) => (e.type ? `event: ${e.type}\n` : '') + `data: ${JSON.stringify(e)}\n\n`).join('')
const half = '{"folder":"/srv/data', rest = '/old"}'

const chunk = (delta, finish_reason = null) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })
const call = (args) => ({ index: 0, id: 'call', type: 'function', function: { name: 'archive', arguments: args } })
const start = [chunk({ role: 'assistant', content: null, tool_calls: [call('')] }), chunk({ tool_calls: [{ index: 0, function: { arguments: half } }] })]
const completions = {
  whole: sse(...start, chunk({ tool_calls: [{ index: 0, function: { arguments: rest } }] }), chunk({}, 'tool_calls')),
  'clean end': sse(...start),
  'token limit': sse(...start, chunk({}, 'length')),
  done: sse(chunk({ role: 'assistant', content: 'Done.' }), chunk({}, 'stop')),
}
const choice = (finish_reason, message) => JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...message } }] })
const notStreamed = {
  whole: choice('tool_calls', { tool_calls: [call(half + rest)] }),
  'token limit': choice('length', { tool_calls: [call(half)] }),
  done: choice('stop', { content: 'Done.' }),
}

const response = { id: 'r', object: 'response', created_at: 1, model: 'm', output: [] }
const item = { id: 'f', type: 'function_call', call_id: 'call', name: 'archive', arguments: '', status: 'in_progress' }
const text = { id: 't', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Done.', annotations: [] }] }
const argument = (sequence_number, delta) => ({ type: 'response.function_call_arguments.delta', sequence_number, item_id: 'f', output_index: 0, delta })
const begin = [
  { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
  { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item },
  argument(2, half),
]
const responses = {
  whole: sse(...begin, argument(3, rest), { type: 'response.completed', sequence_number: 4, response: { ...response, status: 'completed', output: [{ ...item, arguments: half + rest, status: 'completed' }] } }),
  'clean end': sse(...begin),
  'token limit': sse(...begin, { type: 'response.incomplete', sequence_number: 3, response: { ...response, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [{ ...item, arguments: half, status: 'incomplete' }] } }),
  done: sse({ type: 'response.output_text.delta', sequence_number: 0, item_id: 't', output_index: 0, content_index: 0, delta: 'Done.' }, { type: 'response.completed', sequence_number: 1, response: { ...response, status: 'completed', output: [text] } }),
}

const opening = { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } }
const closing = (stop_reason) => [{ type: 'content_block_stop', index: 0 }, { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 9 } }, { type: 'message_stop' }]
const input = (partial_json) => ({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } })
const use = [opening, { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'call', name: 'archive', input: {} } }, input(half)]
const claude = {
  whole: sse(...use, input(rest), ...closing('tool_use')),
  'clean end': sse(...use),
  'token limit': sse(...use, ...closing('max_tokens')),
  done: sse(opening, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Done.' } }, ...closing('end_turn')),
}

let answers, archived
const server = http.createServer((req, res) => {
  req.resume()
  const body = answers.shift()
  res.writeHead(200, { 'Content-Type': body.startsWith('{') ? 'application/json' : 'text/event-stream' })
  res.end(body)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const baseURL = `http://127.0.0.1:${server.address().port}`
const apiKey = 'k', model = 'm', messages = [{ role: 'user', content: 'Tidy up.' }]

const name = 'archive', description = 'archives a folder, or all of them'
const schema = z.object({ folder: z.string().optional() })
const execute = async ({ folder }) => {
  archived = folder ?? 'all folders'
  return 'archived'
}
const langchain = (llm, streamMode = 'messages') => async () => {
  const agent = createAgent({ model: llm, tools: [langchainTool(execute, { name, description, schema })] })
  for await (const _ of await agent.stream({ messages }, { streamMode }));
}
const openai = langchain(new ChatOpenAI({ apiKey, model, configuration: { baseURL } }))
const openaiWhole = langchain(new ChatOpenAI({ apiKey, model, configuration: { baseURL } }), 'updates')
const openaiResponses = langchain(new ChatOpenAI({ apiKey, model, configuration: { baseURL }, useResponsesApi: true }))
const anthropic = langchain(new ChatAnthropic({ apiKey, model, anthropicApiUrl: baseURL }))
async function tanstack() {
  const adapter = createOpenaiChatCompletions(model, apiKey, { baseURL })
  for await (const _ of chat({ adapter, messages, tools: [toolDefinition({ name, description, inputSchema: schema }).server(execute)], debug: false }));
}
async function vercel() {
  const tools = { [name]: tool({ description, inputSchema: schema, execute }) }
  await streamText({ model: createOpenAI({ apiKey, baseURL }).chat(model), messages, tools, stopWhen: stepCountIs(2), onError() {} }).consumeStream()
}
async function runTools() {
  const parameters = { type: 'object', properties: { folder: { type: 'string' } } }
  const tools = [{ type: 'function', function: { name, description, parameters, parse: JSON.parse, function: execute } }]
  await new OpenAI({ apiKey, baseURL }).chat.completions.runTools({ model, messages, tools, stream: true }).done()
}

async function run(api, way, ask) {
  answers = [api[way], api.done]
  archived = 'nothing'
  await ask().catch(() => {})
  return archived
}
async function see(who, api, ask, ...ways) {
  if ((await run(api, 'whole', ask)) !== '/srv/data/old') throw new Error(`${who} does not run the whole call`)
  for (const way of ways) console.log(`${who}, ${way}: archived ${await run(api, way, ask)}`)
}
console.warn = () => {} // LangChain's, of a newer version to install
await see('LangChain, ChatOpenAI', completions, openai, 'whole', 'clean end', 'token limit')
await see('LangChain, ChatOpenAI, not streamed', notStreamed, openaiWhole, 'token limit')
await see('LangChain, ChatOpenAI over Responses', responses, openaiResponses, 'clean end', 'token limit')
await see('LangChain, ChatAnthropic', claude, anthropic, 'clean end', 'token limit')
await see('TanStack', completions, tanstack, 'clean end', 'token limit')
await see('openai, runTools', completions, runTools, 'clean end', 'token limit')
await see('ai, streamText', completions, vercel, 'clean end', 'token limit')
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
LangChain, ChatOpenAI, whole: archived /srv/data/old
LangChain, ChatOpenAI, clean end: archived /srv/data
LangChain, ChatOpenAI, token limit: archived /srv/data
LangChain, ChatOpenAI, not streamed, token limit: archived nothing
LangChain, ChatOpenAI over Responses, clean end: archived /srv/data
LangChain, ChatOpenAI over Responses, token limit: archived /srv/data
LangChain, ChatAnthropic, clean end: archived /srv/data
LangChain, ChatAnthropic, token limit: archived /srv/data
TanStack, clean end: archived all folders
TanStack, token limit: archived all folders
openai, runTools, clean end: archived nothing
openai, runTools, token limit: archived nothing
ai, streamText, clean end: archived nothing
ai, streamText, token limit: archived nothing
END
