import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { mutantsOf, mutate } from '../scripts/mutants/operators.ts'
import { testsByFile } from '../scripts/mutants/reach.ts'
import { render, type Tried } from '../scripts/mutants/report.ts'
import { withSwitches } from '../scripts/mutants/switches.ts'

const path = 'src/core/a.ts'
const broken = (text: string): string[] => mutantsOf({ path, text }).map((mutant) => mutate(text, mutant))

describe('the job that breaks code', () => {
  test.each([
    ['if (a) b = c', ['if (true) b = c', 'if (false) b = c', 'if (a) ;']],
    ['const a = b < 5', ['const a = (b <= 5)', 'const a = (b >= 5)', 'const a = b < 6']],
    ['const a = !b', ['const a = b']],
    ['await a()', [';']],
    ['const a = b ? true : c', ['const a = true ? true : c', 'const a = false ? true : c', 'const a = b ? false : c']],
    ['const a = b.filter(c)', ['const a = b']],
    ['const a = Math.min(b, c)', ['const a = Math.max(b, c)']],
  ])('makes of %s', (text, expected) => {
    expect(broken(text)).toEqual(expected)
  })

  test.each([
    ["const a = b + 'text'"],
    ['log.warn({ a: 1 })'],
    ['throw new Error(`${a + 1}`)'],
    ['type A = 1 | 2'],
    ['const a = b?.filter(c).d'],
    ["import { a } from './b.ts'"],
  ])('leaves %s alone', (text) => {
    expect(broken(text)).toEqual([])
  })

  test('puts all mutants of a text behind switches, and with one of them on the text does what the mutant does', () => {
    const text = 'let a = 1\nif (b > 2) a += b - 1\nanswer(a ? a : -b)'
    const mutants = mutantsOf({ path, text }).map((mutant, id) => ({ ...mutant, id }))
    const run = (code: string, on: number): unknown => {
      let said: unknown
      Object.assign(globalThis, { __isMutant: (id: number) => id === on })
      runInNewContext(code, { globalThis, b: 3, answer: (answer: unknown) => (said = answer) })
      return said
    }
    const switched = withSwitches(text, mutants)
    expect(mutants.length).toBeGreaterThan(10)
    expect(run(switched, -1)).toBe(run(text, -1))
    for (const mutant of mutants) expect(run(switched, mutant.id)).toEqual(run(mutate(text, mutant), -1))
    Reflect.deleteProperty(globalThis, '__isMutant')
  })

  test('knows which tests import a file, the nearest first', () => {
    const testsOf = testsByFile()
    const [nearest, ...others] = testsOf('src/core/access/rules/country.ts')
    expect(nearest).toBe('test/core/access/trace.test.ts')
    expect(others).toContain('test/core/access/decisions.test.ts')
    expect(others).not.toContain('test/delivery/slots.test.ts')
    expect(testsOf('src/store/tables/tokens.ts')).toContain('test/conformance/store.sqlite.test.ts')
    expect(testsOf('src/store/leases/renewer.ts')).toEqual(['test/system/leases.test.ts'])
  })

  test('lists what there was no time for by itself, and not among what no test noticed', () => {
    const [mutant] = mutantsOf({ path: 'src/base/result.ts', text: readFileSync('src/base/result.ts', 'utf8') })
    const outcomes = ['killed', 'timeout', 'survived', 'untried', 'untried'] as const
    const tried = outcomes.map((outcome): Tried => ({ mutant: mutant!, outcome }))
    const report = render(tried, { all: 9, seed: '1', folders: ['src/base'] })
    expect(report).toContain('3 of 9 tried')
    expect(report).toContain('| `src/base` | 3 | 2 | 1 | 1 | 67% | 2 |')
    expect(report.split('## ').map((part) => part.split('\n- ').length - 1)).toEqual([0, 1, 2])
  })
})
