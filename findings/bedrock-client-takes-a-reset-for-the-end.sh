#!/usr/bin/env bash
# @aws-sdk/client-bedrock-runtime 3.1164.0 speaks HTTP/2 by default, and then `for await` over the stream of a
# ConverseStream ends without an exception in most ways in which it can break off. One expects an error after a reset,
# and after one's own requestTimeout or abort: the handler makes a TimeoutError and an AbortError for these, both
# lost once the answer's head is there. Who prints or stores the text has half an answer for a whole one; only a
# messageStop that does not come tells. Over TLS it is the same. With the SDK's HTTP/1.1 handler all but the clean end
# throws.
#
# Seen with Node 20 and 22, of an answer "One two three." that breaks off behind "two":
#	HTTP/2, connection reset: "One two", no exception
#	HTTP/2, connection closed: "One two", no exception
#	HTTP/2, stream cancelled by the server: "One two", no exception
#	HTTP/2, stream failed by the server: "One two", Error
#	HTTP/2, silence and a requestTimeout: "One two", no exception
#	HTTP/2, silence and an abort of the caller's: "One two", no exception
#	HTTP/2, clean end: "One two", no exception
#	HTTP/1.1, connection reset: "One two", Error
#	HTTP/1.1, silence and a requestTimeout: "One two", TimeoutError
#	HTTP/1.1, silence and an abort of the caller's: "One two", Error
#	HTTP/1.1, clean end: "One two", no exception
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @aws-sdk/client-bedrock-runtime@3.1164.0 @smithy/core@3.41.1 \
	@smithy/node-http-handler@4.14.2
cat >try.mjs <<'END'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { EventStreamCodec } from '@smithy/core/event-streams'
import { NodeHttpHandler } from '@smithy/node-http-handler'

const codec = new EventStreamCodec((bytes) => Buffer.from(bytes).toString(), (text) => Buffer.from(text))
const frame = (type, body) => codec.encode({
  headers: Object.fromEntries(Object.entries({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }).map(([name, value]) => [name, { type: 'string', value }])),
  body: Buffer.from(JSON.stringify(body)),
})
const half = Buffer.concat([
  frame('messageStart', { role: 'assistant' }),
  frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'One ' } }),
  frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'two' } }),
])
const head = { 'content-type': 'application/vnd.amazon.eventstream' }
const server1 = http.createServer((req, res) => {
  req.resume()
  res.writeHead(200, head)
  res.write(half)
  answer = { stream: res, socket: res.socket }
})
const server2 = http2.createServer().on('sessionError', () => {}).on('stream', (stream) => {
  stream.on('error', () => {})
  stream.respond({ ':status': 200, ...head })
  stream.write(half)
  answer = { stream, socket }
})
let answer, socket // of HTTP/2 the outer end of a pipe before server2, since Node does not let go of its own end
const front = net.createServer((down) => {
  const up = net.connect(server2.address().port, '127.0.0.1')
  for (const end of [up, (socket = down)]) end.on('error', () => {})
  up.pipe(down).pipe(up)
})
for (const server of [server1, server2, front]) await new Promise((listening) => server.listen(0, '127.0.0.1', listening))

const reset = ({ socket }) => socket.resetAndDestroy()
const rst = (code) => ({ socket }) => socket.write(Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, code])) // of stream 1
const silence = () => {}
const clean = ({ stream }) => stream.end()

async function see(name, breaks, { requestTimeout, abort } = {}) {
  const old = name.startsWith('HTTP/1.1')
  const client = new BedrockRuntimeClient({
    region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    endpoint: `http://127.0.0.1:${(old ? server1 : front).address().port}`,
    ...(old ? { requestHandler: new NodeHttpHandler({ socketTimeout: requestTimeout }) } : requestTimeout && { requestHandler: { requestTimeout } }),
  })
  let said = '', error = 'no exception'
  try {
    const command = new ConverseStreamCommand({ modelId: 'm', messages: [{ role: 'user', content: [{ text: 'Count.' }] }] })
    const caller = new AbortController()
    const { stream } = await client.send(command, { abortSignal: caller.signal })
    for await (const event of stream) {
      said += event.contentBlockDelta?.delta.text ?? ''
      if (said.endsWith('two')) setTimeout(() => (abort ? caller.abort() : breaks(answer)), 200)
    }
  } catch (e) {
    error = e.name
  }
  console.log(`${name}: "${said}", ${error}`)
}
await see('HTTP/2, connection reset', reset)
await see('HTTP/2, connection closed', ({ socket }) => socket.end())
await see('HTTP/2, stream cancelled by the server', rst(http2.constants.NGHTTP2_CANCEL))
await see('HTTP/2, stream failed by the server', rst(http2.constants.NGHTTP2_INTERNAL_ERROR))
await see('HTTP/2, silence and a requestTimeout', silence, { requestTimeout: 2000 })
await see(`HTTP/2, silence and an abort of the caller's`, silence, { abort: true })
await see('HTTP/2, clean end', clean)
await see('HTTP/1.1, connection reset', reset)
await see('HTTP/1.1, silence and a requestTimeout', silence, { requestTimeout: 2000 })
await see(`HTTP/1.1, silence and an abort of the caller's`, silence, { abort: true })
await see('HTTP/1.1, clean end', clean)
process.exit()
END
NODE_NO_WARNINGS=1 node try.mjs | tee seen
diff seen - <<'END'
HTTP/2, connection reset: "One two", no exception
HTTP/2, connection closed: "One two", no exception
HTTP/2, stream cancelled by the server: "One two", no exception
HTTP/2, stream failed by the server: "One two", Error
HTTP/2, silence and a requestTimeout: "One two", no exception
HTTP/2, silence and an abort of the caller's: "One two", no exception
HTTP/2, clean end: "One two", no exception
HTTP/1.1, connection reset: "One two", Error
HTTP/1.1, silence and a requestTimeout: "One two", TimeoutError
HTTP/1.1, silence and an abort of the caller's: "One two", Error
HTTP/1.1, clean end: "One two", no exception
END
