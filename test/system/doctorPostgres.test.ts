import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { command, newDirectory } from './cliProcess.ts'

test.skipIf(!postgresUrl())('the doctor counts the connections of PostgreSQL and compares the clocks', async () => {
  const place = await freshDatabase()
  onTestFinished(() => place.drop())
  const doctor = async (poolSize: number) => {
    const dir = newDirectory()
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const env = {
      SLUICE_STORAGE_URL: place.url,
      SLUICE_STORAGE_POOL_SIZE: String(poolSize),
      SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    }
    return (await command(['--data', dir, 'doctor'], { env })).stdout
  }
  const fits = await doctor(3)
  expect(fits).toMatch(/^ok +connections +a node opens up to 5; the database server takes \d+, and \d+ are open$/m)
  expect(fits).toMatch(/^ok +clock and database +/m)
  expect(fits).toMatch(/^(ok|warn) +database settings +/m)
  // The narrowest limit counts.
  await place.execute(`alter database ${new URL(place.url).pathname.slice(1)} connection limit 4`)
  expect(await doctor(3)).toMatch(
    /^warn +connections +a node opens up to 5; the database server takes 4, .*raise the limit/m,
  )
  expect(await doctor(400)).toMatch(/^warn +connections +a node opens up to 402; .*lower storage\.poolSize$/m)
})

test.skipIf(!postgresUrl())('a database with another encoding than UTF8 is refused, with how to make it', async () => {
  const place = await freshDatabase()
  onTestFinished(() => place.drop())
  const url = new URL(place.url)
  const name = `${url.pathname.slice(1)}_latin`
  await place.execute(`create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`)
  onTestFinished(() => place.execute(`drop database ${name} with (force)`))
  url.pathname = name
  const env = { SLUICE_STORAGE_URL: url.href, SLUICE_SECRETS_SEALING_KEY: SEALING_KEY }
  const refused = await command(['--data', newDirectory(), 'token', 'list'], { env })
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^sluice: The database has the encoding LATIN1, .*createdb --encoding=UTF8/),
  })
})
