import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from '../../../src/core/validation/json.ts'

const errorsOf = (text: string) => {
  const read = readJson(text)
  return read.ok ? null : read.error.errors
}

describe('JSON from outside', () => {
  it.each<[string, string, ...string[]]>([
    ['a member of the body', '{"a":1,"a":2}', 'a'],
    [
      'a list that the second one empties',
      '{"allowedIpAddresses":["192.0.2.1"],"allowedIpAddresses":[]}',
      'allowedIpAddresses',
    ],
    ['a member that is written with an escape', String.raw`{"name":"a","n\u0061me":"b"}`, 'name'],
    [
      'a member of an element of a list',
      '{"streams":[{"streamName":"a"},{"streamName":"b","streamName":"c"}]}',
      'streams[1].streamName',
    ],
    ['a member behind strings that look like members', '{"x":"\\"a\\":1,{[","a":"}]","a":"\\\\"}', 'a'],
    ['a member of an object that is overwritten itself', '{"o":{"p":1,"p":2},"o":3}', 'o.p', 'o'],
    ['a name with control characters', '{"\\u0007":1,"\\u0007":2}', '\uFFFD'],
    ['the empty name', '{"":1,"":2}', ''],
    ['a list in a list', '[[],[[{"k":1,"k":1}]]]', '[1][0][0].k'],
    ['a member with white space before its colon', '{"a"\t\n :1, "a"\r:2}', 'a'],
    ['a member behind a string that ends with an escaped quote', String.raw`{"k":"\\\"","k":1}`, 'k'],
    ['a member behind values that are alike', '{"a":"b","c":"b","c":1}', 'c'],
    ['a member behind other items of its list', '[10, "x", {"k":1,"k":1}]', '[2].k'],
    ['a member of one with a long name', `{"${'x'.repeat(70)}":{"a":1,"a":2}}`, `${'x'.repeat(64)}.a`],
  ])('with %s repeated is refused with its path', (_what, text, ...paths) => {
    expect(errorsOf(text)).toEqual(Object.fromEntries(paths.map((path) => [path, ['comes twice; send it once']])))
  })

  it('names every repeated member once, within bounds', () => {
    expect(Object.keys(errorsOf('{"a":1,"b":1,"a":2,"b":2,"a":3}') ?? {})).toEqual(['a', 'b'])
    const many = `{${Array.from({ length: 5000 }, (_, i) => `"k${i % 2500}":0`).join(',')}}`
    expect(Object.keys(errorsOf(many) ?? {}).length).toBeLessThanOrEqual(101)
  })

  it('is accepted with the same name in different objects', () => {
    for (const text of [
      '{"a":{"a":1},"b":{"a":[{"a":1},{"a":2}]}}',
      '[{"a":1},{"a":1}]',
      '{"toString":1,"a":"a\\":"}',
      String.raw`{"\u0061":1,"b":"\u0061"}`,
    ]) {
      expect(readJson(text)).toEqual({ ok: true, value: JSON.parse(text) })
    }
  })

  it('is accepted with a byte order mark in front (RFC 8259 section 8.1)', () => {
    expect(readJson('\uFEFF{"a":1}')).toEqual({ ok: true, value: { a: 1 } })
    expect(readJson('\uFEFF\uFEFF{}').ok).toBe(false)
  })

  it.each(['{"__proto__":{}}', String.raw`{"a":[{"\u005f_proto\u005F_":{}}]}`])(
    'is refused with a name that reaches a prototype, however it is written: %s',
    (text) => {
      expect(Object.values(errorsOf(text) ?? {})).toEqual([['is not allowed as the name of a property']])
    },
  )

  it('is refused when nested more than 64 deep, also without members', () => {
    const nested = (open: string, close: string, depth: number) => open.repeat(depth) + '0' + close.repeat(depth)
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      expect(readJson(nested(open, close, 64)).ok).toBe(true)
      const deeper = readJson(nested(open, close, 65))
      expect(deeper.ok ? '' : deeper.error.message).toContain('64')
      expect(readJson(nested(open, close, 150_000)).ok).toBe(false)
    }
  })

  it('is refused with the position of the error, and without quoting the body', () => {
    const read = readJson('{"secret":"s3cr3t" "b":1}')
    expect(read.ok ? '' : read.error.message).toBe('is not valid JSON: something is wrong at character 19')
  })
})

/** JSON text with few distinct member names, so that some repeat, in the many spellings that JSON allows. */
const spaces = fc.constantFrom('', ' ', '\n\t', '\r ')
const escapedUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
/** No name has a backslash: V8 13.6 takes the name `"\""` for `\` once it has read an object with that name. */
const spelt = fc
  .constantFrom('a', 'b', 'toString', '"', 'é', '😀', ':', '{')
  .chain((name) => fc.constantFrom(JSON.stringify(name), `"${name.split('').map(escapedUnit).join('')}"`))
interface Written {
  readonly text: string
  /** Whether any object repeats a member. */
  readonly twice: boolean
}
const leaf = fc
  .oneof(spelt, fc.constantFrom('0', '-1.5e3', 'true', 'null', '"\\\\"', '"\\":"', '"}"'))
  .map((text): Written => ({ text, twice: false }))
const { value: written } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.tuple(fc.array(tie('value'), { maxLength: 3 }), spaces).map(([items, space]) => ({
      text: `[${space}${items.map(({ text }) => text).join(`${space},`)}]`,
      twice: items.some(({ twice }) => twice),
    })),
    fc.tuple(fc.array(fc.tuple(spelt, spaces, tie('value')), { maxLength: 4 }), spaces).map(([members, space]) => ({
      text: `{${space}${members.map(([name, gap, { text }]) => `${name}${gap}:${gap}${text}`).join(`,${space}`)}}`,
      twice:
        members.some(([, , { twice }]) => twice) ||
        new Set(members.map(([name]) => JSON.parse(name) as string)).size < members.length,
    })),
  ),
}))

describe('any JSON', () => {
  it('is read as JSON.parse reads it, or refused exactly because a member is repeated', () => {
    fc.assert(
      fc.property(written, ({ text, twice }) => {
        const read = readJson(text)
        expect(read.ok).toBe(!twice)
        if (read.ok) expect(read.value).toEqual(JSON.parse(text))
        else expect(Object.keys(read.error.errors ?? {}).length).toBeGreaterThan(0)
      }),
      { numRuns: 3000 },
    )
  })

  it('that JSON.parse refuses is refused, and no text makes it throw', () => {
    const broken = fc
      .tuple(written, fc.nat(), fc.constantFrom('', '"', '{', ',', ':', '\\', 'x'))
      .map(([{ text }, at, put]) => {
        const cut = at % (text.length + 1)
        return text.slice(0, cut) + put + text.slice(cut + 1)
      })
    fc.assert(
      fc.property(fc.oneof(broken, fc.string({ unit: 'binary' })), (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        if (!isJson && !text.startsWith('\uFEFF')) expect(readJson(text).ok).toBe(false)
        else readJson(text)
      }),
      { numRuns: 1000 },
    )
  })
})
