// Calls of the vendors' own SDKs, made at a given base URL.
//
// Jobs come in as lines of JSON, {"id", "call", "url", "leave"}, and
// {"id", "abort"} aborts one. What came of each goes out as a line of JSON. The
// SDKs are changed in nothing but the base URL: their own retries and time
// limits are what they are by default.
import readline from 'node:readline'

import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'
import Anthropic from '@anthropic-ai/sdk'
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand, InvokeModelWithResponseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { embed, generateText, streamText } from 'ai'
import { CohereClientV2 } from 'cohere-ai'
import { Ollama } from 'ollama'
import OpenAI, { AzureOpenAI } from 'openai'

console.log = console.error // the output is for results; Ollama's SDK writes to it
globalThis.AI_SDK_LOG_WARNINGS = false

const apiKey = 'test'
const maxRetries = 8 // of calls that have patience of their own
const messages = [{ role: 'user', content: 'Hi' }]

const openai = (url, options) => new OpenAI({ apiKey, baseURL: url + '/v1', ...options })
const anthropic = (url, options) => new Anthropic({ apiKey, baseURL: url, ...options })
const azure = (url) => new AzureOpenAI({ apiKey, endpoint: url, apiVersion: '2024-10-21', deployment: 'gpt-5' })
const authClient = { projectId: 'p', getRequestHeaders: async () => new Headers({ authorization: 'Bearer test' }) }
const vertex = (url) => new AnthropicVertex({ authClient, region: 'us-east5', projectId: 'p', baseURL: url + '/v1' })
const googleVertex = (url) => new GoogleGenAI({ apiKey, vertexai: true, httpOptions: { baseUrl: url } })
const cohere = (url) => new CohereClientV2({ token: apiKey, baseUrl: url })
const google = (url, options) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url, ...options } })
const patientGoogle = (url) => google(url, { retryOptions: { attempts: maxRetries + 1, initialDelay: 0.4 } })

const modelId = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const bedrock = (url) => new BedrockRuntimeClient({ endpoint: url, region: 'us-east-1', token: { token: apiKey }, authSchemePreference: ['httpBearerAuth'] })
const anthropicBedrock = (url) => new AnthropicBedrock({ apiKey, baseURL: url, awsRegion: 'us-east-1' })
const turn = { modelId, messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }
const invoke = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 64, messages }

// Ollama's own abort() knows of streams whose headers have come, and of nothing
// else; a fetch of one's own is the way that its options leave.
const ollama = (url, signal) => new Ollama({ host: url, fetch: (u, init) => fetch(u, { ...init, signal }) })

// A call gets the base URL, a signal that aborts it and a function for each
// piece of text as it comes. It returns the reason why the answer ended.
const calls = {
  'bedrock.converse': async (url, abortSignal, say) => {
    const r = await bedrock(url).send(new ConverseCommand(turn), { abortSignal })
    say(r.output.message.content[0].text)
    return r.stopReason
  },
  'bedrock.converse stream': async (url, abortSignal, say) => {
    const r = await bedrock(url).send(new ConverseStreamCommand(turn), { abortSignal })
    let stop
    for await (const event of r.stream) {
      say(event.contentBlockDelta?.delta?.text)
      stop = event.messageStop?.stopReason ?? stop
    }
    return stop
  },
  'bedrock.invoke stream': async (url, abortSignal, say) => {
    const r = await bedrock(url).send(new InvokeModelWithResponseStreamCommand({ modelId, body: JSON.stringify(invoke) }), { abortSignal })
    let stop
    for await (const event of r.body) {
      const data = JSON.parse(new TextDecoder().decode(event.chunk.bytes))
      say(data.delta?.text)
      stop = data.delta?.stop_reason ?? stop
    }
    return stop
  },
  'anthropic.bedrock': async (url, signal, say) => {
    const m = await anthropicBedrock(url).messages.create({ model: modelId, max_tokens: 64, messages }, { signal })
    say(m.content[0].text)
    return m.stop_reason
  },
  'anthropic.bedrock stream': async (url, signal, say) => {
    const stream = await anthropicBedrock(url).messages.create({ model: modelId, max_tokens: 64, messages, stream: true }, { signal })
    let stop
    for await (const event of stream) {
      say(event.delta?.text)
      stop = event.delta?.stop_reason ?? stop
    }
    return stop
  },
  'anthropic.bedrock helper': async (url, signal, say) => {
    const stream = anthropicBedrock(url).messages.stream({ model: modelId, max_tokens: 64, messages }, { signal }).on('text', say)
    return (await stream.finalMessage()).stop_reason
  },
  'openai.chat': async (url, signal, say) => {
    const c = await openai(url).chat.completions.create({ model: 'gpt-5', messages }, { signal })
    say(c.choices[0].message.content)
    return c.choices[0].finish_reason
  },
  'openai.chat impatient': async (url, signal, say) => {
    const c = await openai(url).chat.completions.create({ model: 'gpt-5', messages }, { signal, timeout: 9000 })
    say(c.choices[0].message.content)
    return c.choices[0].finish_reason
  },
  'openai.chat stream': async (url, signal, say) => {
    const stream = await openai(url).chat.completions.create({ model: 'gpt-5', messages, stream: true }, { signal })
    let stop
    for await (const chunk of stream) {
      say(chunk.choices[0]?.delta?.content)
      stop = chunk.choices[0]?.finish_reason ?? stop
    }
    return stop
  },
  'openai.responses': async (url, signal, say) => {
    const r = await openai(url).responses.create({ model: 'gpt-5', input: 'Hi' }, { signal })
    say(r.output_text)
    return r.status
  },
  'openai.responses stream': async (url, signal, say) => {
    const stream = await openai(url).responses.create({ model: 'gpt-5', input: 'Hi', stream: true }, { signal })
    let stop
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') say(event.delta)
      if (event.type === 'response.completed') stop = event.response.status
    }
    return stop
  },

  'anthropic.messages': async (url, signal, say) => {
    const m = await anthropic(url).messages.create({ model: 'claude-sonnet', max_tokens: 64, messages }, { signal })
    say(m.content[0].text)
    return m.stop_reason
  },
  'anthropic.messages stream': async (url, signal, say) => {
    const stream = await anthropic(url).messages.create({ model: 'claude-sonnet', max_tokens: 64, messages, stream: true }, { signal })
    let stop
    for await (const event of stream) {
      if (event.type === 'content_block_delta') say(event.delta.text)
      if (event.type === 'message_delta') stop = event.delta.stop_reason
    }
    return stop
  },
  'anthropic.messages helper': async (url, signal, say) => {
    const stream = anthropic(url).messages.stream({ model: 'claude-sonnet', max_tokens: 64, messages }, { signal })
    stream.on('text', say)
    return (await stream.finalMessage()).stop_reason
  },

  'google.generateContent': async (url, signal, say) => {
    const r = await google(url).models.generateContent({ model: 'gemini-pro', contents: 'Hi', config: { abortSignal: signal } })
    say(r.text)
    return r.candidates?.[0]?.finishReason
  },
  'google.generateContent stream': async (url, signal, say) => {
    const stream = await google(url).models.generateContentStream({ model: 'gemini-pro', contents: 'Hi', config: { abortSignal: signal } })
    let stop
    for await (const chunk of stream) {
      say(chunk.text)
      stop = chunk.candidates?.[0]?.finishReason ?? stop
    }
    return stop
  },

  'google on vertex stream': async (url, signal, say) => {
    const stream = await googleVertex(url).models.generateContentStream({ model: 'gemini-pro', contents: 'Hi', config: { abortSignal: signal } })
    let stop
    for await (const chunk of stream) {
      say(chunk.text)
      stop = chunk.candidates?.[0]?.finishReason ?? stop
    }
    return stop
  },

  'anthropic on vertex': async (url, signal, say) => {
    const m = await vertex(url).messages.create({ model: 'claude-sonnet@1', max_tokens: 64, messages }, { signal })
    say(m.content[0].text)
    return m.stop_reason
  },
  'anthropic on vertex stream': async (url, signal, say) => {
    const stream = await vertex(url).messages.create({ model: 'claude-sonnet@1', max_tokens: 64, messages, stream: true }, { signal })
    let stop
    for await (const event of stream) {
      if (event.type === 'content_block_delta') say(event.delta.text)
      if (event.type === 'message_delta') stop = event.delta.stop_reason
    }
    return stop
  },

  'azure.chat': async (url, signal, say) => {
    const c = await azure(url).chat.completions.create({ model: 'gpt-5', messages }, { signal })
    say(c.choices[0].message.content)
    return c.choices[0].finish_reason
  },
  'azure.chat stream': async (url, signal, say) => {
    const stream = await azure(url).chat.completions.create({ model: 'gpt-5', messages, stream: true }, { signal })
    let stop
    for await (const chunk of stream) {
      say(chunk.choices[0]?.delta?.content)
      stop = chunk.choices[0]?.finish_reason ?? stop
    }
    return stop
  },

  'cohere.chat': async (url, abortSignal, say) => {
    const r = await cohere(url).chat({ model: 'command-a', messages }, { abortSignal })
    say(r.message.content[0].text)
    return r.finishReason
  },
  'cohere.chat stream': async (url, abortSignal, say) => {
    const stream = await cohere(url).chatStream({ model: 'command-a', messages }, { abortSignal })
    let stop
    for await (const event of stream) {
      if (event.type === 'content-delta') say(event.delta.message.content.text)
      if (event.type === 'message-end' && event.delta.error) throw new Error(event.delta.error)
      if (event.type === 'message-end') stop = event.delta.finishReason
    }
    return stop
  },

  'ollama.chat': async (url, signal, say) => {
    const r = await ollama(url, signal).chat({ model: 'llama', messages })
    say(r.message.content)
    return r.done_reason
  },
  'ollama.chat stream': async (url, signal, say) =>
    lines(await ollama(url, signal).chat({ model: 'llama', messages, stream: true }), (line) => say(line.message.content)),
  'ollama.generate': async (url, signal, say) => {
    const r = await ollama(url, signal).generate({ model: 'llama', prompt: 'Hi' })
    say(r.response)
    return r.done_reason
  },
  'ollama.generate stream': async (url, signal, say) =>
    lines(await ollama(url, signal).generate({ model: 'llama', prompt: 'Hi', stream: true }), (line) => say(line.response)),

  'ai.anthropic': (url, signal, say) => whole(createAnthropic({ apiKey, baseURL: url + '/v1' })('claude-sonnet'), signal, say),
  'ai.anthropic stream': (url, signal, say) => parts(createAnthropic({ apiKey, baseURL: url + '/v1' })('claude-sonnet'), signal, say),
  'ai.openai chat': (url, signal, say) => whole(createOpenAI({ apiKey, baseURL: url + '/v1' }).chat('gpt-5'), signal, say),
  'ai.openai chat stream': (url, signal, say) => parts(createOpenAI({ apiKey, baseURL: url + '/v1' }).chat('gpt-5'), signal, say),
  'ai.openai responses': (url, signal, say) => whole(createOpenAI({ apiKey, baseURL: url + '/v1' })('gpt-5'), signal, say),
  'ai.openai responses stream': (url, signal, say) => parts(createOpenAI({ apiKey, baseURL: url + '/v1' })('gpt-5'), signal, say),
  'ai.google': (url, signal, say) => whole(createGoogleGenerativeAI({ apiKey, baseURL: url + '/v1beta' })('gemini-pro'), signal, say),
  'ai.google stream': (url, signal, say) => parts(createGoogleGenerativeAI({ apiKey, baseURL: url + '/v1beta' })('gemini-pro'), signal, say),
  'ai.anthropic textStream': (url, signal, say) => texts(createAnthropic({ apiKey, baseURL: url + '/v1' })('claude-sonnet'), signal, say),
  'ai.openai chat textStream': (url, signal, say) => texts(createOpenAI({ apiKey, baseURL: url + '/v1' }).chat('gpt-5'), signal, say),
  'ai.google textStream': (url, signal, say) => texts(createGoogleGenerativeAI({ apiKey, baseURL: url + '/v1beta' })('gemini-pro'), signal, say),
}

// Calls that ask for no answer say what they have of a result.
Object.assign(calls, {
  'openai.embeddings': async (url, signal, say) => say((await openai(url, { maxRetries }).embeddings.create({ model: 'e', input: 'Hi', encoding_format: 'float' }, { signal })).data.length),
  'openai.moderations': async (url, signal, say) => say((await openai(url, { maxRetries }).moderations.create({ input: 'Hi' }, { signal })).data.length),
  'openai.models': async (url, signal, say) => say((await openai(url, { maxRetries }).models.list({ signal })).data.length),
  'openai.files': async (url, signal, say) => say((await openai(url, { maxRetries }).files.create({ file: new File(['{}'], 'a.jsonl'), purpose: 'batch' }, { signal })).data.length),
  'anthropic.count_tokens': async (url, signal, say) => say((await anthropic(url, { maxRetries }).messages.countTokens({ model: 'claude-sonnet', messages }, { signal })).data.length),
  'anthropic.models': async (url, signal, say) => say((await anthropic(url, { maxRetries }).models.list({}, { signal })).data.length),
  'google.embedContent': async (url, abortSignal, say) => say((await patientGoogle(url).models.embedContent({ model: 'e', contents: 'Hi', config: { abortSignal } })).embeddings.length),
  'google.countTokens': async (url, abortSignal, say) => say((await patientGoogle(url).models.countTokens({ model: 'gemini-pro', contents: 'Hi', config: { abortSignal } })).totalTokens),
  'google.models': async (url, abortSignal, say) => say((await patientGoogle(url).models.list({ config: { abortSignal } })).page.length),
  'ai.openai embed': async (url, abortSignal, say) => say((await embed({ model: createOpenAI({ apiKey, baseURL: url + '/v1' }).textEmbeddingModel('e'), value: 'Hi', abortSignal, maxRetries })).embedding.length),
})

async function lines(stream, say) {
  let stop
  for await (const line of stream) {
    say(line)
    stop = line.done_reason ?? stop
  }
  return stop
}

async function whole(model, abortSignal, say) {
  const r = await generateText({ model, prompt: 'Hi', abortSignal })
  say(r.text)
  return r.finishReason
}

async function parts(model, abortSignal, say) {
  const result = streamText({ model, prompt: 'Hi', abortSignal, onError() {} })
  let stop
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') say(part.text)
    if (part.type === 'finish') stop = part.finishReason
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw abortSignal.reason
  }
  return stop
}

// texts reads the stream that has no errors in it.
async function texts(model, abortSignal, say) {
  const result = streamText({ model, prompt: 'Hi', abortSignal, onError() {} })
  for await (const text of result.textStream) say(text)
}

const running = new Map()

async function run({ id, call, url, leave }) {
  const controller = new AbortController()
  running.set(id, controller)
  const result = { id, text: '', stop: '', error: '', status: 0 }
  const say = (text) => {
    result.text += text ?? ''
    if (leave && result.text) controller.abort()
  }
  try {
    result.stop = (await calls[call](url, controller.signal, say)) ?? ''
  } catch (error) {
    result.error = `${error?.name}: ${error?.message ?? error}`
    result.status = error?.status ?? error?.statusCode ?? error?.status_code ?? 0
  }
  running.delete(id)
  process.stdout.write(JSON.stringify(result) + '\n')
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const job = JSON.parse(line)
  if (job.abort) running.get(job.id)?.abort()
  else run(job)
})
