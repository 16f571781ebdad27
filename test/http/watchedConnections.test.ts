import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { loadSplice, type Splice } from '../../src/base/splice.ts'
import { HttpConnections } from '../../src/edge/http/connections.ts'
import { passedBytes } from '../../src/edge/http/passedBytes.ts'
import type { ViewerAnswer } from '../../src/edge/http/viewerRequest.ts'
import { WatchedConnections, type WatchedPath } from '../../src/edge/http/watchedConnections.ts'
import { RawConnection, requestFor } from '../support/rawConnection.ts'
import { collectGarbage, segmentOf } from '../support/splice.ts'
import { until } from '../support/until.ts'

const native = loadSplice() ?? undefined

/** More than the buffers of a connection whose client does not read. */
const LARGE = 16 * 1024 * 1024

const headOf = (body: Buffer): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nWho: addon\r\n\r\n`

interface Served {
  readonly port: number
  readonly server: Server
  readonly watched: WatchedConnections
  /** What Node was asked for. */
  readonly byNode: string[]
  /** Connections, in their order. */
  readonly sockets: Socket[]
  /** Answers that the addon began, in their order. */
  readonly answers: ViewerAnswer[]
  /** Resolves when Node has no answer under way: only then does the addon read again. */
  readonly quiet: () => Promise<true>
}

interface Options {
  readonly addon?: Splice | undefined
  readonly bodies?: Readonly<Record<string, Buffer>>
  readonly connections?: HttpConnections
}

/** Serves these bodies by the addon, as far as it may, and for all else names what Node was asked for. */
async function serve({ addon = native, bodies = {}, connections }: Options = {}): Promise<Served> {
  const [byNode, sockets, answers]: [string[], Socket[], ViewerAnswer[]] = [[], [], []]
  let underWay = 0
  const bodyAt = (url: string | undefined): Buffer | undefined => bodies[url?.replace('/hls/', '') ?? '']
  const path: WatchedPath = ({ url }, answer) => {
    const body = bodyAt(url)
    if (body === undefined) return null
    answers.push(answer)
    return { head: headOf(body), body }
  }
  const watched = new WatchedConnections(addon ?? expect.fail('there is no addon'), {
    clock: new ManualClock(),
    connections: connections ?? { begin: () => undefined },
    path,
  })
  const server = createServer((request, response) => {
    underWay += 1
    connections?.begin(request.socket, response)
    watched.requested(request, response)
    response.on('close', () => (underWay -= 1))
    byNode.push(request.url ?? '')
    response.end(bodyAt(request.url) ?? `Node: ${request.url}`)
  })
  connections?.attach(server)
  watched.attach(server)
  server.on('connection', (socket: Socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
    watched.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, server, watched, byNode, sockets, answers, quiet: () => until(() => underWay === 0) }
}

/** A connection whose first request Node has answered, so that the addon may answer the next one. */
async function known({ port, quiet }: Served): Promise<RawConnection> {
  const client = await RawConnection.open(port)
  await client.ask('/hls/first')
  await quiet()
  return client
}

const isOfAddon = ({ head }: { head: string }): boolean => head.includes('Who: addon')

describe.runIf(native)('a connection that the addon watches', () => {
  const splice = native as Splice
  const small = segmentOf(splice, 100_000)
  const init = Buffer.from('a short one')
  const bodies = { small: small.joined, init }

  /** A client that does not read, and of whose answer the kernel has taken a part. */
  const stuck = async (options: Options = {}) => {
    const large = segmentOf(splice, LARGE)
    const served = await serve({ ...options, bodies: { ...bodies, large: large.joined } })
    const client = await known(served)
    client.socket.pause().write(requestFor('/hls/large'))
    await until(() => served.watched.answered === 1)
    const [answer = expect.fail('no answer')] = served.answers
    expect(answer.writableFinished).toBe(false)
    return { served, client, answer, bytes: large.bytes }
  }

  it('gets its answers from the addon and from Node in turn, each whole', async () => {
    const step = fc.constantFrom('small', 'init', 'other', 'HEAD', 'range', 'page')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const served = await serve({ bodies })
        const client = await RawConnection.open(served.port)
        let isNodes = false
        for (const [at, name] of steps.entries()) {
          const isPiece = name === 'small' || name === 'init'
          if (isPiece) {
            const answer = await client.ask(`/hls/${name}`)
            expect(answer.body.equals(bodies[name])).toBe(true)
            expect(isOfAddon(answer)).toBe(at > 0 && !isNodes)
          } else if (name === 'HEAD') expect((await client.ask('/hls/small', {}, 'HEAD')).status).toBe(200)
          else if (name === 'range') {
            expect(isOfAddon(await client.ask('/hls/init', { range: 'bytes=0-1' }))).toBe(false)
          } else {
            const path = name === 'page' ? '/page' : '/hls/other'
            expect(String((await client.ask(path)).body)).toBe(`Node: ${path}`)
            // Requests outside of media may come with anything.
            isNodes ||= name === 'page'
          }
          await served.quiet()
        }
        client.socket.destroy()
      }),
      { numRuns: 40 },
    )
  })

  it('gets its answers in order, wherever its requests begin and end', async () => {
    const names = fc.array(fc.constantFrom('small', 'init', 'other'), { minLength: 1, maxLength: 24 })
    await fc.assert(
      fc.asyncProperty(names, fc.array(fc.nat(2000), { maxLength: 6 }), async (asked, cuts) => {
        const served = await serve({ bodies })
        const client = await known(served)
        const text = asked.map((name, at) => requestFor(`/hls/${name}`, { at: `${at}` })).join('')
        const ends = [...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length]
        for (const [at, end] of ends.entries()) {
          client.socket.write(text.slice(ends[at - 1] ?? 0, end))
          await new Promise(setImmediate)
        }
        for (const name of asked) {
          const { body } = await client.answer()
          expect(body.equals(name === 'other' ? Buffer.from('Node: /hls/other') : bodies[name as 'init'])).toBe(true)
        }
        client.socket.destroy()
      }),
      { numRuns: 60 },
    )
  })

  it('leaves a request to Node of which Node has read the beginning, whatever the rest looks like', async () => {
    const served = await serve({ bodies })
    const client = await known(served)
    const whole = requestFor('/hls/other', { inside: requestFor('/hls/init').trimEnd() })
    const cut = whole.indexOf('GET', 1)
    client.socket.write(requestFor('/hls/first') + whole.slice(0, cut))
    await client.answer()
    await served.quiet()
    client.socket.write(whole.slice(cut))
    expect(String((await client.answer()).body)).toBe('Node: /hls/other')
  })

  it('may send a request byte by byte', async () => {
    const served = await serve({ bodies })
    const client = await known(served)
    client.socket.setNoDelay(true)
    const answer = client.answer()
    for (const letter of requestFor('/hls/small')) {
      client.socket.write(letter)
      await new Promise(setImmediate)
    }
    expect((await answer).body.equals(small.bytes)).toBe(true)
    expect((await client.ask('/hls/small')).body.equals(small.bytes)).toBe(true)
  })

  it('takes a large segment slowly, while others are served and none gets its bytes', async () => {
    const { served, client, answer, bytes } = await stuck()
    const other = await known(served)
    for (let times = 0; times < 20; times++) {
      expect((await other.ask('/hls/small')).body.equals(small.bytes)).toBe(true)
    }
    expect(answer.writableFinished).toBe(false)
    client.socket.resume()
    expect((await client.answer()).body.equals(bytes)).toBe(true)
    await until(() => answer.writableFinished)
    expect(isOfAddon(await client.ask('/hls/small'))).toBe(true)
  })

  it('counts every byte in and out', async () => {
    const { served, client, bytes } = await stuck()
    const [socket = expect.fail()] = served.sockets
    client.socket.resume()
    await client.answer()
    await client.ask('/hls/small')
    await client.ask('/hls/other')
    await served.quiet()
    const sizes = [bytes, small.bytes].map((body) => headOf(body).length + body.length)
    const { in: read, out } = passedBytes(socket)
    const asked = ['first', 'large', 'small', 'other'].map((name) => requestFor(`/hls/${name}`).length)
    const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0)
    expect([read, out]).toEqual([sum(asked), sum(sizes) + socket.bytesWritten])
    expect(socket.bytesRead).toBe(sum([asked[0] ?? 0, asked[3] ?? 0]))
  })

  it('has a request under way while it takes an answer, so that no new connection closes it', async () => {
    const connections = new HttpConnections({ max: 2, maxPerAddress: 0 }, () => false)
    const { served, client, bytes } = await stuck({ connections })
    const idle = await known(served)
    const third = await known(served)
    await idle.ended()
    expect(connections.counts).toMatchObject({ gaveWay: 1, refused: 0 })
    client.socket.resume()
    expect((await client.answer()).body.equals(bytes)).toBe(true)
    await until(() => served.answers[0]?.writableFinished === true)
    const fourth = await known(served)
    expect((await fourth.ask('/hls/small')).status).toBe(200)
    expect(connections.counts.gaveWay).toBe(2)
    third.socket.destroy()
  })

  it.each<[string, (client: RawConnection, answer: ViewerAnswer) => void]>([
    ['its client leaves', ({ socket }) => socket.resetAndDestroy()],
    ['its session is cut', (_client, answer) => answer.destroy()],
  ])('ends its answer when %s, and leaves nothing behind', async (_when, leave) => {
    const { served, client, answer } = await stuck()
    const closed = vi.fn()
    answer.on('close', () => closed(answer.writableFinished))
    leave(client, answer)
    await until(() => closed.mock.calls.length > 0)
    expect(closed.mock.calls).toEqual([[false]])
    const [socket = expect.fail()] = served.sockets
    expect(passedBytes(socket).out).toBeGreaterThan(0)
    expect(passedBytes(socket).out).toBeLessThan(LARGE)
    await served.watched.drain()
  })

  it('keeps the memory of an answer until it has left, and no longer', async () => {
    let segment: Buffer | null = segmentOf(splice, LARGE).joined
    const bytes = Buffer.from(segment)
    const held = new WeakRef(segment)
    const changing: Record<string, Buffer> = { large: segment }
    const served = await serve({ bodies: changing })
    const client = await known(served)
    client.socket.pause().write(requestFor('/hls/large'))
    await until(() => served.watched.answered === 1)
    delete changing['large']
    segment = null
    for (let times = 0; times < 5; times++) {
      collectGarbage()
      await new Promise(setImmediate)
    }
    client.socket.resume()
    expect((await client.answer()).body.equals(bytes)).toBe(true)
    await until(() => {
      collectGarbage()
      return held.deref() === undefined
    })
  })

  it('gets its answer whole before the server closes, and only Node answers from then on', async () => {
    const { served, client, bytes } = await stuck()
    const other = await known(served)
    const drained = vi.fn()
    void served.watched.drain().then(drained)
    expect(String((await other.ask('/hls/other')).body)).toBe('Node: /hls/other')
    expect(isOfAddon(await other.ask('/hls/small'))).toBe(false)
    expect(isOfAddon(await (await known(served)).ask('/hls/small'))).toBe(false)
    expect(drained).not.toHaveBeenCalled()
    client.socket.resume()
    expect((await client.answer()).body.equals(bytes)).toBe(true)
    await until(() => drained.mock.calls.length > 0)
  })

  it('is cut when the server closes all connections', async () => {
    const { served, client } = await stuck()
    const drained = served.watched.drain()
    served.server.closeAllConnections()
    await drained
    client.socket.resume()
    await expect(client.answer()).rejects.toThrow('the connection ended after')
  })

  it('stays open while it is used, and has no time limit while it takes an answer', async () => {
    const { served, client } = await stuck()
    const [socket = expect.fail()] = served.sockets
    expect(socket.timeout).toBe(0)
    client.socket.resume()
    await client.answer()
    await until(() => socket.timeout === served.server.keepAliveTimeout + 5000)
    expect(isOfAddon(await client.ask('/hls/small'))).toBe(true)
    await client.ask('/hls/other')
    await served.quiet()
    expect(socket.timeout).toBeGreaterThan(0)
  })

  it("is Node's when the addon cannot watch it", async () => {
    const broken: Partial<Splice>[] = [
      { watch: () => null },
      { add: () => -24 },
      { arm: (watch, id, isArmed) => (isArmed ? -2 : splice.arm(watch, id, isArmed)) },
    ]
    for (const over of broken) {
      const served = await serve({ addon: { ...splice, ...over }, bodies })
      const client = await known(served)
      for (let times = 0; times < 3; times++) {
        const answer = await client.ask('/hls/small')
        expect([isOfAddon(answer), answer.body.equals(small.bytes)]).toEqual([false, true])
      }
    }
  })

  it('ends when the addon could not answer', async () => {
    const served = await serve({ addon: { ...splice, answer: () => -32 }, bodies })
    const client = await known(served)
    client.socket.write(requestFor('/hls/small'))
    await client.ended()
    await served.watched.drain()
    expect(served.answers.map(({ writableFinished }) => writableFinished)).toEqual([false])
  })

  it('ends with its client, and its place is used again', async () => {
    const served = await serve({ bodies })
    for (let times = 0; times < 300; times++) {
      const client = await RawConnection.open(served.port)
      if (times % 3 > 0) await client.ask('/hls/init')
      if (times % 3 > 1) expect((await client.ask('/hls/init')).body.equals(init)).toBe(true)
      if (times % 2 > 0) client.socket.resetAndDestroy()
      else client.socket.destroy()
    }
    const ids: number[] = []
    const counted = await serve({
      addon: {
        ...splice,
        add(watch, socket) {
          ids.push(splice.add(watch, socket))
          return ids.at(-1) ?? -1
        },
      },
      bodies,
    })
    for (let times = 0; times < 200; times++) {
      const client = await RawConnection.open(counted.port)
      await client.ask('/hls/init')
      client.socket.destroy()
      await until(() => counted.sockets.at(-1)?.destroyed === true)
    }
    expect(Math.max(...ids)).toBeLessThan(128)
  })

  it("is Node's for good after a request outside of media, and its later events reach no other connection", async () => {
    const served = await serve({ bodies })
    const times = [...Array(100).keys()]
    const left = await Promise.all(times.map(() => known(served)))
    for (const client of left) await client.ask('/page')
    await served.quiet()
    // These have the places of the others.
    const others = await Promise.all(times.map(() => known(served)))
    const answers = others.map((client, at) => {
      left[at]?.socket.resetAndDestroy()
      return client.ask('/hls/small')
    })
    for (const answer of await Promise.all(answers)) {
      expect(isOfAddon(answer)).toBe(true)
      expect(answer.body.equals(small.joined)).toBe(true)
    }
  })

  it('ends its own side, and still gets its answer', async () => {
    const served = await serve({ bodies })
    const client = await known(served)
    client.socket.end(requestFor('/hls/small'))
    expect((await client.answer()).body.equals(small.bytes)).toBe(true)
    await client.ended()
  })

  it('survives the thread of its server', async () => {
    for (let times = 0; times < 3; times++) {
      const worker = new Worker(new URL('./watchingWorker.ts', import.meta.url))
      const [port] = (await once(worker, 'message')) as [number]
      const client = await RawConnection.open(port)
      await client.ask('/hls/large')
      client.socket.pause().write(requestFor('/hls/large'))
      await once(worker, 'message')
      await worker.terminate()
      client.socket.resume()
      await expect(client.answer()).rejects.toThrow('the connection ended after')
    }
  })
})
