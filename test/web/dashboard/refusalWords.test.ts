import { globSync, readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { compilePattern } from '../../../src/core/access/streamName.ts'
import { readShape } from '../../../src/core/validation/bodyReader.ts'
import { Problems } from '../../../src/core/validation/problems.ts'
import { sayRefusalIn } from '../../../web/dashboard/src/words/refusalSentences.ts'
import { inWords } from '../../../web/dashboard/src/words/refusalWords.ts'
import { refusalsDe } from '../../../web/dashboard/src/words/refusalsDe.ts'

const inGerman = sayRefusalIn(refusalsDe)

/** What the server says of one field of a body. */
function refusal(schema: Parameters<typeof Type.Object>[0][string], body: object): string {
  const problems = new Problems()
  readShape(Type.Object({ field: schema }), body, problems)
  const settled = problems.settle(null)
  return settled.ok ? '' : (settled.error['field']?.[0] ?? '')
}

test('what the server says about types is said to people', () => {
  const name = Type.String({ minLength: 1, maxLength: 128 })
  const list = Type.Array(name, { minItems: 1, maxItems: 3 })
  const said = [
    refusal(name, { field: '' }),
    refusal(name, {}),
    refusal(Type.Union([name, Type.Null()]), { field: '' }),
    refusal(list, { field: [] }),
    refusal(list, { field: ['a', 'b', 'c', 'd'] }),
    refusal(Type.Integer({ minimum: 1, maximum: 9 }), { field: 10 }),
  ]
  expect(said.map(inWords)).toEqual([
    'Use 1 to 128 characters.',
    'Use 1 to 128 characters.',
    'Use 1 to 128 characters.',
    'Add at least 1.',
    'There are 4, and 3 are possible.',
    'Write a whole number from 1 to 9.',
  ])
  expect(inWords('must begin with https://')).toBeNull()
})

test('a refusal is said in German with its values, and one in another is, too', () => {
  expect(inGerman('must not use port 25')).toBe('darf Port 25 nicht benutzen')
  expect(
    inGerman('wildcards are not supported; an IPv4 address (192.0.2.7) or an IPv4 network (192.0.2.0/24) is allowed'),
  ).toBe('Platzhalter sind nicht möglich; möglich ist eine IPv4-Adresse (192.0.2.7) oder ein IPv4-Netz (192.0.2.0/24)')
  expect(inGerman('a sentence of a newer server')).toBe('a sentence of a newer server')
})

test.each(['a[', 'a{2000}', 'a**', '*a', '(?P<n', '(a', 'a)', 'a\\', '\\y', '(?<=a)', '\\1', 'a{1,500}b{1,500}'])(
  'what is wrong with the pattern %s is said in German alone',
  (pattern) => {
    const compiled = compilePattern(pattern)
    expect(compiled.ok).toBe(false)
    const said = inGerman(compiled.ok ? '' : compiled.error)
    expect(said).not.toMatch(/\b(?:the|not|is|are|missing|invalid|at|to)\b/)
  },
)

test('each sentence that has a translation is one of the server', () => {
  const files = globSync('src/{core,commands,app,edge}/**/*.ts')
  const sources = [
    ...files.map((file) => readFileSync(file, 'utf8')),
    readFileSync('node_modules/re2js/build/index.js', 'utf8'),
  ]
  const literals = sources.flatMap((source) => source.match(/'(?:[^'\\\n]|\\.)*'|"[^"\n]*"|`[^`]*`/g) ?? [])
  const all = literals
    .filter((one) => one.includes(' '))
    .join('\n')
    .replaceAll(/\\(['`])/g, '$1')
  const parts = (english: string) => english.split(/\{\w+\}|[:;,] /).map((part) => part.trim().replace(/[:;,(]$/, ''))
  const gone = Object.keys(refusalsDe).filter((english) => !parts(english).every((part) => all.includes(part)))
  expect(gone).toEqual([])
})
