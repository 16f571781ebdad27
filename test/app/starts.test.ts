import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runApp } from '../support/app.ts'

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

test('a country file that cannot be read keeps servers from starting', async () => {
  const database = join(dir, 'damaged.mmdb')
  writeFileSync(database, 'no database')
  const starting = runApp({ dataDir: join(dir, 'countries'), flags: { geoip: { database } } })
  await expect(starting).rejects.toThrow(`geoip.database: ${database} cannot be read as an MMDB file`)
})
