/** A server of `watchedConnections.test.ts` on a thread of its own. It posts its port, and when the addon has answered. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { systemClock } from '../../src/base/clock.ts'
import { loadSplice } from '../../src/base/splice.ts'
import { WatchedConnections } from '../../src/edge/http/watchedConnections.ts'

function post(message: number | string): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
  parentPort?.postMessage(message)
}

const splice = loadSplice()
if (splice === null) throw new Error('there is no addon')
const body = splice.join([Buffer.alloc(16 * 1024 * 1024)]) ?? Buffer.from('no memory')
const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`

const watched = new WatchedConnections(splice, {
  clock: systemClock,
  connections: { begin: () => setImmediate(() => post('begun')) },
  path: () => ({ head, body }),
})
const server = createServer((request, response) => {
  watched.requested(request, response)
  response.end('Node')
})
watched.attach(server)
server.listen(0, '127.0.0.1', () => post((server.address() as AddressInfo).port))
