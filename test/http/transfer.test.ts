import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, createServer as createTlsServer, get } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadSendfile, type Sendfile } from '../../src/base/sendfile.ts'
import { type Body, sendAtOnce } from '../../src/edge/http/media/transfer.ts'
import { openSendfile } from '../../src/edge/http/media/transferProof.ts'
import { leafOf, trustedAuthority } from '../support/certificates.ts'
import { until } from '../support/testNode.ts'

const native = loadSendfile()

it('is built where the tests run', () => expect(native).not.toBeNull())

/** The descriptor of an encrypted connection is that of the socket below it. */
it('never goes past the encryption of a connection', async () => {
  const { cert, key } = await leafOf(await trustedAuthority())
  const taken: number[] = []
  const send = (): number => expect.fail('the addon was given the socket below')
  const server = createTlsServer({ cert, key }, (_request, answer) => {
    answer.writeHead(200, ['Content-Length', '3'])
    taken.push(
      sendAtOnce({ hold: () => 1, release: () => undefined, send }, answer, { bytes: Buffer.from('abc'), file: 1 }),
    )
    answer.end('abc')
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
  expect(taken).toEqual([0, 0, 0])
  agent.destroy()
})

/** More than the buffers of a connection whose client does not read. */
const LARGE = 16 * 1024 * 1024
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-transfer-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.runIf(native !== null)('a body that is sent by sendfile', () => {
  const sendfile = native as Sendfile

  const bodyOf = async (length: number): Promise<Body & { path: string }> => {
    const path = join(folder, `${Math.random()}`)
    const bytes = randomBytes(length)
    await writeFile(path, bytes)
    const fd = openSync(path, 'r')
    const file = sendfile.hold(fd, length)
    closeSync(fd)
    onTestFinished(() => sendfile.release(file))
    return { bytes, file, path }
  }

  interface Served {
    readonly port: number
    readonly answers: ServerResponse[]
    /** The bytes of each answer that the addon has sent. */
    readonly taken: number[]
    closeAll(): void
  }

  /** Answers every request with this body; the addon sends what the socket takes at once. */
  const serve = async (body: Body, by = sendfile): Promise<Served> => {
    const answers: ServerResponse[] = []
    const taken: number[] = []
    const server = createServer((_request, answer) => {
      answer.writeHead(200, ['Content-Length', `${body.bytes.length}`])
      const bytes = sendAtOnce(by, answer, body)
      answer.end(body.bytes.subarray(bytes))
      answers.push(answer)
      taken.push(bytes)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const closeAll = (): void => server.closeAllConnections()
    onTestFinished(() => {
      server.close()
      closeAll()
    })
    return { port: (server.address() as AddressInfo).port, answers, taken, closeAll }
  }

  const dial = async (port: number): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    return socket
  }

  /** The bodies of this number of answers, which all have the same length. */
  const read = async (socket: Socket, answers: number, length: number): Promise<Buffer[]> => {
    let all = Buffer.alloc(0)
    const chunks: Buffer[] = []
    const bodies: Buffer[] = []
    let size = 0
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk)
      size += chunk.length
      if (size < length) continue
      all = Buffer.concat([all, ...chunks.splice(0)])
      for (
        let end = all.indexOf('\r\n\r\n');
        end >= 0 && all.length >= end + 4 + length;
        end = all.indexOf('\r\n\r\n')
      ) {
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

  const readsNothing = async (port: number): Promise<Socket> => {
    const socket = await dial(port)
    socket.pause().write(REQUEST)
    return socket
  }

  /** The kernel has taken what it can, and the rest waits in Node. */
  const isStuck = async (served: Served): Promise<void> => {
    await until(() => (served.answers[0]?.socket?.writableLength ?? 0) > 0)
    expect(served.taken[0]).toBeGreaterThan(0)
    expect(served.taken[0]).toBeLessThan(LARGE)
  }

  it('arrives whole whatever part the kernel takes, as does the next one on its connection', async () => {
    const body = await bodyOf(200_000)
    const steps: ((...given: Parameters<Sendfile['send']>) => number)[] = []
    const moody: Sendfile = {
      ...sendfile,
      send: (...given) => steps.shift()?.(...given) ?? sendfile.send(...given),
    }
    const step = fc.oneof(
      fc.integer({ min: 1, max: 200_000 }).map((most): Sendfile['send'] => {
        return (socket, head, file, length) => sendfile.send(socket, head, file, Math.min(length, most))
      }),
      fc.integer({ min: 1, max: 40 }).map((of): Sendfile['send'] => {
        return (socket, head) => writeSync(socket, head.slice(0, of), null, 'latin1')
      }),
      fc.constant<Sendfile['send']>((socket, head) => writeSync(socket, head, null, 'latin1')),
      fc.constantFrom(-11, -32, -116).map(
        (errno): Sendfile['send'] =>
          () =>
            errno,
      ),
    )
    const { port } = await serve(body, moody)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 3 }), async (given) => {
        steps.splice(0, steps.length, ...given)
        const socket = await dial(port)
        for (let times = 0; times < 3; times++) {
          socket.write(REQUEST)
          expect((await read(socket, 1, body.bytes.length))[0]?.equals(body.bytes)).toBe(true)
        }
        socket.destroy()
      }),
      { numRuns: 50 },
    )
  })

  it('reaches a client that reads late', async () => {
    const body = await bodyOf(LARGE)
    const served = await serve(body)
    const socket = await readsNothing(served.port)
    await isStuck(served)
    expect((await read(socket, 1, LARGE))[0]?.equals(body.bytes)).toBe(true)
  })

  it('arrives whole if its file is truncated, removed or released in the middle', async () => {
    const body = await bodyOf(LARGE)
    const served = await serve(body)
    const socket = await readsNothing(served.port)
    await isStuck(served)
    await truncate(body.path, 0)
    await rm(body.path)
    sendfile.release(body.file)
    expect((await read(socket, 1, LARGE))[0]?.equals(body.bytes)).toBe(true)
  })

  it('arrives whole at a client that ends its own side at once', async () => {
    const body = await bodyOf(LARGE)
    const served = await serve(body)
    const socket = await readsNothing(served.port)
    await isStuck(served)
    socket.end()
    expect((await read(socket, 1, LARGE))[0]?.equals(body.bytes)).toBe(true)
  })

  it('ends where it is when the server closes its connections', async () => {
    const body = await bodyOf(LARGE)
    const served = await serve(body)
    const socket = await readsNothing(served.port)
    await isStuck(served)
    served.closeAll()
    let size = 0
    for await (const chunk of socket) size += chunk.length
    expect(size).toBeLessThan(LARGE)
    expect(size).toBeGreaterThanOrEqual(served.taken[0] ?? LARGE)
  })

  it('keeps its order among pipelined requests of one connection', async () => {
    const body = await bodyOf(700_000)
    const served = await serve(body)
    const socket = await dial(served.port)
    socket.write(REQUEST.repeat(5))
    const bodies = await read(socket, 5, body.bytes.length)
    expect(bodies.map((each) => each.equals(body.bytes))).toEqual([true, true, true, true, true])
    expect(served.taken[0]).toBeGreaterThan(0)
  })

  it('is whole before a connection for a single request ends', async () => {
    const body = await bodyOf(LARGE)
    const served = await serve(body)
    const socket = await dial(served.port)
    socket.write('GET / HTTP/1.0\r\n\r\n')
    const all = await buffer(socket)
    expect(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(body.bytes)).toBe(true)
  })

  it('reaches no other client while connections open and close', async () => {
    const body = await bodyOf(3_000_000)
    const served = await serve(body)
    const stays = async (): Promise<boolean[]> => {
      const socket = await dial(served.port)
      const all: boolean[] = []
      for (let times = 0; times < 3; times++) {
        socket.write(REQUEST)
        all.push(...(await read(socket, 1, body.bytes.length)).map((each) => each.equals(body.bytes)))
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
})

describe.runIf(native !== null)('the addon', () => {
  const sendfile = native as Sendfile
  const descriptors = (): number => readdirSync('/proc/self/fd').length

  it('sends only what it holds unchanged, and only to sockets that do not block', async () => {
    const path = join(folder, 'held')
    await writeFile(path, 'x'.repeat(100))
    const fd = openSync(path, 'r+')
    onTestFinished(() => closeSync(fd))
    const file = sendfile.hold(fd, 100)
    expect(sendfile.hold(fd, 99)).toBe(0)
    expect(sendfile.send(fd, 'x', file, 100)).toBe(-22)
    writeSync(fd, 'longer'.repeat(30))
    expect(sendfile.send(fd, 'x', file, 100)).toBe(-116)
    sendfile.release(file)
    expect(sendfile.send(fd, 'x', file, 100)).toBe(-9)
  })

  it('closes released files, and never reuses the number of one', async () => {
    const path = join(folder, 'many')
    await writeFile(path, 'x')
    const fd = openSync(path, 'r')
    onTestFinished(() => closeSync(fd))
    const before = descriptors()
    const files = Array.from({ length: 50 }, () => sendfile.hold(fd, 1))
    expect(descriptors()).toBe(before + 50)
    for (const file of [...files, ...files]) sendfile.release(file)
    expect(descriptors()).toBe(before)
    const again = sendfile.hold(fd, 1)
    expect(files).not.toContain(again)
    sendfile.release(again)
  })

  it('refuses invalid arguments', async () => {
    const path = join(folder, 'bounds')
    await writeFile(path, 'x'.repeat(100))
    const fd = openSync(path, 'r')
    onTestFinished(() => closeSync(fd))
    const file = sendfile.hold(fd, 100)
    onTestFinished(() => sendfile.release(file))
    const wrong: [number, unknown, number, number][] = [
      [-1, 'x', file, 1],
      [fd, 7, file, 1],
      [fd, '', file, 1],
      [fd, 'x'.repeat(8193), file, 1],
      [fd, 'x', 0, 1],
      [fd, 'x', file, 0],
      [fd, 'x', file, 101],
    ]
    for (const [socket, head, ...rest] of wrong) {
      expect(() => sendfile.send(socket, head as string, ...rest)).toThrow(TypeError)
    }
    expect(() => (sendfile.hold as (fd: unknown) => number)('3')).toThrow(TypeError)
  })

  it('is used only if it is there and works', async () => {
    expect((await openSendfile(sendfile)).ok).toBe(true)
    expect((await openSendfile(null)).ok).toBe(false)
    const others: Sendfile['send'][] = [
      () => -38,
      (socket, head, file, length) => sendfile.send(socket, head, file, length) - 1,
      (socket, head, file, length) => sendfile.send(socket, head.toLowerCase(), file, length),
    ]
    for (const send of others) expect((await openSendfile({ ...sendfile, send })).ok).toBe(false)
  })
})
