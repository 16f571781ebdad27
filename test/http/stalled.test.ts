import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { loadSplice, type Splice } from '../../src/base/splice.ts'
import { HttpConnections } from '../../src/edge/http/connections.ts'
import { httpsServer } from '../../src/edge/http/https.ts'
import { sendsFrom, sharesBody } from '../../src/edge/http/unsent.ts'
import { WatchedConnections, type WatchedPath } from '../../src/edge/http/watchedConnections.ts'
import { leafOf, shakeHands, trustedAuthority } from '../support/certificates.ts'
import { RawConnection, requestFor } from '../support/rawConnection.ts'
import { until } from '../support/until.ts'

/** More than the buffers of a connection whose client does not read. */
const LARGE = Buffer.alloc(16 * 1024 * 1024)
const LIMITS = { max: 100, maxPerAddress: 0 }
/** Looks within two minutes. */
const LOOKS = 24

interface Served {
  readonly port: number
  readonly connections: HttpConnections
  /** The ends of the connections at the server. */
  readonly sockets: Socket[]
  /** The bodies of `/events`. */
  readonly streams: Readable[]
}

const native = loadSplice()

/** The addon answers further requests of a connection for `/hls/large`. */
async function serveByAddon(addon: Splice): Promise<Served & { readonly watched: WatchedConnections }> {
  const connections = new HttpConnections(LIMITS, () => false)
  const sockets: Socket[] = []
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${LARGE.length}\r\n\r\n`
  const path: WatchedPath = ({ url }) => (url === '/hls/large' ? { head, body: LARGE } : null)
  const watched = new WatchedConnections(addon, { clock: new ManualClock(), connections, path })
  const answer: RequestListener = (request, response) => {
    watched.requested(request, response)
    response.end('small')
  }
  const server = createServer((request, response) => connections.enter(request, response, answer))
  connections.attach(server)
  watched.attach(server)
  server.on('connection', (socket: Socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
    watched.close()
  })
  return { port: (server.address() as AddressInfo).port, connections, sockets, streams: [], watched }
}

/** Answers `/small` with a little, and all else with much. */
async function serve(isShared = false, encrypts = false): Promise<Served> {
  const connections = new HttpConnections(LIMITS, () => false)
  const sockets: Socket[] = []
  const streams: Readable[] = []
  const answer: RequestListener = ({ url }, response) => {
    if (url === '/events') return streamTo(response, streams)
    if (isShared) sharesBody(response)
    response.end(url === '/small' ? 'small' : LARGE)
  }
  const listener: RequestListener = (request, response) => connections.enter(request, response, answer)
  const server = encrypts ? await encrypted(listener, connections) : createServer(listener)
  if (!encrypts) connections.attach(server)
  server.on(encrypts ? 'secureConnection' : 'connection', (socket: Socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, connections, sockets, streams }
}

function streamTo(response: ServerResponse, streams: Readable[]): void {
  const body = new Readable({ read: () => undefined })
  streams.push(body)
  sendsFrom(response, body)
  body.pipe(response)
}

async function encrypted(listener: RequestListener, connections: HttpConnections): Promise<Server> {
  const current = await leafOf(await trustedAuthority())
  const certificate = { current, onChange: () => undefined, problem: null }
  return httpsServer(
    { certificate: certificate as never, hstsSeconds: () => 0, authority: null },
    {},
    listener,
    connections,
  )
}

/** A client that has sent a request for much and reads nothing, and of whose answer the kernel has taken a part. */
async function unread({ port, sockets }: Served): Promise<RawConnection> {
  const client = await RawConnection.open(port)
  const before = sockets.filter(isWaiting).length
  client.socket.pause().write(requestFor('/large'))
  await until(() => sockets.filter(isWaiting).length > before)
  return client
}

/** Reads a part of an answer, so that the kernel takes more of it. */
async function takeSome(socket: Socket): Promise<void> {
  let taken = 0
  const reads = ({ length }: Buffer): void => {
    taken += length
    if (taken >= LARGE.length / 4) socket.pause().off('data', reads)
  }
  socket.on('data', reads).resume()
  await until(() => taken >= LARGE.length / 4)
}

const isWaiting = ({ writableLength }: Socket): boolean => writableLength > 0

function look({ connections }: Served, times: number, maxBytes = Number.POSITIVE_INFINITY): void {
  for (let time = 0; time < times; time++) connections.look(maxBytes)
}

test('a client that takes nothing of its answer for two minutes is closed; others are not', async () => {
  const served = await serve()
  await unread(served)
  const idle = await RawConnection.open(served.port)
  await idle.ask('/small')
  look(served, LOOKS)
  expect(served.connections.counts.stalled).toBe(0)
  look(served, 1)
  expect(served.connections).toMatchObject({ size: 1, counts: { stalled: 1 } })
  expect((await idle.ask('/small')).status).toBe(200)
})

test('a slow client keeps its connection for as long as it takes something', async () => {
  const served = await serve()
  const client = await unread(served)
  look(served, LOOKS)
  await takeSome(client.socket)
  look(served, LOOKS)
  expect(served.connections).toMatchObject({ size: 1, counts: { stalled: 0 } })
  client.socket.resume()
  expect((await client.answer()).body.equals(LARGE)).toBe(true)
})

test('unread answers are bounded together: the largest go first', async () => {
  const served = await serve()
  for (let count = 0; count < 4; count++) await unread(served)
  look(served, 1, 2.5 * LARGE.length)
  expect(served.connections).toMatchObject({ size: 2, counts: { unsent: 2 } })
})

test('what waits before the socket of a streamed answer counts, too', async () => {
  const served = await serve()
  const client = await RawConnection.open(served.port)
  client.socket.pause().write(requestFor('/events'))
  await until(() => served.streams.length === 1)
  for (let count = 0; count < 16; count++) served.streams[0]?.push(Buffer.alloc(1024 * 1024))
  await until(() => (served.streams[0]?.readableLength ?? 0) > 0 && served.sockets.some(isWaiting))
  look(served, 1, 8 * 1024 * 1024)
  expect(served.connections).toMatchObject({ size: 0, counts: { unsent: 1 } })
})

test('what many viewers share counts once for none of them', async () => {
  const served = await serve(true)
  for (let count = 0; count < 4; count++) await unread(served)
  look(served, 1, LARGE.length)
  expect(served.connections.counts.unsent).toBe(0)
})

test('an encrypted answer is encrypted as its client takes it, and arrives whole', async () => {
  const served = await serve(true, true)
  const client = await shakeHands(served.port)
  client.pause().write(requestFor('/large'))
  await until(() => served.sockets.some(isWaiting))
  const [socket = expect.fail()] = served.sockets
  expect(socket.bytesWritten).toBeLessThan(LARGE.length)
  expect(socket.writableLength).toBeLessThan(1024 * 1024)
  let taken = 0
  client.on('data', ({ length }: Buffer) => (taken += length)).resume()
  await until(() => taken > LARGE.length)
  look(served, LOOKS + 1)
  expect(served.connections.counts.stalled).toBe(0)
})

test('an encrypted answer that its client does not read ends, too', async () => {
  const served = await serve(true, true)
  const client = await shakeHands(served.port)
  client.on('error', () => undefined)
  client.pause().write(requestFor('/large'))
  await until(() => served.sockets.some(isWaiting))
  look(served, LOOKS + 1)
  expect(served.connections.counts.stalled).toBe(1)
})

test.runIf(native)(
  'an answer of the addon that its client does not read ends, too, and lets its segment go',
  async () => {
    const served = await serveByAddon(native ?? expect.fail())
    const client = await RawConnection.open(served.port)
    const lookAround = (times: number): void => {
      for (let time = 0; time < times; time++) {
        served.watched.count()
        look(served, 1)
      }
    }
    await client.ask('/hls/small')
    client.socket.pause().write(requestFor('/hls/large'))
    await until(() => served.watched.answered === 1)
    lookAround(LOOKS)
    await takeSome(client.socket)
    lookAround(LOOKS)
    expect(served.connections.counts.stalled).toBe(0)
    lookAround(1)
    expect(served.connections).toMatchObject({ size: 0, counts: { stalled: 1 } })
    await until(() => served.sockets[0]?.closed === true)
  },
)
