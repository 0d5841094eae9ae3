// A scripted server: the page's files, and the lists of /-/live. Requests are kept in `done`.
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { fileURLToPath } from 'node:url'

const dist = fileURLToPath(new URL('../../internal/server/web/dist/', import.meta.url))
const types = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', txt: 'text/plain' }
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// quiet is what a page that shows no waits asks for, of a server where nothing has passed.
const quiet = {
  '/-/requests': { all: 0, requests: [] },
  '/-/setup': { token: false, programs: [] },
}

// fake starts a server. answer returns the answer to other requests than those for the stream and the files,
// as [status, document]; requests is the list of those that have ended.
export async function fake({ lists, answer = () => [200, {}], requests = quiet['/-/requests'] }) {
  const readers = new Set()
  const done = []
  const write = (to, event, data) => to.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  const live = (res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    readers.add(res)
    res.on('close', () => readers.delete(res))
    const now = { hello: { version: 'test', boot: 'b', conversations: true }, ...lists() }
    for (const [event, data] of Object.entries(now)) write(res, event, event === 'hello' ? data : { [event]: data })
  }
  const file = async (name, res) => {
    const text = await readFile(dist + (name || 'index.html')).catch(() => null)
    res.writeHead(text ? 200 : 404, { 'Content-Type': types[(name || 'index.html').split('.').at(-1)], 'Content-Security-Policy': csp })
    res.end(text)
  }
  const server = http.createServer(async (req, res) => {
    const path = req.url.split('?')[0]
    if (path === '/-/live') return live(res)
    if (path.startsWith('/-/ui/')) return file(path.slice(6), res)
    let body = ''
    for await (const piece of req) body += piece
    done.push(`${req.method} ${path} ${body}`)
    const [status, document] = path === '/-/requests' ? [200, requests] : path in quiet ? [200, quiet[path]] : await answer(req, path, body)
    res.writeHead(status, { 'Content-Type': 'application/json' })
    res.end(JSON.stringify(document))
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  return {
    url: `http://127.0.0.1:${server.address().port}/-/ui/`,
    done,
    readers: () => readers.size,
    say: (event, data) => readers.forEach((r) => write(r, event, data)),
    // sayAll writes many events as one piece, as a server that coalesces does.
    sayAll: (events) => readers.forEach((r) => r.write(events.map(([e, d]) => `event: ${e}\ndata: ${JSON.stringify(d)}\n\n`).join(''))),
    stop: () => (readers.forEach((r) => r.destroy()), server.closeAllConnections(), new Promise((end) => server.close(end))),
  }
}

// wait returns a waiting call as the server shows it.
export function wait(id, more = {}) {
  const now = Date.now()
  const remainingMs = more.remainingMs ?? 47_000
  return {
    id, state: 'waiting', session: 'a0b1c2d3-' + id, client: 'claude-cli/2.1.329', api: 'anthropic', upstream: 'anthropic', model: 'claude-sonnet-4-5',
    stream: true, held: true, kind: 'overloaded', cause: 'server overloaded', message: 'HTTP 529: Overloaded', retries: 3,
    began: new Date(now - 57_000).toISOString(), due: new Date(now + remainingMs).toISOString(), deadline: new Date(now + 7.5 * 3_600_000).toISOString(),
    waitedMs: 57_000, ...more, remainingMs,
  }
}
