import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { connectionsWithin } from '../../src/config/openFiles.ts'
import { HttpConnections } from '../../src/edge/http/connections.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { draining } from '../support/draining.ts'
import { makeToken } from '../support/testNode.ts'
import { pace, until } from '../support/until.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

const MAX = 20
const MAX_PER_ADDRESS = 8
/** Connections from this address belong to a trusted proxy. */
const PROXY = '127.0.0.9'

let sluice: RunningApp
const engine = new ScriptedEngine()
const open: Socket[] = []

beforeAll(async () => {
  const server = { maxConnections: MAX, maxConnectionsPerAddress: MAX_PER_ADDRESS, trustedProxies: [PROXY] }
  sluice = await runApp({ engine, flags: { server } })
})
afterAll(() => sluice.close())
afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy()
  await until(async () => /sluice_http_connections 1\n/.test(await scrape()))
})

async function from(localAddress: string): Promise<Socket> {
  const port = Number(new URL(sluice.base).port)
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  open.push(socket)
  await once(socket, 'connect')
  return socket
}

/** The answer to a request on a keep-alive connection; '' when it is closed. */
async function ask(socket: Socket, path = '/healthz', headers = ''): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`)
  const [data] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown]
  return Buffer.isBuffer(data) ? data.toString() : ''
}

/** Closes every connection. */
const closing: Parameters<typeof makeToken>[0] = {
  call: (method, path, body) => sluice.call(method, path, body, { connection: 'close' }),
}

const isClosed = (socket: Socket) => socket.destroyed || socket.closed
const scrape = async () => ask(await from('127.0.0.99'), '/metrics', 'Connection: close\r\n')

const times = async <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> => {
  const made: T[] = []
  for (let at = 0; at < count; at += 1) made.push(await make(at))
  return made
}

describe('HTTP connections', () => {
  test('that are idle give way to new ones, the longest idle first, whatever their address', async () => {
    const [first, second] = await times(2, () => from('127.0.0.2'))
    const crowd = await times(MAX - 2, (at) => from(`127.0.1.${at}`))
    expect(await ask(first!)).toContain('200 OK')
    const fresh = await from('127.0.0.3')
    expect(await ask(fresh)).toContain('200 OK')
    await until(() => isClosed(second!))
    expect([first!, ...crowd].filter(isClosed)).toEqual([])
    expect(await ask(first!)).toContain('200 OK')
  })

  test("of one address have a lower limit, and give way to one another; a proxy's connections have no such limit", async () => {
    const [other] = await times(1, () => from('127.0.0.3'))
    const all = await times(MAX_PER_ADDRESS + 3, () => from('127.0.0.2'))
    await until(() => all.slice(0, 3).every(isClosed))
    expect([other!, ...all.slice(3)].filter(isClosed)).toEqual([])
    const proxied = await times(MAX_PER_ADDRESS + 3, () => from(PROXY))
    for (const socket of proxied) expect(await ask(socket)).toContain('200 OK')
  })

  test('with a request under way never give way: a new one is refused, and accepted again afterwards', async () => {
    const answered = Promise.withResolvers<void>()
    engine.negotiated = () => answered.promise.then(() => ({ ok: true, answer: 'v=0\r\n', etag: 'a' }))
    const { token } = await makeToken(closing, 'publish')
    const body = 'v=0\r\n'
    const headers = `Authorization: Bearer ${token}\r\nContent-Type: application/sdp\r\nContent-Length: ${body.length}\r\n`
    const busy = await times(MAX_PER_ADDRESS, () => from('127.0.0.2'))
    const answers = busy.map((socket, at) => {
      socket.write(`POST /api/whip/show${at} HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`)
      return once(socket, 'data')
    })
    await until(() => engine.asked.length === MAX_PER_ADDRESS)
    const turnedAway = await from('127.0.0.2')
    await until(() => isClosed(turnedAway))
    expect(await ask(await from('127.0.0.4'))).toContain('200 OK')
    answered.resolve()
    expect((await Promise.all(answers)).map(([data]) => String(data).slice(0, 12))).toEqual(
      busy.map(() => 'HTTP/1.1 201'),
    )
    expect(await ask(await from('127.0.0.2'))).toContain('200 OK')
    const metrics = await scrape()
    expect(metrics).toMatch(/sluice_http_connections_closed_total\{reason="refused"\} 1/)
    expect(metrics).toMatch(/sluice_http_connections_closed_total\{reason="gave_way"\} [1-9]/)
  })

  test('end with their answers when a node that drains has nothing left, and before that they stay', async () => {
    const { sessions } = sluice.app.ctx
    const socket = await from('127.0.0.2')
    sessions.drain = draining()
    expect(await ask(socket)).toContain('Connection: keep-alive')
    sessions.drain = draining({ isEnding: true })
    expect(await ask(socket)).toContain('Connection: close')
    await until(() => isClosed(socket))
    sessions.drain = null
  })

  test('of clients that ask often end with their next answers when the server stops, which waits for them', async () => {
    const stopping = await runApp({ oftenMs: 60_000 })
    const socket = connect(Number(new URL(stopping.base).port), '127.0.0.1')
    expect(await ask(socket)).toContain('Connection: keep-alive')
    const stopped = stopping.close()
    let answer: string
    do {
      await pace(300)
      answer = await ask(socket, '/readyz')
    } while (answer.includes('Connection: keep-alive'))
    expect(answer).toContain('503 Service Unavailable')
    expect(answer).toContain('Connection: close')
    expect(answer).toContain('this server stops')
    await until(() => isClosed(socket))
    await stopped
  })

  test('leave publishers their own share, however many there are', async () => {
    await times(3 * MAX, (at) => from(`127.0.1.${at}`))
    const { token } = await makeToken(closing, 'publish')
    const publisher = await RtmpClient.open(sluice.rtmpPort ?? 0)
    await publisher.publish('v2/pub', `show?token=${token}`)
    publisher.socket.destroy()
  })
})

test('the end of connections waits for clients that ask often, for a bounded time, and for no others', async () => {
  const clock = new ManualClock()
  const connections = new HttpConnections({ max: 10, maxPerAddress: 0 }, () => false, clock)
  const server = createServer((request, response) =>
    connections.enter(request, response, () => {
      response.shouldKeepAlive = !connections.areEnding
      response.end('x')
    }),
  )
  connections.attach(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const client = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await ask(socket)
    return socket
  }
  await client()
  clock.advance(1_000)
  // It has asked long ago.
  await connections.settled(1_000)
  const [one, other] = [await client(), await client()]
  connections.end()
  const settled: string[] = []
  const settle = (name: string) => void connections.settled(1_000).then(() => settled.push(name))
  settle('soon')
  expect(await ask(one)).toContain('Connection: close')
  expect(settled).toEqual([])
  expect(await ask(other)).toContain('Connection: close')
  await until(() => connections.size === 1)
  clock.advance(50)
  await until(() => settled.includes('soon'))
  // Some that have not asked yet.
  const opened = async (size: number) => {
    connect((server.address() as AddressInfo).port, '127.0.0.1')
    await until(() => connections.size === size)
  }
  await opened(2)
  clock.advance(949)
  settle('late')
  await opened(3)
  expect(settled).toEqual(['soon'])
  clock.advance(50)
  await until(() => settled.includes('late'))
})

test('with few descriptors HTTP gets half and RTMP at most a quarter; with many both get their configured limits', () => {
  const loaded = loadConfig({ env: {}, flags: { data: { dir: 'data' } } })
  if (!loaded.ok) throw new Error('no configuration')
  expect(connectionsWithin(loaded.value, null)).toEqual({ http: 20_000, rtmp: 1000 })
  expect(connectionsWithin(loaded.value, 1024)).toEqual({ http: 512, rtmp: 256 })
  expect(connectionsWithin(loaded.value, 20_000)).toEqual({ http: 17_822, rtmp: 1000 })
  expect(connectionsWithin(loaded.value, 1_048_576)).toEqual({ http: 20_000, rtmp: 1000 })
})
