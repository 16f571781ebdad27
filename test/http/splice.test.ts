import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, createServer as createTlsServer, get } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { loadSplice, type Splice } from '../../src/base/splice.ts'
import { endWith } from '../../src/edge/http/hls/sendAtOnce.ts'
import { leafOf, trustedAuthority } from '../support/certificates.ts'
import { collectGarbage, dial, fakeSplice, segmentOf } from '../support/splice.ts'
import { until } from '../support/until.ts'

const native = loadSplice()

it('is built where the tests run', () => expect(native).not.toBeNull())

/** The descriptor of an encrypted connection is that of the socket below it. */
it('never goes past the encryption of a connection', async () => {
  const { cert, key } = await leafOf(await trustedAuthority())
  const taken: number[] = []
  const send = vi.fn(() => -38)
  const server = createTlsServer({ cert, key }, (_request, answer) => {
    answer.writeHead(200, ['Content-Length', '3'])
    taken.push(endWith(fakeSplice({ send }), answer, Buffer.from('abc')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const port = (server.address() as AddressInfo).port
  // At the first request session tickets are still under way, so that the socket is not empty.
  for (let at = 0; at < 3; at += 1) {
    const answer = await new Promise<IncomingMessage>((resolve) => get({ port, agent, host: '127.0.0.1' }, resolve))
    expect(String(await buffer(answer))).toBe('abc')
  }
  expect([taken, send.mock.calls]).toEqual([[0, 0, 0], []])
  agent.destroy()
})

it.each<[string, object | null]>([
  ['is gone', null],
  ['has no handle any more', { _handle: null }],
  ['has no descriptor', { _handle: { fd: -1, writeQueueSize: 0 } }],
  ['is destroyed', { destroyed: true }],
  ['has ended', { writable: false }],
  ['has data that waits in Node', { writableLength: 1 }],
  ['has data that waits in libuv', { _handle: { fd: 3, writeQueueSize: 1 } }],
])('leaves a segment to Node if its socket %s', (_what, over) => {
  const usual = { _handle: { fd: 3, writeQueueSize: 0 }, destroyed: false, writable: true, writableLength: 0 }
  const send = vi.fn(() => 5)
  const ends: unknown[] = []
  const answerOn = (socket: object | null): ServerResponse =>
    ({ _header: 'hd', socket, end: (rest: unknown) => ends.push(String(rest)) }) as unknown as ServerResponse
  expect(endWith(fakeSplice({ send }), answerOn(over && { ...usual, ...over }), Buffer.from('abcd'))).toBe(0)
  expect(send).not.toHaveBeenCalled()
  expect(endWith(fakeSplice({ send }), answerOn(usual), Buffer.from('abcd'))).toBe(3)
  expect(ends).toEqual(['abcd', 'd'])
})

/** More than the buffers of a connection whose client does not read. */
const LARGE = 16 * 1024 * 1024
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

interface Served {
  readonly port: number
  readonly answers: ServerResponse[]
  /** The bytes of each answer that the addon has sent. */
  readonly taken: number[]
  closeAll(): void
}

/** Answers every request with this body; the addon sends what the socket takes at once. */
async function serve(splice: Splice, bodyOf: () => Buffer): Promise<Served> {
  const answers: ServerResponse[] = []
  const taken: number[] = []
  const server = createServer((_request, answer) => {
    const body = bodyOf()
    answer.writeHead(200, ['Content-Length', `${body.length}`])
    taken.push(endWith(splice, answer, body))
    answers.push(answer)
  })
  // A slow client takes its time between two requests.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closeAll = (): void => server.closeAllConnections()
  onTestFinished(() => {
    server.close()
    closeAll()
  })
  return { port: (server.address() as AddressInfo).port, answers, taken, closeAll }
}

/** The bodies of this number of answers, which all have the same length. */
async function read(socket: Socket, answers: number, length: number): Promise<Buffer[]> {
  let all = Buffer.alloc(0)
  const chunks: Buffer[] = []
  const bodies: Buffer[] = []
  let size = 0
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk)
    size += chunk.length
    if (size < length) continue
    all = Buffer.concat([all, ...chunks.splice(0)])
    for (let end = all.indexOf('\r\n\r\n'); end >= 0 && all.length >= end + 4 + length; end = all.indexOf('\r\n\r\n')) {
      expect(all.toString('latin1', 0, 15)).toBe('HTTP/1.1 200 OK')
      bodies.push(all.subarray(end + 4, end + 4 + length))
      all = all.subarray(end + 4 + length)
    }
    size = all.length
    if (bodies.length === answers) break
  }
  expect(all.length).toBe(0)
  return bodies
}

async function readsNothing(port: number): Promise<Socket> {
  const socket = await dial(port)
  socket.pause().write(REQUEST)
  return socket
}

/** The kernel has taken what it can, and the rest waits in Node. */
async function isStuck(served: Served): Promise<void> {
  await until(() => (served.answers[0]?.socket?.writableLength ?? 0) > 0)
  expect(served.taken[0]).toBeGreaterThan(0)
  expect(served.taken[0]).toBeLessThan(LARGE)
}

describe.runIf(native !== null)('a segment that is sent by splice', () => {
  const splice = native as Splice

  /** A client with a request for a large segment, of which the kernel has taken a part. */
  const stuck = async () => {
    const { joined, bytes } = segmentOf(splice, LARGE)
    const served = await serve(splice, () => joined)
    const socket = await readsNothing(served.port)
    await isStuck(served)
    return { served, socket, bytes }
  }

  it('arrives whole whatever part the kernel takes, as does the next one on its connection', async () => {
    const { joined, bytes } = segmentOf(splice, 200_000)
    const steps: Splice['send'][] = []
    const moody: Splice = { ...splice, send: (...given) => steps.shift()?.(...given) ?? splice.send(...given) }
    const step = fc.oneof(
      fc.constant<Splice['send']>((...given) => splice.send(...given)),
      fc.integer({ min: 0, max: 200_000 }).map((most): Splice['send'] => {
        return (socket, head, body) =>
          writeSync(socket, Buffer.concat([Buffer.from(head, 'latin1'), body.subarray(0, most)]))
      }),
      fc.integer({ min: 1, max: 40 }).map((of): Splice['send'] => {
        return (socket, head) => writeSync(socket, head.slice(0, of), null, 'latin1')
      }),
      fc.constantFrom(-11, -32, -9).map(
        (errno): Splice['send'] =>
          () =>
            errno,
      ),
    )
    const { port } = await serve(moody, () => joined)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 3 }), async (given) => {
        steps.splice(0, steps.length, ...given)
        const socket = await dial(port)
        for (let times = 0; times < 3; times++) {
          socket.write(REQUEST)
          expect((await read(socket, 1, bytes.length))[0]?.equals(bytes)).toBe(true)
        }
        socket.destroy()
      }),
      { numRuns: 50 },
    )
  })

  it('reaches a client that reads late', async () => {
    const { socket, bytes } = await stuck()
    expect((await read(socket, 1, LARGE))[0]?.equals(bytes)).toBe(true)
  })

  it('leaves nothing of the rest of one client to the next one', async () => {
    const { served, bytes } = await stuck()
    const next = await dial(served.port)
    next.write(REQUEST)
    expect((await read(next, 1, LARGE))[0]?.equals(bytes)).toBe(true)
    expect(served.taken).toHaveLength(2)
  })

  it('arrives whole at a client that ends its own side at once', async () => {
    const { socket, bytes } = await stuck()
    socket.end()
    expect((await read(socket, 1, LARGE))[0]?.equals(bytes)).toBe(true)
  })

  it('ends where it is when the server closes its connections', async () => {
    const { served, socket } = await stuck()
    served.closeAll()
    let size = 0
    for await (const chunk of socket) size += chunk.length
    expect(size).toBeLessThan(LARGE)
    expect(size).toBeGreaterThanOrEqual(served.taken[0] ?? LARGE)
  })

  it('keeps its order among pipelined requests of one connection', async () => {
    const { joined, bytes } = segmentOf(splice, 700_000)
    const served = await serve(splice, () => joined)
    const socket = await dial(served.port)
    socket.write(REQUEST.repeat(5))
    const bodies = await read(socket, 5, bytes.length)
    expect(bodies.map((each) => each.equals(bytes))).toEqual([true, true, true, true, true])
    expect(served.taken[0]).toBeGreaterThan(0)
  })

  it('is whole before a connection for a single request ends', async () => {
    const { joined, bytes } = segmentOf(splice, LARGE)
    const served = await serve(splice, () => joined)
    const socket = await dial(served.port)
    socket.write('GET / HTTP/1.0\r\n\r\n')
    const all = await buffer(socket)
    expect(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(bytes)).toBe(true)
  })

  it('reaches no other client while connections open and close', async () => {
    const { joined, bytes } = segmentOf(splice, 3_000_000)
    const served = await serve(splice, () => joined)
    const stays = async (): Promise<boolean[]> => {
      const socket = await dial(served.port)
      const all: boolean[] = []
      for (let times = 0; times < 3; times++) {
        socket.write(REQUEST)
        all.push(...(await read(socket, 1, bytes.length)).map((each) => each.equals(bytes)))
      }
      return all
    }
    const leaves = async (): Promise<boolean[]> => {
      for (let times = 0; times < 6; times++) {
        const socket = await dial(served.port)
        socket.write(REQUEST)
        await once(socket, 'data')
        socket.resetAndDestroy()
      }
      return []
    }
    const all = await Promise.all(Array.from({ length: 24 }, (_, at) => (at % 2 === 0 ? stays() : leaves())))
    expect(all.flat()).toEqual(Array(36).fill(true))
  })

  /** The pages of a segment that is gone must not get other bytes while a socket has still to send them. */
  it('arrives unchanged if its memory is freed meanwhile, and other segments come', async () => {
    const [clients, length] = [20, 100_000]
    const bytes = randomBytes(length)
    const segments: WeakRef<Buffer>[] = []
    const served = await serve(splice, () => {
      const joined = splice.join([bytes]) ?? expect.fail('there is no memory')
      segments.push(new WeakRef(joined))
      return joined
    })
    const sockets = await Promise.all(Array.from({ length: clients }, () => readsNothing(served.port)))
    await until(() => served.answers.length === clients && served.answers.every((one) => one.writableFinished))
    expect(served.taken).toEqual(sockets.map(() => length))
    served.answers.length = 0
    await until(() => {
      collectGarbage()
      return segments.every((one) => one.deref() === undefined)
    })
    const others = Array.from({ length: 200 }, () => segmentOf(splice, length).joined)
    const received = await Promise.all(sockets.map(async (socket) => (await read(socket, 1, length))[0]))
    expect(received.every((one) => one?.equals(bytes))).toBe(true)
    expect(others).toHaveLength(200)
  })
})
