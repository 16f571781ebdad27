import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readKeyring } from '../../src/app/keyring.ts'
import { rotateSealingKey } from '../../src/app/keyRotation.ts'
import { createLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Sealer, sealingKeyId } from '../../src/base/sealer.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { SEALED_COLUMNS, type SealedKind } from '../../src/core/sealed.ts'
import { openStore } from '../../src/store/open.ts'
import { newToken, newWebhook, quiet } from '../conformance/store.samples.ts'
import { testedStores } from '../support/place.ts'
import { freshDatabase } from '../support/postgres.ts'
import { bundle } from './bundle.ts'

const TOKENS = 1000
const KINDS = Object.keys(SEALED_COLUMNS) as SealedKind[]
const log = createLogger({ level: 'error', format: 'json' })

const folder = mkdtempSync(join(tmpdir(), 'sluice-rotation-'))
const database = testedStores('PostgreSQL').length > 0 ? await freshDatabase() : undefined
afterAll(async () => {
  await database?.drop()
  rmSync(folder, { recursive: true })
})

const targets = [
  { name: 'SQLite', dir: join(folder, 'sqlite'), url: '' },
  ...(database ? [{ name: 'PostgreSQL', dir: join(folder, 'postgres'), url: database.url }] : []),
]

function configOf(dir: string, url: string): Config {
  const config = loadConfig({ env: {}, flags: { data: { dir }, storage: { url } } })
  if (!config.ok) throw new Error('the configuration is wrong')
  return config.value
}

/** A thousand tokens and one webhook, sealed with the first key. */
async function fill(config: Config): Promise<string> {
  const app = await openApp({ config, log })
  const { store, sealer } = app.ctx
  await store.transaction(async (tx) => {
    for (let n = 0; n < TOKENS; n += 1) {
      const valueHash = Buffer.from(String(n).padStart(32, '0'))
      await tx.tokens.insert(
        newToken({ label: String(n), valueHash, valueSealed: sealer.seal(String(n), 'token:value') }),
      )
    }
    await tx.webhooks.insert(newWebhook({ secretSealed: sealer.seal('secret', 'webhook:secret') }))
  })
  await app.close()
  return sealer.keyId
}

/** Every sealed value, by the key that sealed it. Throws if one does not open with the keys that are here. */
async function sealedBy(config: Config): Promise<Record<string, number>> {
  const keys = readKeyring(config)
  if (!keys.ok) throw new Error(keys.error)
  const sealer = new Sealer(keys.value, systemRandom)
  const found: Record<string, number> = {}
  const store = await openStore({ url: config.storage.url || join(config.data.dir, 'sluice.db'), log: quiet })
  for (const kind of KINDS) {
    const values = await store.transaction((tx) =>
      tx.sealed.lockOthers(kind, { keyId: '00000000', after: null, limit: 2 * TOKENS }),
    )
    for (const { sealed } of values) {
      expect(sealer.open(sealed, SEALED_COLUMNS[kind].context)).toMatchObject({ ok: true })
      const id = Buffer.from(sealed).toString('hex', 1, 5)
      found[id] = (found[id] ?? 0) + 1
    }
  }
  await store.close()
  return found
}

/** Runs the rotation in a process, and kills it after its first transaction. */
async function killedRotation(program: string, dir: string, url: string): Promise<void> {
  const child = spawn(process.execPath, [program, dir, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    expect(line).toMatch(/^\d+$/)
    child.kill('SIGKILL')
  }
  await closed
}

test.each(targets)(
  'a rotation of the key on $name loses no value when it is killed, and continues',
  async ({ dir, url }) => {
    const config = configOf(dir, url)
    const first = await fill(config)
    const program = await bundle('keyRotator.ts', join(folder, 'bundle'))
    for (let kill = 0; kill < 2; kill += 1) {
      await killedRotation(program, dir, url)
      const found = await sealedBy(config)
      expect(Object.values(found).reduce((sum, n) => sum + n, 0)).toBe(TOKENS + 1)
      expect(Object.keys(found)).toHaveLength(2)
      expect(existsSync(join(dir, 'sealing.key.next'))).toBe(true)
    }
    const done = await rotateSealingKey({ config, log })
    expect(done).toMatchObject({ ok: true })
    const key = Buffer.from(readFileSync(join(dir, 'sealing.key'), 'latin1'), 'base64')
    expect(await sealedBy(config)).toEqual({ [sealingKeyId(key)]: TOKENS + 1 })
    expect(sealingKeyId(key)).not.toBe(first)
    const previous = Buffer.from(readFileSync(join(dir, 'sealing.key.previous'), 'latin1'), 'base64')
    expect(sealingKeyId(previous)).toBe(first)
    expect(existsSync(join(dir, 'sealing.key.next'))).toBe(false)
    expect(statSync(join(dir, 'sealing.key')).mode & 0o777).toBe(0o600)
  },
)
