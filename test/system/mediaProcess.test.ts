import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { TestPublisher } from '../support/rtcPeer.ts'
import { newDirectory, sluice } from './cliProcess.ts'

const dir = newDirectory()
afterAll(() => rmSync(dir, { recursive: true }))

/** Whatever `node` the shell finds: with an older one, Sluice runs in a child of the one that was started. */
test('a server that was started as npm does takes a broadcast: its media process is not given what was meant for it', async () => {
  const program = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url))
  const env = { ...process.env, SLUICE_RTMP_PORT: '0', SLUICE_WEBRTC_PORT: '0', SLUICE_SERVER_HOST: '127.0.0.1' }
  const server = spawn('node', [program, 'serve', '--data', dir, '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
  while (!log.includes('"ready"')) await once(server.stdout, 'data')
  const url = /"url":"([^"]+)"/.exec(log)?.[1] ?? ''
  const { stdout } = await sluice(['token', 'create', '--label', 'demo', '--stream', 'show', '--data', dir])
  const publisher = new TestPublisher()
  const answer = await fetch(`${url}/api/whip/show`, {
    method: 'POST',
    headers: { 'content-type': 'application/sdp', authorization: `Bearer ${stdout.trim()}` },
    body: await publisher.offer(),
  })
  expect(answer.status).toBe(201)
  await publisher.accept(await answer.text())
  expect(publisher.pc.connectionState).toBe('connected')
  await publisher.close()
  server.kill('SIGTERM')
  const [status] = (await once(server, 'exit')) as [number | null]
  expect(status).toBe(0)
})
