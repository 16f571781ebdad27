import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EARLIER_DATABASE } from '../conformance/store.opening.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { newDirectory, sluice } from './cliProcess.ts'

const root = newDirectory()
const dir = join(root, 'earlier')
const file = join(dir, 'sluice.db')
beforeAll(() => {
  mkdirSync(dir, { mode: 0o700 })
  const db = new DatabaseSync(file)
  for (const sql of EARLIER_DATABASE) db.exec(sql)
  db.close()
})
afterAll(() => rmSync(root, { recursive: true }))

/** Has a key from elsewhere, so that it is the database that is refused. */
const ports = { SLUICE_SERVER_PORT: '0', SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0' }
const env = { SLUICE_SECRETS_SEALING_KEY: SEALING_KEY, ...ports }
const at = (...argv: string[]) => sluice(['--data', dir, ...argv], { env })

test.each([['serve'], ['token', 'list'], ['account', 'list'], ['doctor']])(
  'sluice %s %s refuses a database from before the first release, and says what to do',
  async (...argv) => {
    const { status, stdout, stderr } = await at(...argv)
    expect(status).not.toBe(0)
    expect(stdout + stderr).toContain('from before the first release of Sluice, 0.1.0')
    expect(stdout + stderr).toContain('Run `provision export FILE` of the sources that made it')
    const db = new DatabaseSync(file)
    expect(db.prepare('select name from kysely_migration order by name').all()).toHaveLength(2)
    db.close()
  },
)
