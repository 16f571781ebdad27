import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { PLAYS_MS } from '../../src/core/hls/nodes.ts'
import { nodeFetch, postToNode } from '../../src/net/nodeFetch.ts'
import { closingNode } from '../support/closingNode.ts'
import { until } from '../support/until.ts'

const MAX_BYTES = 1_000_000
const fetched = nodeFetch(systemClock)
const get = (url: string) => fetched(url, MAX_BYTES)

test('a request that another node meets with the close of an idle connection is sent again, once', async () => {
  const { port, asked } = await closingNode(1)
  let got = 0
  // Once a connection is used again.
  await until(async () => {
    expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 })
    got += 1
    return asked() > got
  })
  expect(asked()).toBe(got + 1)
})

test('of several idle connections that another node closes at once none is used for the second attempt', async () => {
  const { port } = await closingNode(1)
  const url = `http://127.0.0.1:${port}/`
  const five = () => Promise.all([1, 2, 3, 4, 5].map(() => get(url)))
  const answered = [1, 2, 3, 4, 5].map(() => expect.objectContaining({ status: 200 }) as object)
  expect(await five()).toEqual(answered)
  expect(await get(url)).toEqual(answered[0])
  expect(await five()).toEqual(answered)
})

test('a node that closes every connection is asked twice', async () => {
  const { port, asked } = await closingNode(0)
  expect(await get(`http://127.0.0.1:${port}/`)).toBe(null)
  expect(asked()).toBe(2)
})

/** Whatever listens at the address of another node. */
async function serverThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('an answer with JSON is read up to 64 kB: parsing what a stranger sends would hold up everything else', async () => {
  const url = await serverThat((request, response) => {
    response.end(JSON.stringify('x'.repeat(request.url === '/short' ? 60_000 : 70_000)))
  })
  const post = postToNode(systemClock)
  expect(await post(`${url}short`, {}, 5000)).toMatchObject({ status: 200 })
  expect(await post(`${url}long`, {}, 5000)).toBe(null)
})

test.each([
  ['1e999', 60_000],
  ['-5', 0],
  ['soon', 0],
  ['1966.5', 1966.5],
])('a piece that plays for %s ms counts as %d', async (said, counted) => {
  const url = await serverThat((_request, response) => response.setHeader(PLAYS_MS, said).end('x'))
  expect(await get(url)).toMatchObject({ playsMs: counted })
})

/** Something at the address of another node that sends these bytes to each client. */
async function talker(bytes: string): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcp((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('data', () => socket.write(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

test.each([
  ['interim answers without an end', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000)],
  ['empty lines without an end', '\r\n'.repeat(200_000)],
  ['headers without an end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`],
  ['a body in chunks of a byte', CHUNKED + '1\r\nx\r\n'.repeat(200_000)],
  ['more than was asked for', `HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n${'x'.repeat(MAX_BYTES + 1)}`],
  ['a redirect', 'HTTP/1.1 307 There\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'],
  ['a status of no HTTP', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n'],
])('%s at the address of a node counts as no answer', async (_what, bytes) => {
  expect(await get(await talker(bytes))).toBe(null)
})

test('what a proxy has put into chunks is an answer', async () => {
  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`
  const answer = await get(await talker(`${CHUNKED}${chunk.repeat(900)}0\r\n\r\n`))
  expect(answer?.body.length).toBe(900 * 1024)
})
