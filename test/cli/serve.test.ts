import { expect, it } from 'vitest'
import type { OpenedApp, Serving } from '../../src/cli/host.ts'
import { loadConfig } from '../../src/config/load.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { run } from './fakeHost.ts'

it('goes on when the database is away right after it is ready, until it is asked to stop', async () => {
  const away = () => Promise.reject(new StoreUnavailable('it is away'))
  const read = { accounts: { list: async () => [{ id: 'a' }] }, users: { exist: away }, secrets: { list: away } }
  const calls: string[] = []
  const { promise: stop, resolve } = Promise.withResolvers<string>()
  const flags = { server: { port: 0 }, rtmp: { enabled: false }, log: { level: 'error' as const } }
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
