import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { HttpConnections } from '../../src/edge/http/connections.ts'
import { listenerOf } from '../../src/edge/http/listener.ts'
import { parserErrorHandler } from '../../src/edge/http/protocolErrors.ts'
import { RawConnection, requestFor } from '../support/rawConnection.ts'
import { until } from '../support/until.ts'

type Listening = Parameters<typeof listenerOf>[1]

/** The port of a server with these parts. */
async function listen(over: Partial<Listening>): Promise<number> {
  const connections: Pick<HttpConnections, 'enter' | 'attach'> = {
    enter: (request, response, serve) => serve(request, response),
    attach: () => undefined,
  }
  const parts: Listening = {
    connections: connections as HttpConnections,
    isTaken: () => false,
    isEnding: () => false,
    handler: (_, response) => void response.end('as ever'),
    protocolErrors: { requestId: () => 'r', answered: () => undefined, endsWithAnswer: () => false },
    failed: (_error, { socket }) => void socket.destroy(),
    ...over,
  }
  const server = listenerOf({ requestTimeoutMs: 10_000 }, parts)
  const refuse = parserErrorHandler(parts.protocolErrors)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(error, socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test('a fault of ours in a request that the framework did not see ended the server', async () => {
  const fault = new Error('a fault of ours')
  const faults: unknown[] = []
  const port = await listen({
    isTaken: ({ url }) => {
      if (url === '/broken') throw fault
      return false
    },
    failed: (error, { socket }) => {
      faults.push(error)
      socket.destroy()
    },
  })
  await expect(fetch(`http://127.0.0.1:${port}/broken`)).rejects.toThrow()
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('as ever')
  expect(faults).toEqual([fault])
})

test('a request for a whole URL, which proxies get, is one for its path: a redirect to another node was a 500', async () => {
  const paths: unknown[] = []
  const port = await listen({ isTaken: ({ url }) => paths.push(url) === 0 })
  for (const target of [
    'http://other.example:80/a/b?c',
    'HTTPS://other.example',
    'http://other.example?c',
    '/http://a/',
    '*',
  ]) {
    const answer = await (await RawConnection.open(port)).ask(target, {}, 'OPTIONS')
    expect(answer.body.toString()).toBe('as ever')
  }
  expect(paths).toEqual(['/a/b?c', '/', '/?c', '/http://a/', '*'])
})

/** As many bytes as Node reads at once. */
const READ = 65_536
const CHUNK = '1\r\nx\r\n'

test('bodies in chunks of a byte are read once in each turn of the event loop, of all connections together', async () => {
  const CHUNKS = 100_000
  let [inTurn, most, all] = [0, 0, 0]
  const bodies: string[] = []
  const port = await listen({
    handler: (request, response) => {
      request.on('data', ({ length }: Buffer) => {
        if (inTurn === 0) setImmediate(() => (inTurn = 0))
        inTurn += length
        most = Math.max(most, inTurn)
        all += length
      })
      request.on('end', () => void response.end('read'))
    },
  })
  const clients = [await RawConnection.open(port), await RawConnection.open(port)]
  const head = requestFor('/', { 'transfer-encoding': 'chunked' }, 'POST')
  for (const { socket } of clients) socket.write(head + CHUNK)
  await until(() => all === 2)
  for (const { socket } of clients) socket.write(`${CHUNK.repeat(CHUNKS - 1)}0\r\n\r\n${requestFor('/')}`)
  for (const client of clients) {
    for (const method of ['POST', 'GET']) bodies.push((await client.answer(method)).body.toString())
  }
  expect(bodies).toEqual(['read', 'read', 'read', 'read'])
  expect(all).toBe(2 * CHUNKS)
  // The first one of each connection may come with another.
  expect(most).toBeLessThanOrEqual(2 * Math.ceil(READ / CHUNK.length))
})

test('a request in advance that is no HTTP kept its connection forever, also when the client had left', async () => {
  const connections = new HttpConnections({ max: 10, maxPerAddress: 0 }, () => false)
  const endsWithAnswer = (socket: Duplex): boolean => connections.endsWithAnswer(socket)
  const protocolErrors = { requestId: () => 'r', answered: () => undefined, endsWithAnswer }
  const port = await listen({ connections, protocolErrors })
  const head = requestFor('/', { 'transfer-encoding': 'chunked' }, 'POST')
  // One leaves when the server has ended the connection, and one never does.
  for (const allowHalfOpen of [false, true]) {
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen })
    onTestFinished(() => void client.destroy())
    client.write(`${requestFor('/')}${head}no length\r\n`)
    const answer = await buffer(client)
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 [^]*as ever$/)
  }
  await until(() => connections.size === 0)
})
