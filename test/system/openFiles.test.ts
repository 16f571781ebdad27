import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { RtmpClient } from '../media/rtmp/client.ts'
import { command, endServers, newDirectory, serve } from './cliProcess.ts'

const dir = newDirectory()
afterAll(() => {
  endServers()
  rmSync(dir, { recursive: true, force: true })
})

test('idle connections that use every descriptor lock out neither requests nor publishers', async () => {
  const made = await command(['token', 'create', '--label', 'a', '--stream', 'show', '--data', dir])
  const token = made.stdout.trim()
  const server = await serve(['--data', dir], {}, { openFiles: 256 })
  const port = Number(/"port":(\d+),"message":"taking RTMP"/.exec(server.log())?.[1])
  const idle = Array.from({ length: 400 }, (_, at) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: `127.0.1.${at % 50}` })
    return socket.on('error', () => undefined)
  })
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  const answer = await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } })
  expect(answer.status).toBe(200)
  const publisher = await RtmpClient.open(port)
  await publisher.publish('v2/pub', `show?token=${token}`)
  expect(server.log()).toContain('the limit of open files is low')
  for (const socket of [...idle, publisher.socket]) socket.destroy()
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
})
