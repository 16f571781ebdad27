import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { loadOrCreateKeyFile } from '../../src/base/keyfile.ts'
import { systemRandom } from '../../src/base/random.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-key-'))
afterAll(() => rmSync(directory, { recursive: true }))

const load = (path: string) => loadOrCreateKeyFile(path, systemRandom)
const newPath = () => join(mkdtempSync(join(directory, 'd-')), 'data', 'sealing.key')

function fileWith(text: string, mode = 0o600): string {
  const path = join(mkdtempSync(join(directory, 'd-')), 'sealing.key')
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

describe('the key file', () => {
  test('is created once, readable by its owner only, and then reused', () => {
    const path = newPath()
    const first = load(path)
    expect(first).toMatchObject({ ok: true })
    expect(load(path)).toEqual(first)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(path, '..'))).toEqual(['sealing.key'])
  })

  test('contains text that can be pasted into the configuration', () => {
    const path = newPath()
    const key = load(path)
    expect(key.ok && key.value.toString('base64')).toBe(readFileSync(path, 'utf8').trim())
    expect(load(fileWith(readFileSync(path, 'utf8').trim()))).toEqual(key)
  })

  test('is the same for processes that start at once', async () => {
    const path = newPath()
    const module = new URL('../../src/base/keyfile.ts', import.meta.url).href
    const random = new URL('../../src/base/random.ts', import.meta.url).href
    const script = `
      const { loadOrCreateKeyFile } = await import(${JSON.stringify(module)})
      const { systemRandom } = await import(${JSON.stringify(random)})
      const key = loadOrCreateKeyFile(${JSON.stringify(path)}, systemRandom)
      process.stdout.write(key.ok ? key.value.toString('hex') : key.error)`
    const start = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
    const keys = await Promise.all(Array.from({ length: 6 }, start))
    expect(new Set(keys.map(({ stdout }) => stdout)).size).toBe(1)
    expect(keys[0]?.stdout).toMatch(/^[0-9a-f]{64}$/)
  })

  test('takes the key of the process that was first, even between the check and the creation', () => {
    const path = newPath()
    const rival = systemRandom.bytes(32)
    // The draft already has its random name when the file of the other process appears.
    const random = { bytes: (count: number) => (writeRival(path, rival), systemRandom.bytes(count)) }
    expect(loadOrCreateKeyFile(path, random)).toEqual({ ok: true, value: rival })
  })
})

function writeRival(path: string, key: Buffer): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, `${key.toString('base64')}\n`, { mode: 0o600 })
}

describe('a key file is refused with a sentence when', () => {
  const key = systemRandom.bytes(32).toString('base64')

  test.each([
    ['every user can read it', `${key}\n`, 0o644, 'run chmod 600'],
    ['every user can write it', `${key}\n`, 0o602, 'run chmod 600'],
    ['it is empty, as after a full disk', '', 0o600, 'is 0 bytes long instead of 45'],
    ['it is cut', key.slice(0, 20), 0o600, 'is 20 bytes long instead of 45'],
    ['it is too long', `${key}${key}`, 0o600, 'is 88 bytes long'],
    ['it is not base64', `${'!'.repeat(44)}\n`, 0o600, 'does not hold the base64 of 32 bytes'],
  ])('%s', (_, text, mode, sentence) => {
    const path = fileWith(text, mode)
    const before = readFileSync(path)
    const result = load(path)
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining(sentence) as string })
    expect(result).toMatchObject({ error: expect.stringContaining(path) as string })
    expect(readFileSync(path)).toEqual(before)
  })

  test('it is a directory', () => {
    expect(load(directory)).toMatchObject({ ok: false, error: expect.stringContaining('not a regular file') as string })
  })

  test('its directory cannot be created', () => {
    const path = join(fileWith('x'), 'sealing.key')
    expect(load(path)).toMatchObject({ ok: false, error: expect.stringContaining('is not in a directory') as string })
  })
})

test('a group may read the key, since orchestrators add that to every file of a volume', () => {
  expect(load(fileWith(`${systemRandom.bytes(32).toString('base64')}\n`, 0o660))).toMatchObject({ ok: true })
})
