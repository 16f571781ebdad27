import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { newPlace } from '../support/place.ts'
import { postgresUrl } from '../support/postgres.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { command, newDirectory } from './cliProcess.ts'

test.skipIf(!postgresUrl())('the doctor counts the connections of PostgreSQL and compares the clocks', async () => {
  const place = await newPlace('PostgreSQL')
  onTestFinished(() => place.remove())
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
  expect(await doctor(400)).toMatch(/^warn +connections +a node opens up to 402; .*lower storage\.poolSize$/m)
})
