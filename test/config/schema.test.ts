import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { environmentName, allKeys } from '../../src/config/schema.ts'
import { renderDefaultFile, renderDocument } from '../../src/config/render.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('every key', () => {
  test.each(allKeys())(
    '%s has a default within its bounds, one sentence with a full stop, and a text of the allowed values',
    (_, key) => {
      expect(key.check(key.default)).toEqual({ ok: true, value: key.default })
      expect(key.about).toMatch(/^[A-Z].*\.$/)
      expect(key.allowed).not.toBe('')
    },
  )

  test('has an environment name of its own', () => {
    const names = allKeys().map(([path]) => environmentName(path))
    expect(new Set(names).size).toBe(names.length)
    expect(environmentName('webhooks.allowPrivateTargets')).toBe('SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS')
  })
})

describe('written files (node scripts/generate.ts writes them)', () => {
  test('config.default.yaml matches the schema', () => {
    expect(read('config.default.yaml')).toBe(renderDefaultFile())
  })

  test('docs/reference/configuration.md matches the schema', () => {
    expect(read('docs/reference/configuration.md')).toBe(renderDocument())
  })
})
