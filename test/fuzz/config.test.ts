import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readYaml } from '../../src/config/file.ts'
import { loadConfig } from '../../src/config/load.ts'
import { renderDefaultFile } from '../../src/config/render.ts'
import { allKeys, environmentName, type PartialConfig } from '../../src/config/schema.ts'
import { cases } from '../support/randomCases.ts'

/** A directory without a config.yaml. */
const directory = '/nonexistent'

const keys = allKeys()
const names = keys.flatMap(([path]) => path.split('.'))

/** Pieces of YAML that often combine into nearly valid files. */
const yaml = fc
  .array(
    fc.oneof(
      fc.constantFrom(...names, ...': \n&*![]{}|>-#"\'%@,?'.split(''), '\n  ', '---', '!!map', '<<'),
      fc.string(),
    ),
  )
  .map((pieces) => pieces.join(''))

/** A value that a key accepts, found by trying. */
const acceptable = fc.oneof(
  fc.integer({ min: 0, max: 100_000 }),
  fc.constantFrom(
    '',
    'info',
    'json',
    'refuse',
    'pretty',
    '/srv/a',
    '::1',
    'visible-ascii-secret',
    'X-Service-',
    0.5,
    1,
    2,
    3,
    true,
    false,
  ),
  fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 3 }),
)

/** These are many runs, and the machine may be busy with other tests. */
describe('reading configuration', { timeout: 120_000 }, () => {
  test('never throws for any file', () => {
    fc.assert(
      fc.property(yaml, (text) => {
        for (const { reason } of readYaml(text, 'f').problems) expect(reason).not.toBe('')
      }),
      cases(2000),
    )
  })

  test('never throws for any environment and command line', () => {
    const variable = fc.oneof(
      fc.constantFrom(...keys.map(([path]) => environmentName(path))),
      fc.string().map((s) => `SLUICE_${s}`),
    )
    fc.assert(
      fc.property(
        fc.dictionary(variable, fc.string()),
        fc.object({ key: fc.constantFrom(...names, '__proto__') }),
        (env, flags) => {
          delete env['SLUICE_CONFIG']
          expect(loadConfig({ directory, env, flags })).toHaveProperty('ok')
        },
      ),
      cases(400),
    )
  })

  test.each([
    ['flow lists', '['.repeat(100_000)],
    ['closed flow lists', `server: ${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['flow sections', '{a: '.repeat(50_000)],
    ['sections', Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}server:`).join('\n')],
    ['aliases', `a: &a [x]\n${Array.from({ length: 5000 }, (_, i) => `b${i}: [*a, *a, *a]`).join('\n')}`],
    ['aliases of aliases', `a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nserver: {trustedProxies: *c}`],
    ['names', Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')],
    ['one long name', `${'k'.repeat(200_000)}: 1`],
  ])('too many %s are a problem, not a crash', (_, text) => {
    expect(readYaml(text, 'f').problems).not.toEqual([])
  })

  test('the rendered default file loads to the defaults', () => {
    const { settings, problems } = readYaml(renderDefaultFile(), 'f')
    expect(problems).toEqual([])
    expect(settings.map(({ path, value }) => [path, value])).toEqual(keys.map(([path, key]) => [path, key.default]))
  })

  test.each(keys)('%s means the same in the file, in the environment and on the command line', (path, key) => {
    const accepted = fc.oneof(acceptable, fc.constant(key.default)).filter((value) => key.check(value).ok)
    fc.assert(
      fc.property(accepted, (value) => {
        const text = Array.isArray(value) ? value.join(',') : String(value)
        const fromEnvironment = loadConfig({ directory, env: { [environmentName(path)]: text } })
        const nested = path
          .split('.')
          .reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as PartialConfig
        expect(fromEnvironment).toEqual(loadConfig({ directory, env: {}, flags: nested }))
        expect(fromEnvironment.ok).toBe(true)
        expect(readYaml(stringify(nested), 'f').settings).toMatchObject([{ path, value }])
      }),
      cases(20),
    )
  })
})
