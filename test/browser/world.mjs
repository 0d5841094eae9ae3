// The surroundings of a test: the program's two processes, a browser, and a page that may not violate its
// policy.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import readline from 'node:readline'

import { chromium } from 'playwright-core'

const binary = process.env.RIDETHROUGH_BINARY
const timeout = 30_000 // ms; the machine may be busy
const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

const clean = () => Object.fromEntries(Object.entries(process.env).filter(([k]) => !/^RIDETHROUGH_|_API_KEY$|_BASE_URL$/.test(k)))
const children = new Set()
process.on('exit', () => children.forEach((c) => c.kill('SIGKILL')))

const races = [] // reports of the race detector, if the program was built with it

// run starts the program and returns the line that it logs with a message.
async function run(args, env, message) {
  const child = spawn(binary, args, { env: { ...clean(), ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
  children.add(child)
  const ended = new Promise((done) => child.on('exit', () => (children.delete(child), done())))
  const found = new Promise((yes, no) => {
    const lines = []
    readline.createInterface({ input: child.stderr }).on('line', (text) => {
      lines.push(text)
      if (text.includes('WARNING: DATA RACE')) races.push(lines) // with what follows
      const line = JSON.parse(text.startsWith('{') ? text : '{}')
      if (line.msg === message) yes(line)
    })
    void ended.then(() => no(new Error(`${args[0]} ended:\n${lines.join('\n')}`)))
  })
  return { found: await found, stop: (signal = 'SIGTERM') => (child.kill(signal), ended) }
}

const undoing = new WeakMap()

// undo runs a function after a test, the last one first: a page is closed before its server.
export function undo(t, what) {
  if (!undoing.has(t)) {
    const all = []
    undoing.set(t, all)
    t.after(async () => {
      for (const one of all.reverse()) await one()
    })
  }
  undoing.get(t).push(what)
}

// world starts a scripted provider and the server before it, which may have a history.
export async function world(t, { replies = '', then = 'ok', provider = [], wait = '3s', retries = 60, config = '', token = '', measured } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'ridethrough-browser-'))
  writeFileSync(join(dir, 'config.yaml'), `policy: quick\npolicies: {quick: {backoff: [${wait}], retries: ${retries}}}\n${token ? 'token: {env: TOKEN}\n' : ''}${config}`)
  if (measured) {
    mkdirSync(join(dir, 'data'), { mode: 0o700 })
    writeFileSync(join(dir, 'data', 'history.json'), JSON.stringify(measured))
  }
  const simulator = await run(['simulator', '--listen', '127.0.0.1:0', '--replies', replies, '--then', then, ...provider], {}, 'simulating a provider')
  const base = simulator.found.url
  const serve = (listen) => run(
    ['serve', '--listen', listen, '--config', join(dir, 'config.yaml'), '--data', join(dir, 'data'), '--upstream', `anthropic=${base}`, '--upstream', `openai=${base}/v1`],
    { ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: 'test', OPENAI_BASE_URL: base + '/v1', OPENAI_API_KEY: 'test', RIDETHROUGH_MODEL: 'anthropic/claude-sonnet-4-5', TOKEN: token }, 'listening')
  let server = await serve('127.0.0.1:0')
  const url = server.found.url
  const w = {
    url, page: url + '/-/ui/',
    // call asks the provider through the gateway, as a program does.
    call: (text = 'Hi', signal = null, program = 'claude-cli/2.1.329', stream = false) => fetch(url + '/v1/messages', {
      method: 'POST', signal,
      headers: { 'Content-Type': 'application/json', 'x-api-key': token || 'test', 'anthropic-version': '2023-06-01', 'User-Agent': program },
      body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 64, stream, messages: [{ role: 'user', content: text }] }),
    }),
    get: async (path) => (await fetch(url + '/-/' + path, { headers: token ? { 'X-Ridethrough-Token': token } : {} })).json(),
    post: async (path, body) => (await fetch(url + '/-/' + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json(),
    // failures returns how many tries have failed so far.
    failures: async () => {
      const text = await (await fetch(url + '/-/metrics')).text()
      return [...text.matchAll(/^ridethrough_(?:turn_)?tries_total\{.*kind="overloaded".*\} (\d+)$/gm)].reduce((n, m) => n + Number(m[1]), 0)
    },
    // turnEnds waits until all that was said in a conversation is answered. A turn that has not begun is still in the queue.
    turnEnds: (id) => until('the turn ends', async () => {
      const c = await w.get('conversations/' + id)
      return c.turnId === undefined && c.queue.length === 0
    }),
    down: (signal) => server.stop(signal),
    up: async () => void (server = await serve(new URL(url).host)),
  }
  undo(t, async () => {
    await server.stop('SIGKILL')
    await simulator.stop('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
    assert.deepEqual(races.splice(0).map((lines) => lines.slice(-60).join('\n')), [])
  })
  return w
}

let shared

const start = (...more) => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: [...flags, ...more] })

// browser returns the one browser of this process.
export const browser = () => (shared ??= start())

// launch starts another one, with flags of its own.
export async function launch(t, ...more) {
  const own = await start(...more)
  undo(t, () => own.close())
  return own
}

export const close = async () => (await shared)?.close()

// open opens an address in a context of its own. A violation of the policy or an error that the test does not
// expect fails the test.
export async function open(t, address, { context: options = {}, expects = /$^/, in: context } = {}) {
  const c = context ?? (await (await browser()).newContext({ viewport: { width: 1100, height: 800 }, ...options }))
  const page = await c.newPage()
  page.setDefaultTimeout(timeout)
  const wrong = []
  const note = (text) => expects.test(text) || wrong.push(text)
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && note(`console: ${m.text()}`))
  page.on('pageerror', (e) => note(`error: ${e.message}`))
  await page.addInitScript(() => addEventListener('securitypolicyviolation', (e) => console.error(`violates ${e.violatedDirective}: ${e.blockedURI} ${e.sample}`)))
  page.on('request', (r) => /^(http:\/\/127\.0\.0\.1:\d+\/-\/|blob:)/.test(r.url()) || wrong.push(`asks for ${r.url()}`))
  undo(t, async () => {
    await page.close()
    if (!context) await c.close()
    assert.deepEqual(wrong, [])
  })
  await page.goto(address)
  return page
}

// until waits for a condition.
export async function until(what, holds) {
  const end = Date.now() + timeout
  for (;;) {
    const value = await holds()
    if (value) return value
    assert.ok(Date.now() < end, `${what}: not within ${timeout} ms`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

// countdown returns the seconds of a countdown such as "in 5s", "in 1m30s" or "in 1m"; NaN: it is something else.
export function countdown(words) {
  const [, m = 0, s = 0] = /^in (?=\d)(?:(\d+)m)?(?:(\d+)s)?$/.exec(words) ?? [, NaN]
  return Number(m) * 60 + Number(s)
}

export const text = (page, selector) => page.locator(selector).first().textContent()

// shown waits for a text to be visible. It polls: a wait of the library that begins while the address changes
// may never end.
export const shown = (page, words) => until(`to see ${words}`, () => page.getByText(words).first().isVisible())

// endShown waits for the page to show that a turn has ended, by what it took.
export const endShown = (page) => shown(page, /tokens in/)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// accessible checks the page against the accessibility rules. The page needs bypassCSP: the checker is a
// script.
export async function accessible(page, what) {
  await page.evaluate(axe)
  const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
  assert.deepEqual(found.violations.map((v) => `${what}: ${v.id}: ${v.nodes.map((n) => n.target + ' ' + n.failureSummary).join('; ')}`), [])
}
