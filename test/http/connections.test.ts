import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { connectionsWithin } from '../../src/config/openFiles.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { draining } from '../support/draining.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
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
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`)
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

  test('leave publishers their own share, however many there are', async () => {
    await times(3 * MAX, (at) => from(`127.0.1.${at}`))
    const { token } = await makeToken(closing, 'publish')
    const publisher = await RtmpClient.open(sluice.rtmpPort ?? 0)
    await publisher.publish('v2/pub', `show?token=${token}`)
    publisher.socket.destroy()
  })
})

test('with few descriptors HTTP gets half and RTMP at most a quarter; with many both get their configured limits', () => {
  const loaded = loadConfig({ env: {}, flags: { data: { dir: 'data' } } })
  if (!loaded.ok) throw new Error('no configuration')
  expect(connectionsWithin(loaded.value, null)).toEqual({ http: 20_000, rtmp: 1000 })
  expect(connectionsWithin(loaded.value, 1024)).toEqual({ http: 512, rtmp: 256 })
  expect(connectionsWithin(loaded.value, 20_000)).toEqual({ http: 18_270, rtmp: 1000 })
  expect(connectionsWithin(loaded.value, 1_048_576)).toEqual({ http: 20_000, rtmp: 1000 })
})
