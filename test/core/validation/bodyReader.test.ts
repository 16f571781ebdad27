import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { StreamEntryInput } from '../../../src/core/tokens/schema.ts'
import { allowed, BodyReader, readShape, refTo } from '../../../src/core/validation/bodyReader.ts'
import { parseBody } from '../../../src/core/validation/parseBody.ts'
import { Problems } from '../../../src/core/validation/problems.ts'

const Entry = Type.Object({ name: Type.String({ minLength: 1, maxLength: 4 }) })
const Body = Type.Object({
  label: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
  entry: Type.Optional(Entry),
  entries: Type.Optional(Type.Array(Entry, { minItems: 1, maxItems: 2 })),
})

function read(body: unknown) {
  const problems = new Problems()
  const reader = readShape(Body, body, problems)
  const settled = problems.settle(null)
  return { reader, problems, errors: settled.ok ? null : settled.error }
}

describe('a body', () => {
  test('is read where it has the right shape', () => {
    const { reader, errors } = read({ label: 'abc', entry: { name: 'one' }, entries: [{ name: 'a' }, { name: 'b' }] })
    expect(errors).toBeNull()
    expect(reader.value('label')).toBe('abc')
    expect([reader.part('entry').at, reader.part('entry').value('name')]).toEqual(['entry.', 'one'])
    expect(reader.parts('entries').map((part) => [part.at, part.value('name')])).toEqual([
      ['entries[0].', 'a'],
      ['entries[1].', 'b'],
    ])
    expect(reader.items('entries')).toEqual([
      { at: 'entries[0]', item: { name: 'a' } },
      { at: 'entries[1]', item: { name: 'b' } },
    ])
  })

  test('has every wrong part named, and the right ones are still read', () => {
    const { reader, errors } = read({ label: 'abcd', entry: 5, entries: [{ name: '' }, { name: 'b' }], lable: 1 })
    expect(errors).toEqual({
      label: ['must be a string of 0 to 3 characters or null'],
      entry: ['must be an object with name'],
      'entries[0].name': ['must be a string of 1 to 4 characters'],
      lable: ['unknown property lable; did you mean label?'],
    })
    expect([reader.value('label'), reader.value('entry'), reader.value('entries')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(reader.part('entry').value('name')).toBeUndefined()
    expect(reader.parts('entries').map((part) => part.value('name'))).toEqual([undefined, 'b'])
    expect(reader.items('entries')).toEqual([{ at: 'entries[1]', item: { name: 'b' } }])
  })

  test.each([
    [[], 'must be a list of 1 to 2 entries; it has 0'],
    [[{}, {}, {}], 'must be a list of 1 to 2 entries; it has 3'],
    ['text', 'must be a list of 1 to 2 entries'],
  ])('with the list %j has no items of it', (entries, problem) => {
    const { reader, errors } = read({ entries })
    expect(errors).toEqual({ entries: [problem] })
    expect([reader.parts('entries'), reader.items('entries')]).toEqual([[], []])
  })

  test('names what is missing, at its place', () => {
    expect(read({ entry: {}, entries: [{ name: 'a' }, 7] }).errors).toEqual({
      'entry.name': ['is required: a string of 1 to 4 characters'],
      'entries[1]': ['must be an object with name'],
    })
    expect(read({ entries: [{ name: 'a' }, 7] }).reader.parts('entries')).toHaveLength(2)
    for (const body of [[], null, 'text']) expect(read(body).errors).toEqual({ body: ['must be a JSON object'] })
  })

  test('tells null from absent', () => {
    const [sent, absent] = [read({ label: null }).reader, read({}).reader]
    expect([sent.value('label'), sent.clears('label'), sent.names('label')]).toEqual([undefined, true, false])
    expect([absent.value('label'), absent.clears('label'), absent.names('label')]).toEqual([undefined, false, false])
    expect([read({ label: 'a' }).reader.clears('label'), read({ label: 'a' }).reader.names('label')]).toEqual([
      false,
      true,
    ])
  })

  test('has no property that every object inherits', () => {
    const inherited = Object.create({ entry: { name: 'x' }, entries: [{ name: 'x' }], label: null }) as object
    const reader = new BodyReader<{ entry: object; entries: object[]; label: null; name: string }>(
      inherited,
      new Problems(),
    )
    expect([reader.part('entry').names('name'), reader.parts('entries'), reader.items('entries')]).toEqual([
      false,
      [],
      [],
    ])
    expect(reader.clears('label')).toBe(false)
  })

  test('is the value of its schema, or every wrong field of it', () => {
    expect(parseBody(Entry, { name: 'one' })).toEqual({ ok: true, value: { name: 'one' } })
    expect(parseBody(Entry, { name: 'too long' }).ok).toBe(false)
  })
})

test.each([
  [Type.Null(), 'null'],
  [Type.Boolean(), 'true or false'],
  [Type.Object({ a: Type.Null(), b: Type.Null() }), 'an object with a and b'],
  [Type.String({ format: 'date-time' }), 'a date and time with an offset (RFC 3339), such as 2026-01-31T09:30:00Z'],
  [Type.String({ maxLength: 5 }), 'a string of 0 to 5 characters'],
  [Type.String({ minLength: 2, maxLength: 2 }), 'a string of 2 characters'],
  [Type.Array(Type.Null(), { minItems: 2, maxItems: 3 }), 'a list of 2 to 3 entries'],
  [Type.Integer({ minimum: 1, maximum: 9 }), 'a whole number from 1 to 9'],
  [Type.Integer({ minimum: 1 }), 'a whole number from 1 on'],
  [Type.String({ minLength: 1 }), 'a string of at least 1 characters'],
  [Type.Unsafe({ enum: ['a', 'b'] }), 'one of a, b'],
  [refTo(StreamEntryInput), 'an object with streamName and isRegex'],
  [Type.Unsafe({ $ref: 'nothing#', enum: [1] }), 'one of 1'],
  [Type.Union([Type.Boolean(), Type.Null()]), 'true or false or null'],
])('%j allows %s', (schema, expected) => expect(allowed(schema)).toBe(expected))
