import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { requestFor } from '../support/rawConnection.ts'
import { endServers, newDirectory, serve } from './cliProcess.ts'

afterAll(endServers)

/** Megabytes. An idle server takes a third of it. */
const HEAP = 160
const CONNECTIONS = 300

test.each([
  ['more requests in advance than are allowed', 60],
  ['as many requests in advance as are allowed', 17],
])('three hundred clients that read nothing do not end a server with a small heap: %s', async (_what, count) => {
  const options = { NODE_OPTIONS: `--max-old-space-size=${HEAP}` }
  const { url, port } = await serve(['--data', newDirectory()], options)
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => unread(port, count)))
  for (const path of ['/api/openapi.json', '/healthz']) expect((await fetch(url + path)).status).toBe(200)
  for (const client of clients) client.destroy()
})

async function unread(port: number, count: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause()
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(requestFor('/api/openapi.json').repeat(count))
  return socket
}
