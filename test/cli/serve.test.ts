import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import type { OpenedApp, Serving } from '../../src/cli/host.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { run } from './fakeHost.ts'

it('goes on when the database is away right after it is ready, until it is asked to stop', async () => {
  const away = () => Promise.reject(new StoreUnavailable('it is away'))
  const read = { accounts: { list: async () => [{ id: 'a' }] }, users: { exist: away }, secrets: { list: away } }
  const calls: string[] = []
  const { promise: stop, resolve } = Promise.withResolvers<string>()
  const flags = {
    server: { port: 0 },
    rtmp: { enabled: false },
    srt: { enabled: false },
    webrtc: { port: 0 },
    log: { level: 'error' as const },
  }
  const config = loadConfig({ directory: '/nowhere', env: {}, flags })
  if (!config.ok) throw new Error('the configuration is wrong')
  const serving: Serving = {
    port: 1,
    reload: () => Promise.reject(new Error('nothing is reloaded')),
    drain: () => Promise.reject(new Error('nothing drains')),
    drained: new Promise(() => undefined),
    stop: async () => void calls.push('stop'),
  }
  const ran = run(['serve'], {
    loadConfig: () => config,
    openApp: async () =>
      ({ config: config.value, ctx: { store: { read } }, close: async () => undefined }) as unknown as OpenedApp,
    startServing: async () => {
      setImmediate(() => {
        calls.push('asked to stop')
        resolve('SIGTERM')
      })
      return serving
    },
    stopRequested: () => stop,
  })
  expect(await ran).toMatchObject({ status: 0 })
  expect(calls).toEqual(['asked to stop', 'stop'])
})

async function refusalOf(flags: PartialConfig): Promise<string> {
  const off = { rtmp: { enabled: false }, srt: { enabled: false }, webrtc: { port: 0 } }
  const server = { host: '127.0.0.1', port: 0 }
  const config = loadConfig({ directory: '/nowhere', env: {}, flags: { server, ...off, ...flags } })
  const { status, stderr } = await run(['serve'], { loadConfig: () => config })
  expect(status).toBe(1)
  return stderr
}

it('is refused before it opens anything when a port is taken, of TCP or UDP, and names the key', async () => {
  const tcp = createServer().listen(0, '127.0.0.1')
  const [udp, media] = [createSocket('udp4').bind(0, '127.0.0.1'), createSocket('udp4').bind(0, '127.0.0.1')]
  await Promise.all([tcp, udp, media].map((socket) => once(socket, 'listening')))
  const taken = { tcp: (tcp.address() as AddressInfo).port, udp: udp.address().port, media: media.address().port }
  const host = '127.0.0.1'
  expect(await refusalOf({ rtmp: { host, port: taken.tcp } })).toContain('choose another with rtmp.port')
  const rtmps = { rtmp: { host, port: 0, tlsPort: taken.tcp }, tls: { selfSigned: true } }
  expect(await refusalOf(rtmps)).toContain('choose another with rtmp.tlsPort')
  const redirect = { tls: { selfSigned: true, redirectPort: taken.tcp } }
  expect(await refusalOf(redirect)).toContain('choose another with tls.redirectPort')
  expect(await refusalOf({ srt: { host, port: taken.udp } })).toContain(
    `sluice: 127.0.0.1 UDP port ${taken.udp} is in use by another process; stop it, or choose another with srt.port`,
  )
  // That of the second media process.
  const webrtc = { host, port: taken.media - 1, processes: 2 }
  expect(await refusalOf({ webrtc })).toContain('choose another with webrtc.port')
  expect(await refusalOf({ webrtc: { port: taken.media, processes: 1 } })).toContain(
    `sluice: UDP port ${taken.media} is in use by another process; stop it, or choose another with webrtc.port`,
  )
  for (const socket of [tcp, udp, media]) socket.close()
})

it('is refused before it opens anything when a file of its certificates cannot be used', async () => {
  const tls = { certFile: '/nowhere/cert.pem', keyFile: '/nowhere/key.pem' }
  expect(await refusalOf({ tls })).toContain('tls.certFile: /nowhere/cert.pem')
  const webhooks = { caFile: '/nowhere/ca.pem' }
  expect(await refusalOf({ webhooks })).toContain('webhooks.caFile: /nowhere/ca.pem does not exist')
})
