import { once } from 'node:events'
import { hostname } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { RawConnection } from '../support/rawConnection.ts'
import { command, endServers, newDirectory, serve } from './cliProcess.ts'

afterAll(endServers)

test('sluice node drain ends the only server of a data directory, which cluster status shows until then', async () => {
  const data = newDirectory()
  const server = await serve(['--data', data])
  const status = async () => JSON.parse((await command(['cluster', 'status', '--data', data, '--json'])).stdout)
  const [node, ...others] = await status()
  expect(others).toEqual([])
  const nothing = { publishers: 0, viewers: 0, feeds: 0 }
  expect(node).toMatchObject({ ...nothing, state: 'serving', version: expect.any(String), pid: expect.any(Number) })
  expect(node.leaseAgeSeconds).toBeLessThan(15)
  const table = (await command(['cluster', 'status', '--data', data])).stdout
  const [headings, row] = table.split('\n').map((line) => line.split(/ {2,}/))
  expect([headings?.[1], row?.[1]]).toEqual(['host', hostname()])

  const ran = await command(['node', 'drain', '--data', data, '--wait'])
  expect([ran.status, ran.stdout]).toEqual([0, `Node ${node.id} has ended.\n`])
  expect(await server.ended).toBe(0)
  expect(await status()).toEqual([])
  const again = await command(['node', 'drain', '--data', data])
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining(`no server runs on ${data}`)])
})

test('sluice node drain --wait returned while its server was still answering, and had its ports and its directory', async () => {
  const data = newDirectory()
  const server = await serve(['--data', data], { SLUICE_SERVER_SHUTDOWN_GRACE_SECONDS: '2' })
  const { stdout: secret } = await command(['secret', 'create', '--name', 'slow', '--data', data])
  const { socket } = await RawConnection.open(server.port)
  const asked = once(socket, 'data')
  const head = [
    'Host: a',
    `Authorization: Bearer ${secret.trim()}`,
    'Content-Type: application/json',
    'Content-Length: 9',
  ]
  socket.write(`POST /api/publish_token HTTP/1.1\r\n${head.join('\r\n')}\r\nExpect: 100-continue\r\n\r\n{`)
  await asked
  expect((await command(['node', 'drain', '--data', data, '--wait'])).status).toBe(0)
  expect(await Promise.race([server.ended, Promise.resolve('it still runs')])).toBe(0)
})

test.skipIf(process.platform === 'win32')('SIGUSR2 drains as well', async () => {
  const server = await serve(['--data', newDirectory()])
  server.signal('SIGUSR2')
  expect(await server.ended).toBe(0)
  expect(server.log()).toContain('"reason":"drained"')
})
