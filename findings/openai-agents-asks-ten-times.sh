#!/usr/bin/env bash
# An agent of @openai/agents 0.20.0 that gets an answer with nothing in it sends the same request again at once, up to
# its maxTurns of ten, and then throws "Max turns (10) exceeded"; by its manual a turn follows after tool calls or a
# handoff. Some gateways report a broken provider in this way, with an error and no choices in a 200: it costs ten
# requests within a second, ten times the input where that is billed, and the provider's own words are lost. The same
# words in a 503 cost three, with waits between them, and reach the caller. A content of null is such an answer too, one
# of "" is a final output.
#
# Seen with Node 20 and 22:
#	Chat Completions, the error in a 503: requests 3, 503 overloaded
#	Chat Completions, the error in a 200: requests 10, Max turns (10) exceeded
#	Chat Completions, no choices: requests 10, Max turns (10) exceeded
#	Chat Completions, content null: requests 10, Max turns (10) exceeded
#	Chat Completions, content "": requests 1, final output ""
#	Chat Completions, a stream that ends before its first word: requests 10, Max turns (10) exceeded
#	Responses, no output: requests 10, Max turns (10) exceeded
#	Responses, a stream that ends before its first word: requests 1, Model did not produce a final response!
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @openai/agents@0.20.0 openai@7.59.0 zod@4.6.7
cat >try.mjs <<'END'
import http from 'node:http'
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents'
import OpenAI from 'openai'

setTracingDisabled(true)
let answer, bodies
const server = http.createServer(async (req, res) => {
  let body = ''
  for await (const part of req) body += part
  bodies.push(body)
  const stream = typeof answer === 'string'
  res.writeHead(answer.status ?? 200, { 'Content-Type': stream ? 'text/event-stream' : 'application/json' })
  res.end(stream ? answer : JSON.stringify(answer.body))
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const client = new OpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${server.address().port}` })

async function see(name, of) {
  bodies = []
  answer = of
  const Model = name.startsWith('Chat') ? OpenAIChatCompletionsModel : OpenAIResponsesModel
  const agent = new Agent({ name: 'a', instructions: 'Be brief.', model: new Model(client, 'm') })
  let outcome
  try {
    const stream = typeof of === 'string'
    const result = await run(agent, 'Hi', { stream })
    if (stream) await result.completed
    outcome = `final output ${JSON.stringify(result.finalOutput)}`
  } catch (e) {
    outcome = e.message
  }
  if (bodies.some((body) => body !== bodies[0])) outcome += ', the requests differ'
  console.log(`${name}: requests ${bodies.length}, ${outcome}`)
}
const error = { error: { message: 'overloaded', code: 503 } }
const chat = (...choices) => ({ body: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 } } })
const choice = (content) => ({ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } })
const response = { id: 'r', object: 'response', created_at: 1, model: 'm', status: 'completed', error: null, output: [], usage: { input_tokens: 9, output_tokens: 0, total_tokens: 9 } }

await see('Chat Completions, the error in a 503', { status: 503, body: error })
await see('Chat Completions, the error in a 200', { body: error })
await see('Chat Completions, no choices', chat())
await see('Chat Completions, content null', chat(choice(null)))
await see('Chat Completions, content ""', chat(choice('')))
await see('Chat Completions, a stream that ends before its first word', ': waiting for the model\n\n')
await see('Responses, no output', { body: response })
await see('Responses, a stream that ends before its first word', `event: response.created\ndata: ${JSON.stringify({ type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } })}\n\n`)
process.exit()
END
node try.mjs | tee seen
diff seen - <<'END'
Chat Completions, the error in a 503: requests 3, 503 overloaded
Chat Completions, the error in a 200: requests 10, Max turns (10) exceeded
Chat Completions, no choices: requests 10, Max turns (10) exceeded
Chat Completions, content null: requests 10, Max turns (10) exceeded
Chat Completions, content "": requests 1, final output ""
Chat Completions, a stream that ends before its first word: requests 10, Max turns (10) exceeded
Responses, no output: requests 10, Max turns (10) exceeded
Responses, a stream that ends before its first word: requests 1, Model did not produce a final response!
END
