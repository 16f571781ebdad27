import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redirectServer } from '../../src/edge/http/redirect.ts'
import { RawConnection, requestFor } from '../support/rawConnection.ts'
import { redirected } from '../support/redirected.ts'

const NAMES = ['live.example', '*.Nodes.example', '192.0.2.7', '0:0:0:0:0:0:0:1']
const server = redirectServer({ httpsPort: () => 443, names: () => NAMES })

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

const ask = (host: string) => redirected((server.address() as AddressInfo).port, host, { path: '/watch/a?b=1' })

test.each([
  ['live.example', 'live.example'],
  ['LIVE.example:80', 'live.example'],
  ['one.nodes.example', 'one.nodes.example'],
  ['192.0.2.7:8000', '192.0.2.7'],
  ['[::1]', '[::1]'],
])('a request for %s is sent to https', async (host, target) => {
  expect(await ask(host)).toEqual({ status: 308, location: `https://${target}/watch/a?b=1` })
})

test.each([
  'evil.example',
  'live.example.evil.example',
  'evil-live.example',
  'nodes.example',
  'a.b.nodes.example',
  '.nodes.example',
  '192.0.2.8',
  '[::2]',
])('a request for %s, which is another host, is sent nowhere', async (host) => {
  expect(await ask(host)).toEqual({ status: 421, location: undefined })
})

test.each(['*.nodes.example', 'evil.example/', 'live.example@evil.example', 'live.example:80:80', '[::1', 'a b'])(
  'a request that names no host (%j) is refused',
  async (host) => {
    expect(await ask(host)).toEqual({ status: 400, location: undefined })
  },
)

test('a body in chunks of a byte is read once in each turn of the event loop', async () => {
  const READ = 65_536
  const [client, [accepted]] = await Promise.all([
    RawConnection.open((server.address() as AddressInfo).port),
    once(server, 'connection') as Promise<[Socket]>,
  ])
  const head = requestFor('/', { 'transfer-encoding': 'chunked' }, 'POST')
  const body = '1\r\nx\r\n'.repeat(200_000)
  client.socket.on('error', () => undefined).write(`${head}${body}`)
  const inTurns: number[] = []
  for (let before = 0; !accepted.destroyed && before < head.length + body.length; ) {
    await new Promise((resolve) => setImmediate(resolve))
    inTurns.push(accepted.bytesRead - before)
    before = accepted.bytesRead
  }
  client.socket.destroy()
  expect(Math.max(...inTurns)).toBeGreaterThan(0)
  expect(Math.max(...inTurns)).toBeLessThanOrEqual(READ)
})
