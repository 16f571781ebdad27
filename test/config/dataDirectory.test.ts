import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { hostKeyOf, numberDirectory } from '../../src/config/dataDirectory.ts'
import { machineOf } from '../../src/config/paths.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-directory-'))
afterAll(() => rmSync(scratch, { recursive: true }))

test('data directories at the same path of machines with the same name, as of containers, are told apart, and each keeps its key', () => {
  const dir = join(scratch, 'data')
  const keys = [1, 2].map(() => {
    mkdirSync(dir)
    numberDirectory(dir)
    const key = hostKeyOf(dir)
    numberDirectory(dir)
    expect(hostKeyOf(dir)).toBe(key)
    const recordings = hostKeyOf(dir, join(scratch, 'recordings'))
    rmSync(dir, { recursive: true })
    return [key, recordings]
  })
  expect(new Set(keys.flat()).size).toBe(4)
  expect(keys.flat().map(machineOf)).toEqual(Array(4).fill(hostname()))
})
