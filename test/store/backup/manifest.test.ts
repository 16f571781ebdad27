import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { formatManifest, type Manifest, parseManifest } from '../../../src/store/backup/manifest.ts'

const MANIFEST: Manifest = {
  version: '9.9.9',
  engine: 'sqlite',
  schema: ['0001_schema_0_1_0'],
  createdAt: '2026-01-01T00:00:00.000Z',
  sealedBy: [],
  accounts: 1,
  tokens: 0,
  files: {},
}

test('a manifest is read as it was written, and a format of the future is refused', () => {
  const text = formatManifest(MANIFEST).toString()
  expect(parseManifest(text)).toEqual({ ok: true, value: MANIFEST })
  const body = { format: 2, ...MANIFEST }
  const checksum = createHash('sha256').update(JSON.stringify(body)).digest('hex')
  const newer = { ok: false, error: 'a newer version of Sluice (9.9.9) wrote it; use that one' }
  expect(parseManifest(JSON.stringify({ ...body, checksum }))).toEqual(newer)
  for (const damaged of ['', 'null', '[]', '{}', text.replace('"tokens": 0', '"tokens": 1')])
    expect(parseManifest(damaged)).toEqual({ ok: false, error: 'its manifest is damaged' })
})
