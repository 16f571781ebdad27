import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { command, newDirectory } from './cliProcess.ts'

const dir = newDirectory()
const at = (argv: string[], env: Record<string, string> = {}) => command(['--data', dir, ...argv], { env })
const execute = (sql: string): void => {
  const db = new DatabaseSync(join(dir, 'sluice.db'))
  db.exec(sql)
  db.close()
}
const keyOf = (file: string): string => readFileSync(join(dir, file), 'latin1').trim()

let token: string
beforeAll(async () => {
  token = (await at(['token', 'create', '--label', 'one', '--stream', 'show'])).stdout.trim()
})
afterAll(() => rmSync(dir, { recursive: true }))

const serving = (pid: number): string =>
  `insert into serving_nodes (id, host_key, pid, seen_at_ms, alive_until_ms) values ('n', 'far', ${pid}, 1, ${Date.now() + LEASE_MAX_MS})`

test('sluice key rotate refuses while a server runs, and makes no key', async () => {
  execute(serving(4711))
  const refused = await at(['key', 'rotate'])
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('process 4711 at far') as string })
  expect(() => keyOf('sealing.key.next')).toThrow('ENOENT')
  execute('delete from serving_nodes')
})

test('an unfinished rotation refuses while a server seals with the old key, and goes on beside one with the new', async () => {
  writeFileSync(join(dir, 'sealing.key.next'), `${Buffer.alloc(32, 5).toString('base64')}\n`, { mode: 0o600 })
  execute(serving(4712))
  expect((await at(['key', 'rotate'])).stderr).toContain('process 4712 at far')
  // A command seals with the next key already.
  await at(['token', 'create', '--label', 'two', '--stream', 'two'])
  const keyId = keyOfToken(2)
  execute(`update serving_nodes set key_id = '${keyId}' where id = 'n'`)
  const old = keyOf('sealing.key')
  const done = await at(['key', 'rotate', '--json'])
  expect(JSON.parse(done.stdout)).toEqual({ keyId, values: 1 })
  expect(keyOf('sealing.key')).toBe(Buffer.alloc(32, 5).toString('base64'))
  expect(keyOf('sealing.key.previous')).toBe(old)
  expect((await at(['token', 'show', '1'])).stdout).toContain(token)
  const audit = new DatabaseSync(join(dir, 'sluice.db'))
  expect(audit.prepare("select actor, subject from audit where action = 'key.rotate'").all()).toEqual([
    { actor: 'cli', subject: keyId },
  ])
  audit.close()
  execute('delete from serving_nodes')
})

const keyOfToken = (id: number): string => {
  const db = new DatabaseSync(join(dir, 'sluice.db'))
  const row = db.prepare('select lower(hex(substr(value_sealed, 2, 4))) as id from tokens where id = ?').get(id)
  db.close()
  return String(row?.['id'])
}

test('a key of the configuration is rotated to the configured one, which needs the earlier one', async () => {
  const [present, fresh] = [keyOf('sealing.key'), Buffer.alloc(32, 6).toString('base64')]
  const alone = await at(['key', 'rotate'], { SLUICE_SECRETS_SEALING_KEY: fresh })
  // The way that breaks nothing while servers run.
  expect(alone.stderr).toContain('set secrets.previousSealingKey to it on every node, and restart the nodes one after')
  const env = { SLUICE_SECRETS_SEALING_KEY: fresh, SLUICE_SECRETS_PREVIOUS_SEALING_KEY: present }
  execute(serving(4713))
  expect((await at(['key', 'rotate'], env)).stderr).toContain('(process 4713 at far); swap its keys and restart it')
  execute('delete from serving_nodes')
  expect(await at(['key', 'rotate'], env)).toMatchObject({ status: 0 })
  expect((await at(['token', 'show', '1'], { SLUICE_SECRETS_SEALING_KEY: fresh })).stdout).toContain(token)
})

test('a value that no key opens stops the rotation and names its row', async () => {
  const keys = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string]
  const env = { SLUICE_SECRETS_SEALING_KEY: keys[0], SLUICE_SECRETS_PREVIOUS_SEALING_KEY: keys[1] }
  expect((await at(['key', 'rotate'], env)).stderr).toContain('row 1 in table tokens opens with no key that is here')
})
