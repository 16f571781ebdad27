import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { hostKeyOf } from '../../src/config/dataDirectory.ts'
import { loadConfig } from '../../src/config/load.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { runApp } from '../support/app.ts'
import { silentLog } from '../support/log.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-starts-'))
afterAll(() => rmSync(dir, { recursive: true }))

test('a data directory that is a file is refused by its name, with what to do', async () => {
  const dataDir = join(dir, 'file')
  writeFileSync(dataDir, '')
  await expect(runApp({ dataDir })).rejects.toThrow(`data.dir: ${dataDir} is not a directory; make it`)
})

test('a server starts where it cannot note its database in the data directory', async () => {
  const dataDir = join(dir, 'data')
  mkdirSync(join(dataDir, 'database'), { recursive: true })
  const sluice = await runApp({ dataDir, flags: { storage: { url: join(dir, 'named.db') } } })
  await sluice.close()
})

test('a country file that cannot be read keeps servers from starting, before they write anything', async () => {
  const database = join(dir, 'damaged.mmdb')
  writeFileSync(database, 'no database')
  const dataDir = join(dir, 'countries')
  const starting = runApp({ dataDir, flags: { geoip: { database } } })
  await expect(starting).rejects.toThrow(`geoip.database: ${database} cannot be read as an MMDB file`)
  expect(existsSync(dataDir)).toBe(false)
})

test('of two servers on a data directory the second is refused, until the first has ended', async () => {
  const dataDir = join(dir, 'shared')
  const first = await runApp({ dataDir })
  // The lock has no journal beside it, which a kill would leave.
  expect(readdirSync(dataDir).filter((name) => name.startsWith('lock'))).toEqual(['lock'])
  expect(await first.app.ctx.store.read.nodes.list()).toMatchObject([{ hostKey: hostKeyOf(dataDir) }])
  expect(hostKeyOf(dataDir)).toMatch(/:[\da-f]{16}$/)
  await expect(runApp({ dataDir })).rejects.toThrow(`data.dir: ${dataDir} is in use by another server; stop it`)
  await first.close()
  await (await runApp({ dataDir })).close()
})

test('a server without ffmpeg says so when it starts, and not first where something does not work', async () => {
  const said: string[] = []
  const log = { ...silentLog, warn: (_fields: object, message: string) => void said.push(message) }
  const flags = { ffmpeg: { path: 'no-such-program' } }
  await (await runApp({ dataDir: join(dir, 'plain'), flags, log })).close()
  expect(said).toContain('There is no program no-such-program: install ffmpeg, or name it with ffmpeg.path')
})

test('a start that fails leaves the data directory to the next one', async () => {
  const dataDir = join(dir, 'again')
  const key = join(dataDir, 'sealing.key')
  mkdirSync(dataDir)
  writeFileSync(key, 'no key', { mode: 0o600 })
  await expect(runApp({ dataDir })).rejects.toThrow(key)
  rmSync(key)
  await (await runApp({ dataDir })).close()
})

test('a start that the store ends closes it, so that nothing keeps the process from ending', async () => {
  const dataDir = join(dir, 'ended')
  const config = loadConfig({ env: {}, flags: { data: { dir: dataDir } } })
  if (!config.ok) throw new Error('the configuration is wrong')
  const store = await openStore({ url: join(dir, 'ended.db'), log: silentLog })
  vi.spyOn(store, 'time').mockRejectedValue(new StoreUnavailable('it is away'))
  await expect(openApp({ config: config.value, log: silentLog, store })).rejects.toThrow('it is away')
  await expect(store.ping()).rejects.toThrow('the store is closed')
})

test('a media port that another server took after the look at it is refused by its key, as are the others', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  const webrtc = { host: '127.0.0.1', port, processes: 1 }
  await expect(runApp({ flags: { webrtc } })).rejects.toThrow(
    `127.0.0.1 UDP port ${port} is in use by another process; stop it, or choose another with webrtc.port`,
  )
  await expect(runApp({ flags: { srt: { port } } })).rejects.toThrow(/UDP port \d+ is in use .*with srt\.port/)
  socket.close()
})
