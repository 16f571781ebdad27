import { expect, test } from 'vitest'
import { ConfigHolder, liveView } from '../../src/config/holder.ts'
import { loadConfig } from '../../src/config/load.ts'
import { allKeys, type Config, type PartialConfig } from '../../src/config/schema.ts'

function configOf(flags: PartialConfig): Config {
  const config = loadConfig({ directory: '/nowhere', env: {}, flags })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  return config.value
}

test('a reload takes over the keys that apply at run time, and keeps and names the others, each time', () => {
  const live = new ConfigHolder(configOf({}))
  const first = live.current
  const next = configOf({ log: { level: 'debug' }, server: { port: 9000, trustedProxies: ['10.0.0.0/8'] } })
  const changes = {
    applied: [
      { key: 'server.trustedProxies', from: [], to: ['10.0.0.0/8'] },
      { key: 'log.level', from: 'info', to: 'debug' },
    ],
    needRestart: [{ key: 'server.port', from: 8080, to: 9000 }],
  }
  expect(live.compare(next)).toEqual(changes)
  expect(live.current).toBe(first)
  expect(live.replace(next)).toEqual(changes)
  expect(live.current).toMatchObject({
    log: { level: 'debug' },
    server: { port: 8080, trustedProxies: ['10.0.0.0/8'] },
  })
  expect(live.replace(next)).toEqual({ applied: [], needRestart: changes.needRestart })
  expect(first.log.level).toBe('info')
  expect(Object.isFrozen(live.current) && Object.isFrozen(live.current.server.trustedProxies)).toBe(true)
})

test('changes never have the value of a secret', () => {
  const live = new ConfigHolder(configOf({ metrics: { secret: 'scrape-me-if-you-can' } }))
  const changes = live.replace(
    configOf({ metrics: { secret: 'another-secret-of-mine' }, storage: { url: 'postgres://u:p@h/d' } }),
  )
  expect(changes).toEqual({
    applied: [{ key: 'metrics.secret', from: '(secret)', to: '(secret)' }],
    needRestart: [{ key: 'storage.url', from: '(secret)', to: '(secret)' }],
  })
})

test('neither changes nor lists nor problems have the credential of a TURN server', () => {
  const turn = (credential: string) =>
    configOf({ webrtc: { iceServers: [`turn:turn.example.com:3478 relay ${credential}`] } })
  const live = new ConfigHolder(turn('first-credential'))
  const changes = live.replace(turn('other-credential'))
  const shown = ['turn:turn.example.com:3478 (secret)']
  expect(changes.applied).toEqual([{ key: 'webrtc.iceServers', from: shown, to: shown }])
  expect(live.list().find(({ key }) => key === 'webrtc.iceServers')?.value).toEqual(shown)
  const wrong = loadConfig({ env: {}, flags: { webrtc: { iceServers: ['turn:turn.example.com relay half whole'] } } })
  expect(JSON.stringify(wrong)).toContain('turn:turn.example.com (secret)')
  expect(JSON.stringify(wrong)).not.toContain('whole')
})

test('a list has every key, and the origins of those that a reload has applied', () => {
  const live = new ConfigHolder(configOf({ server: { port: 9000 } }))
  live.replace(configOf({ log: { level: 'debug' } }))
  const listed = new Map(live.list().map((key) => [key.key, key]))
  expect(listed.size).toBe(allKeys().length)
  expect(listed.get('log.level')).toMatchObject({ value: 'debug', origin: { kind: 'flag' }, needsRestart: false })
  expect(listed.get('server.port')).toMatchObject({ value: 9000, origin: { kind: 'flag' }, needsRestart: true })
  // It would need a restart, because this server speaks no TLS.
  expect(listed.get('tls.certFile')).toMatchObject({ origin: null, needsRestart: true })
})

test('a view has the present values, under the names of the first', () => {
  const live = new ConfigHolder(configOf({}))
  const view = liveView(() => live.current.sessions)
  expect(view).toEqual(live.current.sessions)
  live.replace(configOf({ sessions: { maxViewersPerAddress: 3 } }))
  expect(view.maxViewersPerAddress).toBe(3)
})
